// A small JSON value for the ways where speed does not matter: error answers, overrides, service
// accounts. The only code in classifiers/ that sees nlohmann-json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sendonce {

struct JsonTree {
  enum class Type : std::uint8_t { null, boolean, number, string, array, object };

  Type type = Type::null;
  std::string text{};                // a string without escapes; a number or boolean as written
  std::vector<std::string> names{};  // of an object's members, in step with `children`
  std::vector<JsonTree> children{};

  // Null unless this is an object that has the member.
  [[nodiscard]] const JsonTree* find(std::string_view name) const;
  [[nodiscard]] JsonTree* find(std::string_view name);
  // Empty unless the member is there and a string.
  [[nodiscard]] std::string_view string_at(std::string_view name) const;
  // Empty unless this is a whole number of 64 bits.
  [[nodiscard]] std::optional<std::int64_t> integer() const;
  [[nodiscard]] bool is(Type t) const noexcept { return type == t; }
};

struct JsonTreeLimits {
  std::size_t max_bytes = std::size_t{64} * 1024;
  std::size_t max_depth = 32;
};

// Total and bounded: empty for anything that is not exactly one JSON text within the limits, and
// for a member named twice, since nobody can say which of the two is meant. A byte order mark is
// skipped.
[[nodiscard]] std::optional<JsonTree> parse_json_tree(std::string_view text,
                                                      const JsonTreeLimits& limits = {});

void append_json(std::string& out, const JsonTree& value);  // minified

}  // namespace sendonce
