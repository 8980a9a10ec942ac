#include "plugin/message/canonical.hpp"

#include <algorithm>

#include "plugin/core/text.hpp"

namespace sendonce {

Result<void> Canonicaliser::append(std::string& out, JsonReader& reader, const JsonPath& path) {
  members_.clear();
  return append_value(out, reader, path);
}

Result<void> Canonicaliser::append_value(std::string& out, JsonReader& reader,
                                         const JsonPath& path) {
  switch (reader.type()) {
    case JsonType::object:
      return append_object(out, reader, path);
    case JsonType::array:
      return append_array(out, reader, path);
    case JsonType::string:
      reader.append_string(out, string_);
      return {};
    case JsonType::number:
    case JsonType::boolean:
    case JsonType::null:
      out.append(reader.raw());
      return {};
  }
  SO_ASSERT(false);
}

Result<void> Canonicaliser::append_object(std::string& out, JsonReader& reader,
                                          const JsonPath& path) {
  const std::size_t first = members_.size();
  out.push_back('{');
  reader.enter();
  while (reader.next_member()) {
    if (out.back() != '{') out.push_back(',');
    Member member{.at = out.size()};
    append_json_string(out, reader.name());
    member.name_size = out.size() - member.at - 2;
    out.push_back(':');
    const std::string name(reader.name());
    SO_CHECK(append_value(out, reader, JsonPath(path, name)));
    member.size = out.size() - member.at;
    members_.push_back(member);
  }
  SO_CHECK(sort_members(out, first, path));
  members_.resize(first);
  out.push_back('}');
  return {};
}

Result<void> Canonicaliser::append_array(std::string& out, JsonReader& reader,
                                         const JsonPath& path) {
  out.push_back('[');
  reader.enter();
  for (std::size_t i = 0; reader.next_element(); ++i) {
    if (i > 0) out.push_back(',');
    SO_CHECK(append_value(out, reader, JsonPath(path, i)));
  }
  out.push_back(']');
  return {};
}

Result<void> Canonicaliser::sort_members(std::string& out, std::size_t first,
                                         const JsonPath& path) {
  const auto begin = members_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto name = [&out](const Member& member) {
    return std::string_view(out).substr(member.at + 1, member.name_size);
  };
  const auto before = [&name](const Member& a, const Member& b) { return name(a) < name(b); };
  const std::size_t at = begin == members_.end() ? 0 : begin->at;
  const bool sorted = std::is_sorted(begin, members_.end(), before);
  if (!sorted) std::sort(begin, members_.end(), before);
  const auto twice =
      std::adjacent_find(begin, members_.end(),
                         [&name](const Member& a, const Member& b) { return name(a) == name(b); });
  if (twice != members_.end())
    return JsonPath(path, name(*twice)).refuse("the member is given twice");
  if (sorted) return {};
  sorted_.clear();
  for (auto member = begin; member != members_.end(); ++member) {
    if (member != begin) sorted_.push_back(',');
    sorted_.append(out, member->at, member->size);
  }
  out.replace(at, std::string::npos, sorted_);
  return {};
}

Result<std::string> canonical_json(JsonParser& parser, std::string_view text) {
  SO_TRY(JsonReader reader, parser.parse(text));
  std::string out;
  Canonicaliser canonicaliser;
  SO_CHECK(canonicaliser.append(out, reader, JsonPath()));
  return out;
}

}  // namespace sendonce
