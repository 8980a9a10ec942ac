#include "plugin/message/json_path.hpp"

#include <algorithm>

namespace sendonce {
namespace {

constexpr std::size_t kLongestPrinted = 32;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool may_follow(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || c == '-';
}

}  // namespace

std::string_view printable_name(std::string_view name) {
  if (name.empty() || name.size() > kLongestPrinted || !is_letter(name.front()) ||
      !std::all_of(name.begin(), name.end(), may_follow))
    return "?";
  return name;
}

void JsonPath::append(std::string& out) const {
  if (parent_ == nullptr) {
    out.push_back('$');
    return;
  }
  parent_->append(out);
  if (name_.data() != nullptr) {
    out.append(".").append(printable_name(name_));
  } else {
    out.append("[").append(std::to_string(index_)).append("]");
  }
}

std::string JsonPath::text() const {
  std::string out;
  append(out);
  return out;
}

std::unexpected<Error> JsonPath::refuse(std::string_view what) const {
  return fail(Errc::invalid, text().append(": ").append(what));
}

}  // namespace sendonce
