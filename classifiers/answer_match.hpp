// Whether an answer looks as a line of a table describes it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "classifiers/json_tree.hpp"
#include "plugin/message/http_spec.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

// An answer with its body read once. Borrows the answer.
struct SeenAnswer {
  explicit SeenAnswer(const HttpAnswer& of) : answer(of), body(parse_json_tree(of.body)) {}

  const HttpAnswer& answer;
  std::optional<JsonTree> body;  // empty: no JSON

  [[nodiscard]] bool is_success() const { return answer.status >= 200 && answer.status < 300; }
  // What stands at a pointer (RFC 6901, `*` for any element); nothing for an empty one.
  [[nodiscard]] std::vector<const JsonTree*> at(std::string_view pointer) const;
  // Its text, numbers as written; empty where no plain value stands.
  [[nodiscard]] std::string_view text_at(std::string_view pointer) const;
};

[[nodiscard]] bool fits(const AnswerMatch& match, const SeenAnswer& seen);

}  // namespace sendonce
