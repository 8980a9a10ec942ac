// Any bytes from a client of the admin socket, and any line from the daemon: requests and answers
// that keep their promises, or an error. One run goes through a real connection, in pieces.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <sys/socket.h>
#include <unistd.h>

#include "plugin/core/assert.hpp"
#include "plugin/module/admin/admin_connection.hpp"
#include "plugin/module/admin/admin_protocol.hpp"
#include "tests/fuzz/program.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kRoom = 4096;

void check_request(std::string_view line) {
  const auto request = parse_admin_request(line);
  if (!request) {
    SO_ASSERT(request.error().code == Errc::invalid && !request.error().text.empty());
    return;
  }
  SO_ASSERT(!request->verb.empty());
  for (const auto& [argument, value] : request->arguments) {
    SO_ASSERT(request->text(argument).has_value() == std::holds_alternative<std::string>(value) ||
              std::get<std::string>(value).empty());
    static_cast<void>(request->text_or(argument, "x"));
    static_cast<void>(request->number_or(argument, 1));
    static_cast<void>(request->flag(argument));
  }
  SO_ASSERT(request->only({}).has_value() == request->arguments.empty());
  const auto again = format_admin_request(*request);
  SO_ASSERT(again && again->find('\n') == again->size() - 1);
  const auto same = parse_admin_request(*again);
  SO_ASSERT(same && same->verb == request->verb && same->arguments == request->arguments);
}

void check_answer(std::string_view line) {
  const auto answer = parse_admin_answer(line);
  if (!answer) return SO_ASSERT(answer.error().code == Errc::corrupt);
  AdminReply reply(kRoom);
  const auto* item = std::get_if<AdminItem>(&*answer);
  if (item != nullptr) {
    const bool taken = reply.item(item->json);
    SO_ASSERT(taken == (item->json.size() + 23 <= kRoom));
    if (!taken) return;
    const std::string text = std::move(reply).finish({});
    const auto again = parse_admin_answer(std::string_view(text).substr(0, text.find('\n')));
    SO_ASSERT(again && std::get<AdminItem>(*again).json == item->json);
    return;
  }
  const AdminEnd& end = std::get<AdminEnd>(*answer);
  if (end.result) reply.result(*end.result);
  const Result<void> outcome =
      end.result ? Result<void>() : fail(end.result.error().code, end.result.error().text);
  std::string text = std::move(reply).finish(outcome);
  SO_ASSERT(text.find('\n') == text.size() - 1);
  text.pop_back();
  const auto again = parse_admin_answer(text);
  SO_ASSERT(again && std::get<AdminEnd>(*again).result.has_value() == end.result.has_value());
}

// What the client has sent comes out line by line, each answered before the next.
void converse(std::string_view sent) {
  std::array<int, 2> ends{};
  SO_ASSERT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const UniqueFd client(ends[0]);
  AdminConnection connection(UniqueFd(ends[1]), MonoTime{});
  SO_ASSERT(::send(client.get(), sent.data(), sent.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(sent.size()));
  SO_ASSERT(::shutdown(client.get(), SHUT_WR) == 0);
  const std::size_t turns_most = sent.size() + 8;
  for (std::size_t turns = 0; !connection.over(); ++turns) {
    SO_ASSERT(turns < turns_most);
    if (const auto line = connection.next_line()) {
      const std::size_t end = sent.find('\n');
      SO_ASSERT(end != std::string_view::npos);
      std::string_view wanted = sent.substr(0, end);
      if (wanted.ends_with('\r')) wanted.remove_suffix(1);
      SO_ASSERT(*line == wanted);
      sent.remove_prefix(end + 1);
      check_request(*line);
      connection.answer("{}\n", MonoTime{});
    } else if (!connection.over()) {
      connection.move(MonoTime{});
    }
  }
  SO_ASSERT(sent.find('\n') == std::string_view::npos);
}

}  // namespace
}  // namespace sendonce

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sendonce::test::Program program(data, size);
  const std::uint8_t kind = program.byte();
  const std::string_view text = program.rest();
  switch (kind % 3U) {
    case 0:
      sendonce::check_request(text);
      break;
    case 1:
      sendonce::check_answer(text);
      break;
    default:
      if (!text.empty() && text.size() <= 16 * 1024) sendonce::converse(text);
      break;
  }
  return 0;
}
