// The members that one JSON object may have, and those that were met so far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "plugin/core/error.hpp"
#include "plugin/message/json_path.hpp"

namespace sendonce {

class MemberSet {
 public:
  // Borrows the names; at most 64.
  explicit MemberSet(std::span<const std::string_view> allowed) : allowed_(allowed) {}

  // The position of `name` among the allowed ones. invalid: not allowed there (the text has the
  // nearest name, or all of them), or met before. `object` is where the object stands.
  [[nodiscard]] Result<std::size_t> meet(std::string_view name, const JsonPath& object) {
    const std::size_t position = find(name);
    if (position == allowed_.size() || has(position)) return refuse(name, object);
    met_ |= std::uint64_t{1} << position;
    next_ = position + 1;
    return position;
  }

  [[nodiscard]] bool has(std::size_t position) const { return (met_ >> position & 1U) != 0; }

 private:
  [[nodiscard]] std::size_t find(std::string_view name) const {
    std::size_t at = next_;
    for (std::size_t looked = 0; looked < allowed_.size(); ++looked, ++at) {
      if (at >= allowed_.size()) at = 0;
      const std::string_view candidate = allowed_[at];
      if (candidate.size() == name.size() && candidate.front() == name.front() && candidate == name)
        return at;
    }
    return allowed_.size();
  }
  [[nodiscard]] std::unexpected<Error> refuse(std::string_view name, const JsonPath& object) const;

  std::span<const std::string_view> allowed_;
  std::uint64_t met_ = 0;
  std::size_t next_ = 0;  // members mostly come in the order of the documentation
};

}  // namespace sendonce
