#include "plugin/core/utf8.hpp"

#include <cstdint>

namespace sendonce {
namespace {

// The bytes that may follow a first byte: how many, and the range of the first of them, which is
// where overlong forms, surrogates and too large values show (RFC 3629 4).
struct Rest {
  std::size_t size = 0;
  std::uint8_t least = 0x80;
  std::uint8_t most = 0xBF;
};

constexpr std::size_t kNoFirstByte = 4;

Rest rest_after(std::uint8_t first) {
  if (first < 0x80) return {0};
  if (first < 0xC2) return {kNoFirstByte};
  if (first < 0xE0) return {1};
  if (first == 0xE0) return {2, 0xA0, 0xBF};
  if (first == 0xED) return {2, 0x80, 0x9F};
  if (first < 0xF0) return {2};
  if (first == 0xF0) return {3, 0x90, 0xBF};
  if (first < 0xF4) return {3};
  if (first == 0xF4) return {3, 0x80, 0x8F};
  return {kNoFirstByte};
}

bool valid_rest(std::string_view bytes, const Rest& rest) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    if (byte < (i == 0 ? rest.least : 0x80) || byte > (i == 0 ? rest.most : 0xBF)) return false;
  }
  return bytes.size() == rest.size;
}

}  // namespace

std::size_t find_invalid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Rest rest = rest_after(static_cast<std::uint8_t>(text[at]));
    if (rest.size == kNoFirstByte || !valid_rest(text.substr(at + 1, rest.size), rest)) return at;
    at += 1 + rest.size;
  }
  return std::string_view::npos;
}

}  // namespace sendonce
