#include "classifiers/answer_match.hpp"

#include <algorithm>
#include <string>

#include "classifiers/json_pointer.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kSearched = 16'384;  // of a body, for text

// Empty where no plain value stands.
std::string_view plain_text(const JsonTree& node) {
  const bool plain = !node.is(JsonTree::Type::array) && !node.is(JsonTree::Type::object) &&
                     !node.is(JsonTree::Type::null);
  return plain ? std::string_view(node.text) : std::string_view();
}

bool any_equal(const std::vector<std::string>& wanted, std::string_view text) {
  return std::ranges::any_of(wanted, [text](const std::string& w) { return w == text; });
}

bool any_within(const std::vector<std::string>& wanted, std::string_view text) {
  return std::ranges::any_of(
      wanted, [text](const std::string& w) { return text.find(w) != std::string_view::npos; });
}

bool status_fits(const AnswerMatch& match, int status) {
  return match.status.empty() || std::ranges::any_of(match.status, [status](const StatusRange& r) {
           return r.first <= status && status <= r.last;
         });
}

// Of several elements one is enough.
bool pointer_fits(const AnswerMatch& match, const SeenAnswer& seen) {
  if (match.pointer.empty()) return true;
  return std::ranges::any_of(seen.at(match.pointer), [&match](const JsonTree* node) {
    const std::string_view text = plain_text(*node);
    return !node->is(JsonTree::Type::null) &&
           (match.equals.empty() || any_equal(match.equals, text)) &&
           (match.contains.empty() || any_within(match.contains, text));
  });
}

bool header_fits(const AnswerMatch& match, const HttpAnswer& answer) {
  if (match.header.empty()) return true;
  const auto value = answer.headers.find(match.header);
  return value && (match.header_equals.empty() || any_equal(match.header_equals, *value)) &&
         (match.header_contains.empty() || any_within(match.header_contains, *value));
}

}  // namespace

std::vector<const JsonTree*> SeenAnswer::at(std::string_view pointer) const {
  return body && !pointer.empty() ? at_pointer(*body, pointer) : std::vector<const JsonTree*>{};
}

// The first of several.
std::string_view SeenAnswer::text_at(std::string_view pointer) const {
  const auto found = at(pointer);
  return found.empty() ? std::string_view() : plain_text(*found.front());
}

bool fits(const AnswerMatch& match, const SeenAnswer& seen) {
  return status_fits(match, seen.answer.status) && pointer_fits(match, seen) &&
         header_fits(match, seen.answer) &&
         (match.text.empty() ||
          any_within(match.text, std::string_view(seen.answer.body).substr(0, kSearched)));
}

}  // namespace sendonce
