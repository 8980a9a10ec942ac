// Any question on the admin socket, and any answer from the daemon: requests and results that keep
// their promises, or an error. The bytes between them are libmicrohttpd's.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "plugin/core/assert.hpp"
#include "plugin/module/admin/admin_protocol.hpp"
#include "tests/fuzz/program.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kRoom = 4096;

// "path\nname\nvalue\nname\nvalue"
HttpQuestion question_from(std::string_view text, std::uint8_t kind) {
  const auto next = [&] {
    const std::size_t end = text.find('\n');
    const std::string_view word = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    return std::string(word);
  };
  HttpQuestion question{.method = kind % 2U == 0 ? "GET" : "POST", .path = next()};
  const auto routes = admin_routes();
  if (kind % 8U < routes.size()) {
    question.method = routes[kind % 8U].method;
    question.path = routes[kind % 8U].path;
  }
  while (!text.empty()) {
    std::string name = next();
    question.query.emplace_back(std::move(name), next());
  }
  if (kind < 128) question.peer = kind;
  return question;
}

void check_question(std::string_view text, std::uint8_t kind) {
  const HttpQuestion question = question_from(text, kind);
  int handled = 0;
  const HttpReply reply =
      answer_admin(question, 7, kRoom, [&](const AdminRequest& request, AdminReply&) {
        ++handled;
        SO_ASSERT(request.arguments.size() == question.query.size());
        for (const auto& [name, value] : request.arguments) {
          SO_ASSERT(request.text(name) == value.text);
          static_cast<void>(request.flag_or(name, true));
          static_cast<void>(request.number_or(name, 1));
        }
        const auto again = format_admin_request(request);
        SO_ASSERT(again && again->ends_with("\r\n\r\n") && again->find('\0') == std::string::npos);
        SO_ASSERT(again->find(" HTTP/1.1\r\nHost: sendonce\r\n") == again->rfind(" HTTP/1.1\r\n"));
        return Result<void>();
      });
  SO_ASSERT((handled == 1) == (reply.status == 200));
  SO_ASSERT(reply.body.ends_with('\n'));
}

void check_answer(std::string_view bytes) {
  std::size_t items = 0;
  const auto answer = parse_admin_answer(bytes, [&](std::string_view json) {
    ++items;
    SO_ASSERT(!json.empty() && json.find('\n') == std::string_view::npos);
  });
  SO_ASSERT(answer ? answer->starts_with('{') : items == 0);
}

}  // namespace
}  // namespace sendonce

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sendonce::test::Program program(data, size);
  const std::uint8_t kind = program.byte();
  const std::string_view text = program.rest();
  if (kind >= 192) {
    sendonce::check_answer(text);
  } else {
    sendonce::check_question(text, kind);
  }
  return 0;
}
