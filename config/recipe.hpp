// What may make up a delivery key: envelope fields that are the same on every attempt, redelivery
// and replay. Shared by key recipes and collapse templates. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/finding.hpp"
#include "plugin/message/notification.hpp"

namespace sendonce {

enum class RecipeField : std::uint8_t { event_id, recipient, channel, template_id, campaign_id };

[[nodiscard]] std::optional<RecipeField> recipe_field_from(std::string_view text);
[[nodiscard]] std::string_view name(RecipeField field);  // as in the envelope: "template"
[[nodiscard]] std::string_view value_of(RecipeField field, const Notification& notification);

// Why `text` names no field that may be used, and what to write instead.
struct FieldFault {
  std::string text{};
  std::string remedy{};
};
[[nodiscard]] FieldFault field_fault(std::string_view text);

struct RecipeFault {
  Severity severity = Severity::error;
  std::string text{};
  std::string remedy{};
};
// Empty: a good recipe.
[[nodiscard]] std::vector<RecipeFault> judge_recipe(const std::vector<std::string>& fields);

}  // namespace sendonce
