// A class's `collapse`: text with envelope fields in braces, "{template}:{recipient}". Pure.
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

// May be longer than a provider takes: the fields are the sender's.
[[nodiscard]] std::string expand_collapse(const CollapseTemplate& parts,
                                          const Notification& notification);

// The bytes of its shortest expansion: every field holds at least one.
[[nodiscard]] std::size_t shortest_expansion(const CollapseTemplate& parts);

}  // namespace sendonce
