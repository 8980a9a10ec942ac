#include "config/value.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "config/quantity.hpp"
#include "plugin/core/nearest.hpp"
#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

Refusal wrong_type(const TomlNode& node, std::string_view wanted, std::string_view example) {
  std::string text = "must be ";
  text += wanted;
  text += ", is ";
  text += name(node.type);
  return {node.at, std::move(text), "write for example " + std::string(example)};
}

Refusal out_of_bounds(const TomlNode& node, const std::string& min, const std::string& max) {
  return {node.at, "out of range", "choose from " + min + " to " + max};
}

Refused quantity_refused(const TomlNode& node, const Error& error) {
  const std::size_t colon = error.text.find(": ");
  SO_ASSERT(colon != std::string::npos);
  return Refusal{node.at, error.text.substr(0, colon), error.text.substr(colon + 2)};
}

bool printable(std::string_view text) {
  return std::ranges::none_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7f'; });
}

bool credential_name(std::string_view text) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !text.empty() && text.size() <= 255 && text.front() != '.' &&
         std::ranges::all_of(text, allowed);
}

// An absolute path that means what it says: no "..", which would defeat the check by prefix.
bool plain_absolute(std::string_view path) {
  return path.size() > 1 && path.front() == '/' && printable(path) &&
         path.find("/../") == std::string_view::npos && !path.ends_with("/..");
}

}  // namespace

Refused read_text(std::string& out, const TomlNode& node) {
  if (node.type != TomlType::text) return wrong_type(node, "a string", "\"text\"");
  if (node.text.empty()) return Refusal{node.at, "is empty", "give it a value or leave it out"};
  if (!printable(node.text))
    return Refusal{node.at, "holds control characters", "write it in one line of plain text"};
  out = node.text;
  return {};
}

Refused read_texts(std::vector<std::string>& out, const TomlNode& node) {
  constexpr std::string_view kExample = "[\"one\", \"two\"]";
  if (node.type != TomlType::array) return wrong_type(node, "an array of strings", kExample);
  if (node.items.empty()) return Refusal{node.at, "is empty", "give it a value or leave it out"};
  std::vector<std::string> texts;
  for (const TomlNode& item : node.items)
    if (Refused refused = read_text(texts.emplace_back(), item)) return refused;
  out = std::move(texts);
  return {};
}

Refused read_boolean(bool& out, const TomlNode& node) {
  if (node.type != TomlType::boolean) return wrong_type(node, "true or false", "true");
  out = node.boolean;
  return {};
}

Refused read_integer(std::uint32_t& out, const TomlNode& node, const Bounds& bounds) {
  if (node.type != TomlType::integer) return wrong_type(node, "an integer", "16");
  if (node.integer < bounds.min || node.integer > bounds.max)
    return out_of_bounds(node, std::to_string(bounds.min), std::to_string(bounds.max));
  out = static_cast<std::uint32_t>(node.integer);
  return {};
}

Refused read_number(double& out, const TomlNode& node, const Bounds& bounds) {
  double value = node.number;
  if (node.type == TomlType::integer)
    value = static_cast<double>(node.integer);
  else if (node.type != TomlType::number)
    return wrong_type(node, "a number", "2.0");
  const double min = static_cast<double>(bounds.min) / 1000;
  const double max = static_cast<double>(bounds.max) / 1000;
  if (!(value >= min && value <= max))  // not a number is refused too
    return out_of_bounds(node, number_text(min), number_text(max));
  out = value;
  return {};
}

Refused read_duration(Duration& out, const TomlNode& node, const Bounds& bounds) {
  if (node.type != TomlType::text)
    return wrong_type(node, "a duration with its unit in quotes", "\"25s\"");
  const auto value = parse_duration(node.text);
  if (!value) return quantity_refused(node, value.error());
  if (value->count() < bounds.min || value->count() > bounds.max)
    return out_of_bounds(node, duration_text(Duration(bounds.min)),
                         duration_text(Duration(bounds.max)));
  out = *value;
  return {};
}

Refused read_size(std::uint64_t& out, const TomlNode& node, const Bounds& bounds) {
  if (node.type != TomlType::text)
    return wrong_type(node, "a size with its unit in quotes", "\"8GiB\"");
  const auto value = parse_size(node.text);
  if (!value) return quantity_refused(node, value.error());
  const auto min = static_cast<std::uint64_t>(bounds.min);
  const auto max = static_cast<std::uint64_t>(bounds.max);
  if (*value < min || *value > max) return out_of_bounds(node, size_text(min), size_text(max));
  out = *value;
  return {};
}

Refused read_rate(double& out, const TomlNode& node) {
  if (node.type != TomlType::text)
    return wrong_type(node, "a rate with its unit in quotes", "\"500/s\"");
  const auto value = parse_rate(node.text);
  if (!value) return quantity_refused(node, value.error());
  out = *value;
  return {};
}

Refused read_secret(std::optional<SecretRef>& out, const TomlNode& node) {
  constexpr std::string_view kRemedy =
      "write cred:NAME (a systemd credential) or file:/absolute/path; the secret itself must not "
      "stand here";
  const std::string_view text = node.text;
  const bool good = (text.starts_with("cred:") && credential_name(text.substr(5))) ||
                    (text.starts_with("file:") && plain_absolute(text.substr(5)));
  if (node.type != TomlType::text || !good)
    return Refusal{node.at, "is not a reference to a secret", std::string(kRemedy)};
  out = SecretRef{node.text, node.at};
  return {};
}

Refused read_choice(std::size_t& out, const TomlNode& node,
                    std::span<const std::string_view> names) {
  if (node.type != TomlType::text)
    return wrong_type(node, "a string", "\"" + std::string(names.front()) + "\"");
  const auto found = std::ranges::find(names, std::string_view(node.text));
  if (found == names.end()) {
    std::string remedy = "choose " + list_of(names);
    if (const std::string_view close = nearest(node.text, names); !close.empty())
      remedy = "did you mean \"" + std::string(close) + "\"? " + remedy;
    return Refusal{node.at, "not one of the choices", std::move(remedy)};
  }
  out = static_cast<std::size_t>(found - names.begin());
  return {};
}

std::string toml_text(std::string_view text) {
  std::string out;
  append_json_string(out, text);  // every JSON string is a TOML basic string
  return out;
}

std::string toml_texts(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ", ";
    out += toml_text(text);
  }
  return out + "]";
}

std::string list_of(std::span<const std::string_view> names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " or " : ", ";
    out += names[i];
  }
  return out;
}

}  // namespace sendonce
