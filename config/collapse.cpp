#include "config/collapse.hpp"

namespace sendonce {

std::expected<CollapseTemplate, FieldFault> parse_collapse(std::string_view text) {
  CollapseTemplate out;
  while (!text.empty()) {
    const std::size_t brace = text.find_first_of("{}");
    if (brace != 0) out.push_back({std::string(text.substr(0, brace)), std::nullopt});
    if (brace == std::string_view::npos) break;
    const std::size_t end = text.find('}');
    const std::size_t nested = text.find('{', brace + 1);
    if (text[brace] == '}' || end == std::string_view::npos || nested < end)
      return std::unexpected(FieldFault{"braces do not match", "write fields as {event_id}"});
    const std::string_view field_name = text.substr(brace + 1, end - brace - 1);
    const std::optional<KeyField> field = key_field_from(field_name);
    if (!field) return std::unexpected(field_fault(field_name));
    out.push_back({"", field});
    text.remove_prefix(end + 1);
  }
  return out;
}

std::size_t shortest_expansion(const CollapseTemplate& parts) {
  std::size_t bytes = 0;
  for (const CollapsePart& part : parts) bytes += part.field ? 1 : part.literal.size();
  return bytes;
}

}  // namespace sendonce
