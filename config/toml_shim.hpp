// TOML text as a plain tree. toml_shim.cpp is the only file that sees toml11, in its versions 3.7
// and 4.4; no exception and no type of the library leaves it.
//
// toml11 quotes the offending source line in its messages, which could hold a secret. Its texts are
// therefore dropped: an error here has our own words, a position and at most a line number more.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/finding.hpp"
#include "config/schema.hpp"

namespace sendonce {

enum class TomlType : std::uint8_t { boolean, integer, number, text, date_time, array, table };
[[nodiscard]] std::string_view name(TomlType type);  // with its article: "an integer"

struct TomlNode {
  TomlType type = TomlType::table;
  Position at{};  // of the value; of its header for a [table]
  bool boolean = false;
  std::int64_t integer = 0;
  double number = 0;
  std::string text{};
  std::vector<TomlNode> items{};                            // of an array
  std::vector<std::pair<std::string, TomlNode>> members{};  // of a table, as the file has them

  [[nodiscard]] const TomlNode* find(std::string_view key) const;
};

inline constexpr std::size_t kTomlBytesMax = std::size_t{1} << 20U;

// `file` is what positions say. The error, if any, is one Finding.
[[nodiscard]] std::expected<TomlNode, Finding> parse_toml(std::string_view text,
                                                          const std::string& file);
// Reads at most kTomlBytesMax bytes.
[[nodiscard]] std::expected<TomlNode, Finding> parse_toml_file(const std::string& path);

}  // namespace sendonce
