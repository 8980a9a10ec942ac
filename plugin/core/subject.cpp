#include "plugin/core/subject.hpp"

#include <algorithm>
#include <cstddef>

namespace sendonce {
namespace {

constexpr std::size_t kSubjectBytesMax = 255;
constexpr std::size_t kNameBytesMax = 64;

std::string_view next_token(std::string_view& rest) {
  const std::size_t dot = rest.find('.');
  const std::string_view token = rest.substr(0, dot);
  rest = dot == std::string_view::npos ? std::string_view{} : rest.substr(dot + 1);
  return token;
}

bool valid_token(std::string_view token, bool last) {
  if (token.empty()) return false;
  if (token == ">") return last;
  if (token == "*") return true;
  return std::ranges::all_of(token, [](char c) {
    return static_cast<unsigned char>(c) > 0x20 && c != '\x7f' && c != '*' && c != '>';
  });
}

bool name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

}  // namespace

bool valid_subject_filter(std::string_view subject) {
  if (subject.size() > kSubjectBytesMax || subject.ends_with('.')) return false;
  do {
    const std::string_view token = next_token(subject);
    if (!valid_token(token, subject.empty())) return false;
  } while (!subject.empty());
  return true;
}

bool subjects_overlap(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const std::string_view left = next_token(a);
    const std::string_view right = next_token(b);
    if (left == ">" || right == ">") return true;
    if (left != right && left != "*" && right != "*") return false;
  }
  return a.empty() && b.empty();
}

bool subject_covers(std::string_view wide, std::string_view narrow) {
  while (!wide.empty() && !narrow.empty()) {
    const std::string_view wide_token = next_token(wide);
    const std::string_view narrow_token = next_token(narrow);
    if (wide_token == ">") return true;
    if (narrow_token == ">") return false;
    if (wide_token != "*" && wide_token != narrow_token) return false;
  }
  return wide.empty() && narrow.empty();
}

bool valid_name(std::string_view text) {
  return !text.empty() && text.size() <= kNameBytesMax && std::ranges::all_of(text, name_character);
}

}  // namespace sendonce
