// What the strings of an envelope may look like (docs/formats.md, "Limits").
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "plugin/core/error.hpp"
#include "plugin/message/json.hpp"
#include "plugin/message/json_path.hpp"

namespace sendonce {

enum class Alphabet : std::uint8_t {
  text,           // no C0 controls other than tab, line feed and carriage return
  one_line,       // no control characters: C0, DEL, C1
  visible_ascii,  // U+0021 to U+007E
  base64url,      // with or without padding
  name,           // letters, digits, '_', '-', '.'
};

struct TextRule {
  std::size_t min_bytes = 1;
  std::size_t max_bytes = 0;
  Alphabet alphabet = Alphabet::one_line;
  std::string_view expected{};  // the rule in words, for the error
};

inline constexpr TextRule kIdRule{1, 256, Alphabet::one_line,
                                  "must be a string of 1 to 256 bytes without control characters"};
inline constexpr TextRule kShortIdRule{
    1, 64, Alphabet::one_line, "must be a string of 1 to 64 bytes without control characters"};
inline constexpr TextRule kTitleRule{
    0, 1024, Alphabet::one_line,
    "must be a string of at most 1024 bytes without control characters"};
inline constexpr TextRule kBodyRule{0, 64 * 1024, Alphabet::text,
                                    "must be a string of at most 65536 bytes without control "
                                    "characters other than line breaks and tabs"};
inline constexpr TextRule kHtmlRule{0, 192 * 1024, Alphabet::text,
                                    "must be a string of at most 196608 bytes without control "
                                    "characters other than line breaks and tabs"};
inline constexpr TextRule kTokenRule{1, 4096, Alphabet::visible_ascii,
                                     "must be a string of 1 to 4096 visible ASCII characters"};
inline constexpr TextRule kUrlRule{1, 4096, Alphabet::visible_ascii,
                                   "must be a string of 1 to 4096 visible ASCII characters"};
inline constexpr TextRule kSubscriptionKeyRule{1, 128, Alphabet::base64url,
                                               "must be a string of 1 to 128 base64url characters"};
inline constexpr TextRule kAddressRule{
    1, 320, Alphabet::one_line, "must be a string of 1 to 320 bytes without control characters"};
inline constexpr TextRule kPhoneRule{
    1, 32, Alphabet::one_line, "must be a string of 1 to 32 bytes without control characters"};
inline constexpr TextRule kProviderRule{
    1, 64, Alphabet::name, "must be a string of 1 to 64 letters, digits, '_', '-' and '.'"};

[[nodiscard]] bool obeys(std::string_view text, const TextRule& rule);

// Reads the value at the reader into `out`. invalid: no string, or not within the rule.
[[nodiscard]] Result<void> read_text(JsonReader& reader, const JsonPath& path, const TextRule& rule,
                                     std::string& out);

}  // namespace sendonce
