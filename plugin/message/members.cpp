#include "plugin/message/members.hpp"

#include <string>

#include "plugin/core/nearest.hpp"

namespace sendonce {
namespace {

std::unexpected<Error> refuse_unknown(std::string_view name, const JsonPath& object,
                                      std::span<const std::string_view> allowed) {
  std::string what = "unknown member";
  const std::string_view near = nearest(name, allowed);
  if (!near.empty()) {
    what.append("; did you mean ").append(near).append("?");
  } else {
    what.append("; allowed are ");
    for (std::size_t i = 0; i < allowed.size(); ++i)
      what.append(i == 0 ? "" : ", ").append(allowed[i]);
  }
  return JsonPath(object, name).refuse(what);
}

}  // namespace

std::size_t MemberSet::find(std::string_view name) const {
  std::size_t at = next_;
  for (std::size_t looked = 0; looked < allowed_.size(); ++looked, ++at) {
    if (at >= allowed_.size()) at = 0;
    const std::string_view candidate = allowed_[at];
    if (candidate.size() == name.size() && candidate.front() == name.front() && candidate == name)
      return at;
  }
  return allowed_.size();
}

Result<std::size_t> MemberSet::meet(std::string_view name, const JsonPath& object) {
  const std::size_t position = find(name);
  if (position == allowed_.size()) return refuse_unknown(name, object, allowed_);
  if (has(position)) return JsonPath(object, name).refuse("the member is given twice");
  met_ |= std::uint64_t{1} << position;
  next_ = position + 1;
  return position;
}

}  // namespace sendonce
