#include "classifiers/stable_id.hpp"

#include <algorithm>
#include <cstring>

#include "plugin/core/text.hpp"

namespace sendonce {

std::array<std::uint8_t, 16> uuid_from(const Key& key) {
  std::array<std::uint8_t, 16> bytes{};
  std::memcpy(bytes.data(), key.bytes.data(), bytes.size());
  mark_uuid_v8(bytes);
  return bytes;
}

Result<void> check_header_value(std::string_view text, std::string_view what,
                                std::size_t max_bytes) {
  if (text.size() > max_bytes)
    return fail(Errc::invalid, std::string(what) + " has " + std::to_string(text.size()) +
                                   " bytes, at most " + std::to_string(max_bytes) + " are allowed");
  const auto is_control = [](char c) {
    const auto b = static_cast<std::uint8_t>(c);
    return b < 0x20 || b == 0x7F;
  };
  const bool control =
      !is_plain_ascii(text, true) && std::any_of(text.begin(), text.end(), is_control);
  if (control || text.starts_with(' ') || text.ends_with(' '))
    return fail(Errc::invalid, std::string(what) + " has control characters, or a space at an end");
  return {};
}

}  // namespace sendonce
