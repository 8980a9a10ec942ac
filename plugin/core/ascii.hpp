// Texts of protocols, which are ASCII whatever the locale says.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace sendonce {

[[nodiscard]] constexpr char lower_ascii(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
[[nodiscard]] inline std::string lower_ascii(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower_ascii(c);
  return out;
}

[[nodiscard]] inline bool same_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower_ascii(x) == lower_ascii(y); });
}

[[nodiscard]] inline bool begins_with_letters(std::string_view text, std::string_view prefix) {
  return same_letters(text.substr(0, prefix.size()), prefix);
}

// RFC 9110 5.6.2: the name of a header.
[[nodiscard]] inline bool is_token(std::string_view text) {
  static constexpr std::string_view kAlso = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    const char l = lower_ascii(c);
    return (l >= 'a' && l <= 'z') || (c >= '0' && c <= '9') ||
           kAlso.find(c) != std::string_view::npos;
  });
}

}  // namespace sendonce
