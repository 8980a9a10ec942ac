#include "classifiers/log_form.hpp"

#include <algorithm>

#include "classifiers/json_tree.hpp"

namespace sendonce {
namespace {

// Copies the string that starts at `at` with its quote, in JSON's quotes; returns where it ends, or
// npos when it does not.
std::size_t copy_string(std::string_view text, std::size_t at, std::string& out) {
  const char quote = text[at];
  out.push_back('"');
  for (++at; at < text.size(); ++at) {
    const char c = text[at];
    if (c == quote) {
      out.push_back('"');
      return at + 1;
    }
    if (c == '\\' && at + 1 < text.size()) {
      const char next = text[++at];
      if (next != '\'') out.push_back('\\');
      out.push_back(next);
    } else if (c == '"') {
      out.append("\\\"");
    } else {
      out.push_back(c);
    }
  }
  return std::string_view::npos;
}

bool copy_word(std::string_view text, std::size_t& at, std::string_view word,
               std::string_view replacement, std::string& out) {
  if (!text.substr(at).starts_with(word)) return false;
  out.append(replacement);
  at += word.size();
  return true;
}

}  // namespace

std::optional<std::string> json_from_python(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || !text.substr(first).starts_with("{'")) return std::nullopt;
  std::string out;
  for (std::size_t at = first; at < text.size();) {
    const char c = text[at];
    if (c == '\'' || c == '"') {
      at = copy_string(text, at, out);
      if (at == std::string_view::npos) return std::nullopt;
    } else if (!copy_word(text, at, "None", "null", out) &&
               !copy_word(text, at, "True", "true", out) &&
               !copy_word(text, at, "False", "false", out)) {
      out.push_back(c);
      ++at;
    }
  }
  if (!parse_json_tree(out)) return std::nullopt;
  return out;
}

bool is_bare_message(std::string_view text) {
  if (text.empty() || text.size() > 512 || text.find('\n') != std::string_view::npos) return false;
  return text.find_first_of("{}[]<>") == std::string_view::npos;
}

}  // namespace sendonce
