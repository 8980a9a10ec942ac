// A class's `collapse`: text with envelope fields in braces, "{template}:{recipient}". The pipeline
// fills it in (expand_collapse in plugin/pipeline/policy.hpp); here it is judged. Pure.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/message/key_recipe.hpp"

namespace sendonce {

inline constexpr std::size_t kCollapseBytesMax = 64;  // apns-collapse-id; no other limit is lower

struct CollapsePart {
  std::string literal{};  // when there is no field
  std::optional<KeyField> field{};
};
using CollapseTemplate = std::vector<CollapsePart>;

[[nodiscard]] std::expected<CollapseTemplate, FieldFault> parse_collapse(std::string_view text);

// The bytes of its shortest expansion: every field holds at least one.
[[nodiscard]] std::size_t shortest_expansion(const CollapseTemplate& parts);

}  // namespace sendonce
