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

std::unexpected<Error> MemberSet::refuse(std::string_view name, const JsonPath& object) const {
  if (find(name) == allowed_.size()) return refuse_unknown(name, object, allowed_);
  return JsonPath(object, name).refuse("the member is given twice");
}

}  // namespace sendonce
