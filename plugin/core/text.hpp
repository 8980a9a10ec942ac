// Small, allocation-shy text helpers shared by every writer of JSON, hex and times.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "plugin/core/clock.hpp"
#include "plugin/core/ids.hpp"

namespace sendonce {

// Whether every byte is ASCII above the controls and, unless spaces may be in it, the space: what
// nearly all texts are, seen eight bytes at a time.
[[nodiscard]] bool is_plain_ascii(std::string_view text, bool spaces);

void append_hex(std::string& out, std::string_view bytes);
[[nodiscard]] std::string hex(std::string_view bytes);
[[nodiscard]] bool is_lower_hex(std::string_view text);  // digits alone, or nothing
// Lower or upper case; empty when `text` is not an even run of hex digits.
[[nodiscard]] std::optional<std::string> unhex(std::string_view text);
[[nodiscard]] inline std::string short_key(const Key& key) {
  return hex(key.view().substr(0, 4));
}

void append_base64url(std::string& out, std::string_view bytes);  // without padding, RFC 4648 5
[[nodiscard]] std::string base64url(std::string_view bytes);
[[nodiscard]] std::optional<std::string> unbase64url(std::string_view text);

// Canonical lower-case 8-4-4-4-12 form, RFC 9562.
inline constexpr std::size_t kUuidSize = 36;
// Marks 16 bytes of our own making as a UUID of version 8 (RFC 9562 5.8).
void mark_uuid_v8(std::span<std::uint8_t, 16> bytes);
[[nodiscard]] std::string uuid_text(std::span<const std::uint8_t, 16> bytes);
// The same into a buffer of the caller; a view of it.
std::string_view write_uuid(std::span<char, kUuidSize> out,
                            std::span<const std::uint8_t, 16> bytes);

// A JSON string with its quotes. Bytes that are not UTF-8 must have been refused before.
void append_json_string(std::string& out, std::string_view text);
void append_number(std::string& out, std::int64_t value);

// In the largest unit that is exact: "90m", "25s", "400ms", "0s". Never negative.
[[nodiscard]] std::string duration_text(Duration value);

// RFC 3339 in UTC with milliseconds: 2026-11-01T08:00:00.000Z
[[nodiscard]] std::string rfc3339(WallTime t);
// Date-time of RFC 3339 5.6 with any offset and up to 9 fraction digits; empty when malformed.
[[nodiscard]] std::optional<WallTime> parse_rfc3339(std::string_view text);

}  // namespace sendonce
