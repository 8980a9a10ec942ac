#include "plugin/message/text_rule.hpp"

#include <array>

#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

constexpr std::uint8_t bit(Alphabet alphabet) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(alphabet));
}

constexpr std::uint8_t kMayStartC1 = 0x80;  // beside the alphabets of a byte

constexpr std::uint8_t alphabets_of(unsigned byte) {
  const bool alphanumeric =
      (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
  const bool control = byte < 0x20 || byte == 0x7f;
  unsigned bits = byte == 0xC2 ? kMayStartC1 : 0U;
  if (byte >= 0x20 || byte == '\t' || byte == '\n' || byte == '\r') bits |= bit(Alphabet::text);
  if (!control) bits |= bit(Alphabet::one_line);
  if (byte > ' ' && byte < 0x7f) bits |= bit(Alphabet::visible_ascii);
  if (alphanumeric || byte == '-' || byte == '_' || byte == '=') bits |= bit(Alphabet::base64url);
  if (alphanumeric || byte == '-' || byte == '_' || byte == '.') bits |= bit(Alphabet::name);
  return static_cast<std::uint8_t>(bits);
}

constexpr auto kAlphabets = [] {
  std::array<std::uint8_t, 256> table{};
  for (unsigned byte = 0; byte < table.size(); ++byte) table[byte] = alphabets_of(byte);
  return table;
}();

// Of UTF-8: a C1 control is 0xC2 and then 0x80 to 0x9F.
bool has_c1(std::string_view text) {
  for (std::size_t at = text.find('\xC2'); at < text.size(); at = text.find('\xC2', at + 1))
    if (at + 1 < text.size() && static_cast<std::uint8_t>(text[at + 1]) < 0xA0) return true;
  return false;
}

}  // namespace

bool obeys(std::string_view text, const TextRule& rule) {
  if (text.size() < rule.min_bytes || text.size() > rule.max_bytes) return false;
  if (text.empty()) return true;
  const bool has_space = rule.alphabet != Alphabet::visible_ascii;
  const bool narrow = rule.alphabet == Alphabet::base64url || rule.alphabet == Alphabet::name;
  if (!narrow && is_plain_ascii(text, has_space)) return true;
  unsigned all = 0xFF;
  unsigned any = 0;
  for (const char c : text) {
    const unsigned alphabets = kAlphabets[static_cast<std::uint8_t>(c)];
    all &= alphabets;
    any |= alphabets;
  }
  if ((all & bit(rule.alphabet)) == 0) return false;
  return rule.alphabet != Alphabet::one_line || (any & kMayStartC1) == 0 || !has_c1(text);
}

Result<void> read_text(JsonReader& reader, const JsonPath& path, const TextRule& rule,
                       std::string& out) {
  if (reader.type() != JsonType::string) return path.refuse(rule.expected);
  std::string scratch;
  const std::string_view text = reader.string(scratch);
  if (!obeys(text, rule)) return path.refuse(rule.expected);
  out = text;
  return {};
}

}  // namespace sendonce
