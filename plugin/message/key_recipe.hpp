// Which members of an envelope make a notification the same one (docs/formats.md, "Keys"): only
// what is the same on every attempt, redelivery and replay. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "plugin/core/error.hpp"
#include "plugin/message/notification.hpp"

namespace sendonce {

inline constexpr std::uint8_t kRecipeVersion = 1;

enum class KeyField : std::uint8_t { event_id, recipient, channel, template_id, campaign_id };
inline constexpr std::size_t kKeyFields = 5;

[[nodiscard]] std::optional<KeyField> key_field_from(std::string_view text);
[[nodiscard]] std::string_view name(KeyField field);  // as in the envelope: "template"
[[nodiscard]] std::string_view value_of(KeyField field, const Notification& notification);

// Why `text` names no field that may be used, and what to write instead.
struct FieldFault {
  std::string text{};
  std::string remedy{};
};
[[nodiscard]] FieldFault field_fault(std::string_view text);

// A set, in no order.
struct KeyRecipe {
  std::uint8_t version = kRecipeVersion;
  std::string scope{};      // of the class: its key_scope
  std::uint8_t fields = 0;  // bit i: KeyField i
  friend bool operator==(const KeyRecipe&, const KeyRecipe&) = default;
  [[nodiscard]] bool has(KeyField field) const {
    return (fields >> static_cast<unsigned>(field) & 1U) != 0;
  }
};

// invalid: a name that is no field, is named twice or may not be used, or neither event_id nor
// campaign_id. The caller adds where the list stands.
[[nodiscard]] Result<KeyRecipe> make_recipe(std::string_view scope,
                                            std::span<const std::string> fields);

// "1:event_id,recipient,channel,template": what a ledger stores to see that a recipe has changed.
[[nodiscard]] std::string recipe_text(const KeyRecipe& recipe);

}  // namespace sendonce
