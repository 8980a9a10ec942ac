// Where in a JSON text something is, built on the stack while descending and written out only for
// an error: `$.targets[3].token` (RFC 9535).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "plugin/core/error.hpp"

namespace sendonce {

class JsonPath {
 public:
  JsonPath() = default;  // the root
  // Both borrow the parent and the name.
  JsonPath(const JsonPath& parent, std::string_view name) : parent_(&parent), name_(name) {}
  JsonPath(const JsonPath& parent, std::size_t index) : parent_(&parent), index_(index) {}

  [[nodiscard]] std::string text() const;
  // invalid: "<path>: <what>"
  [[nodiscard]] std::unexpected<Error> refuse(std::string_view what) const;

 private:
  void append(std::string& out) const;

  const JsonPath* parent_ = nullptr;
  std::string_view name_{};
  std::size_t index_ = 0;
};

// A member name that may stand in an error text: a letter or underscore, then letters, digits,
// underscores and hyphens, at most 32 bytes. Any other might be a destination put in the wrong
// place and reads "?".
[[nodiscard]] std::string_view printable_name(std::string_view name);

}  // namespace sendonce
