// The language of the admin socket: one JSON object a line, in both directions.
//
//   request   {"verb":"list","state":"unknown","limit":100}     flat: text, whole numbers, booleans
//   answer    {"more":true,"item":{...}}                        any number of them, then one of
//             {"ok":true,"result":{...}}
//             {"ok":false,"error":{"code":"invalid","text":"..."}}
//
// A connection may ask again and again, one request at a time. Pure: no socket in here. (Behind it
// stands nlohmann-json, which only the source file sees.)
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "plugin/core/error.hpp"

namespace sendonce {

using AdminValue = std::variant<std::string, std::int64_t, bool>;

struct AdminRequest {
  std::string verb{};
  std::vector<std::pair<std::string, AdminValue>> arguments{};

  // Errors are `invalid` and name verb and argument: a wrong type, or a text that is missing.
  [[nodiscard]] Result<std::string> text(std::string_view argument) const;
  [[nodiscard]] Result<std::string> text_or(std::string_view argument, std::string other) const;
  [[nodiscard]] Result<bool> flag_or(std::string_view argument, bool other) const;
  [[nodiscard]] Result<std::int64_t> number_or(std::string_view argument, std::int64_t other) const;
  // Refuses an argument that is none of these: a typo must not be ignored.
  [[nodiscard]] Result<void> only(std::initializer_list<std::string_view> known) const;
};

// What a handler says. Collected whole, then sent by the server, so that a handler never waits for
// a client.
class AdminReply {
 public:
  explicit AdminReply(std::size_t room) : room_(room) {}

  // One line of a list, as a JSON object on one line. False: the answer is full and the item was
  // not taken; stop there, and let the result say from where to ask again.
  [[nodiscard]] bool item(std::string_view json);
  // The last line's JSON object; {} when never called.
  void result(std::string json);

  // The whole answer. An error of the handler becomes the last line.
  [[nodiscard]] std::string finish(const Result<void>& outcome) &&;

 private:
  std::size_t room_;
  std::string lines_{};
  std::string result_{"{}"};
};

[[nodiscard]] Result<AdminRequest> parse_admin_request(std::string_view line);
// With the closing newline. `invalid` when a text is not UTF-8.
[[nodiscard]] Result<std::string> format_admin_request(const AdminRequest& request);

// A line of an answer, as the client reads it.
struct AdminItem {
  std::string json{};
};
struct AdminEnd {
  Result<std::string> result{};  // the result's JSON, or the error that the other side reported
};
using AdminAnswerLine = std::variant<AdminItem, AdminEnd>;
[[nodiscard]] Result<AdminAnswerLine> parse_admin_answer(std::string_view line);

}  // namespace sendonce
