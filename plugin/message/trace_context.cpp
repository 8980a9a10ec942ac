#include "plugin/message/trace_context.hpp"

#include <algorithm>

#include "plugin/core/ascii.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kSizeOfVersion0 = 55;  // 00-<32>-<16>-<2>
constexpr std::size_t kTraceAt = 3;
constexpr std::size_t kTraceSize = 32;
constexpr std::size_t kParentAt = 36;
constexpr std::size_t kParentSize = 16;
constexpr std::size_t kFlagsAt = 53;

bool is_hex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_zero(std::string_view text) {
  return text.find_first_not_of('0') == std::string_view::npos;
}

// What a later version appends is not known and may be of any length: such a header is not kept.
bool is_traceparent(std::string_view text) {
  if (text.size() != kSizeOfVersion0 || text[2] != '-' || text[kParentAt - 1] != '-' ||
      text[kFlagsAt - 1] != '-')
    return false;
  const std::string_view version = text.substr(0, 2);
  const std::string_view trace = text.substr(kTraceAt, kTraceSize);
  const std::string_view parent = text.substr(kParentAt, kParentSize);
  return is_hex(version) && version != "ff" && is_hex(trace) && !is_zero(trace) && is_hex(parent) &&
         !is_zero(parent) && is_hex(text.substr(kFlagsAt));
}

}  // namespace

std::string_view traceparent_of(const MessageHeaders& headers) {
  std::string_view found;
  for (const auto& [name, value] : headers) {
    if (!same_letters(name, "traceparent") && !same_letters(name, "ce-traceparent")) continue;
    if (!found.empty() && found != value) return {};
    found = value;
  }
  return is_traceparent(found) ? found : std::string_view();
}

std::string_view trace_id_of(std::string_view traceparent) {
  return traceparent.empty() ? traceparent : traceparent.substr(kTraceAt, kTraceSize);
}

}  // namespace sendonce
