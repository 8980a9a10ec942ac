#include "config/toml_shim.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <exception>
#include <fstream>
#include <sstream>
#include <tuple>

#include <toml.hpp>

#include "plugin/core/utf8.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kNestingMax = 64;  // brackets, and dots of one key: toml11 recurses

// ---- what differs between toml11 3.7 and 4.4 -------------------------------------------------

template <class Location>
std::pair<std::size_t, std::size_t> line_and_column(const Location& at) {
#if TOML11_VERSION_MAJOR >= 4
  return {at.first_line_number(), at.first_column_number()};
#else
  return {at.line(), at.column()};
#endif
}

std::size_t column_of(const toml::syntax_error& error) {
#if TOML11_VERSION_MAJOR >= 4
  if (error.errors().empty() || error.errors().front().locations().empty()) return 1;
  return line_and_column(error.errors().front().locations().front().first).second;
#else
  return line_and_column(error.location()).second;
#endif
}

// ---- errors ----------------------------------------------------------------------------------

// The numbers in the "12 | source line" parts of a message.
std::vector<std::uint32_t> cited_lines(std::string_view message) {
  std::vector<std::uint32_t> out;
  while (!message.empty()) {
    const std::size_t end = std::min(message.find('\n'), message.size());
    std::string_view line = message.substr(0, end);
    message.remove_prefix(std::min(end + 1, message.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    std::uint32_t number = 0;
    const auto [rest, code] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (code != std::errc{}) continue;
    line.remove_prefix(static_cast<std::size_t>(rest - line.data()));
    if (line.starts_with(" |")) out.push_back(number);
  }
  return out;
}

std::string_view line_of(std::string_view text, std::uint32_t number) {
  for (std::uint32_t i = 1; i < number; ++i) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

// A guess at the usual slips, from the shape of the line; nothing of it is repeated.
std::string_view hint_for(std::string_view line) {
  const auto has = [line](char c) { return line.find(c) != std::string_view::npos; };
  if (std::ranges::count(line, '"') % 2 != 0) return "close the string with a quote (\")";
  if (has('{') && !has('}')) return "an inline table { ... } must stand on one line";
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos)
    return has('[') && !has(']') ? "close the table's name with ]"
                                 : "write KEY = VALUE, [TABLE] or # COMMENT";
  const std::size_t value = line.find_first_not_of(" \t", equals + 1);
  if (value == std::string_view::npos || line[value] == '#') return "give the key a value";
  return "strings, and values with a unit such as \"25s\", need quotes";
}

Finding syntax_finding(const toml::syntax_error& error, std::string_view text,
                       const std::string& file) {
  const std::string_view message = error.what();
  const std::vector<std::uint32_t> lines = cited_lines(message);
  Finding out;
  out.at = {file, 1, static_cast<std::uint32_t>(column_of(error))};
  const bool twice = message.find("already") != std::string_view::npos && !lines.empty();
  if (twice) {
    const auto [first, last] = std::ranges::minmax(lines);
    out.at.line = last;
    out.text = "given twice, first in line " + std::to_string(first);
    out.remedy = "keep one of the two";
    return out;
  }
  if (!lines.empty()) out.at.line = lines.front();
  out.text = "this is not TOML";
  out.remedy = hint_for(line_of(text, out.at.line));
  return out;
}

Finding whole_file(const std::string& file, std::string text, std::string remedy) {
  return {Severity::error, {file, 0, 0}, "", std::move(text), std::move(remedy)};
}

// ---- guards against input that toml11 would recurse into ---------------------------------------

std::size_t dots_of_key(std::string_view line) {
  if (line.starts_with('#')) return 0;
  return static_cast<std::size_t>(std::ranges::count(line.substr(0, line.find('=')), '.'));
}

// The first line that nests deeper than any sensible file; 0: none.
std::uint32_t too_deep(std::string_view text) {
  std::size_t depth = 0;
  for (std::uint32_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    for (const char c : line) {
      if (c == '[' || c == '{') ++depth;
      if ((c == ']' || c == '}') && depth > 0) --depth;
      if (depth > kNestingMax) return number;
    }
    if (dots_of_key(line) > kNestingMax) return number;
  }
  return 0;
}

Position position_of(std::string_view text, std::size_t offset, const std::string& file) {
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t column = offset - (before.rfind('\n') + 1);  // npos + 1 is 0
  return {file, static_cast<std::uint32_t>(line), static_cast<std::uint32_t>(column + 1)};
}

// ---- conversion --------------------------------------------------------------------------------

TomlNode convert(const toml::value& value, const std::string& file);

void convert_array(const toml::value& value, const std::string& file, TomlNode& out) {
  out.type = TomlType::array;
  for (const toml::value& item : value.as_array()) out.items.push_back(convert(item, file));
}

// toml11's tables are unordered: the order of the file comes back through the positions.
void convert_table(const toml::value& value, const std::string& file, TomlNode& out) {
  out.type = TomlType::table;
  for (const auto& [key, member] : value.as_table())
    out.members.emplace_back(key, convert(member, file));
  std::ranges::sort(out.members, [](const auto& a, const auto& b) {
    return std::tie(a.second.at.line, a.second.at.column, a.first) <
           std::tie(b.second.at.line, b.second.at.column, b.first);
  });
}

TomlNode convert(const toml::value& value, const std::string& file) {
  TomlNode out;
  const auto [line, column] = line_and_column(value.location());
  out.at = {file, static_cast<std::uint32_t>(line), static_cast<std::uint32_t>(column)};
  if (value.is_boolean()) {
    out.type = TomlType::boolean;
    out.boolean = toml::get<bool>(value);
  } else if (value.is_integer()) {
    out.type = TomlType::integer;
    out.integer = toml::get<std::int64_t>(value);
  } else if (value.is_floating()) {
    out.type = TomlType::number;
    out.number = toml::get<double>(value);
  } else if (value.is_string()) {
    out.type = TomlType::text;
    out.text = toml::get<std::string>(value);
  } else if (value.is_array()) {
    convert_array(value, file, out);
  } else if (value.is_table()) {
    convert_table(value, file, out);
  } else {
    out.type = TomlType::date_time;
  }
  return out;
}

}  // namespace

std::string_view name(TomlType type) {
  constexpr std::array<std::string_view, 7> kNames{
      "true or false", "an integer", "a number", "a string", "a date", "an array", "a table"};
  return kNames[static_cast<std::size_t>(type)];
}

const TomlNode* TomlNode::find(std::string_view key) const {
  const auto found = std::ranges::find(members, key, &std::pair<std::string, TomlNode>::first);
  return found == members.end() ? nullptr : &found->second;
}

std::expected<TomlNode, Finding> parse_toml(std::string_view text, const std::string& file) {
  if (text.size() > kTomlBytesMax)
    return std::unexpected(whole_file(file, "larger than 1 MiB", "split it into conf.d/*.toml"));
  // toml11 3.7 reads beyond its buffer to say where a string is not UTF-8.
  if (const std::size_t bad = find_invalid_utf8(text); bad != std::string_view::npos)
    return std::unexpected(Finding{Severity::error, position_of(text, bad, file), "",
                                   "this is not UTF-8", "save the file as UTF-8"});
  if (const std::uint32_t line = too_deep(text); line != 0)
    return std::unexpected(Finding{Severity::error,
                                   {file, line, 1},
                                   "",
                                   "nested too deeply",
                                   "close the brackets, or name fewer tables in one key"});
  try {
    std::istringstream in{std::string(text)};
    TomlNode root = convert(toml::parse(in, file), file);
    root.at = {file, 1, 1};
    return root;
  } catch (const toml::syntax_error& error) {
    return std::unexpected(syntax_finding(error, text, file));
  } catch (const std::exception&) {
    return std::unexpected(whole_file(file, "this is not TOML", "check it with any TOML tool"));
  }
}

std::expected<TomlNode, Finding> parse_toml_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    const std::string why = std::generic_category().message(errno);
    return std::unexpected(whole_file(path, "cannot be read: " + why,
                                      "name an existing file that this user may read"));
  }
  std::string text(kTomlBytesMax + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || (in.fail() && !in.eof()))
    return std::unexpected(whole_file(path, "cannot be read", "name a regular file"));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return parse_toml(text, path);
}

}  // namespace sendonce
