#include "plugin/module/admin/admin_client.hpp"

#include <array>
#include <cerrno>
#include <utility>

#include <sys/socket.h>

#include "plugin/module/admin/unix_socket.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kAnswerBytesMax = 16UL << 20;

}  // namespace

Result<AdminClient> AdminClient::connect(const std::string& path, Duration timeout) {
  SO_TRY(UniqueFd fd, connect_unix(path, timeout));
  return AdminClient(std::move(fd), path, timeout);
}

Result<std::string> AdminClient::call(const AdminRequest& request,
                                      const std::function<void(std::string_view json)>& item) {
  SO_TRY(const std::string text, format_admin_request(request));
  SO_TRY(const std::string answer, exchange(text));
  return parse_admin_answer(answer, item);
}

Result<HttpReply> AdminClient::ask(const HttpQuestion& question) {
  SO_TRY(const std::string answer, exchange(format_question(question)));
  return parse_reply(answer);
}

Result<std::string> AdminClient::exchange(std::string_view text) {
  if (!fd_) {
    SO_TRY(fd_, connect_unix(path_, timeout_));
  }
  SO_CHECK(send(text));
  auto answer = read_to_end();
  fd_.reset();
  return answer;
}

Result<void> AdminClient::send(std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      text.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EPIPE || errno == ECONNRESET) {
      return {};  // it has hung up on us, and may have said why: read on
    } else if (errno != EINTR) {
      return fail(Errc::unavailable, "the daemon on " + path_ + " does not take the request");
    }
  }
  return {};
}

Result<std::string> AdminClient::read_to_end() {
  std::string answer;
  while (true) {
    std::array<char, 64UL * 1024> buffer;  // NOLINT(*-member-init): filled by recv
    const ssize_t got = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (got > 0) {
      answer.append(buffer.data(), static_cast<std::size_t>(got));
      if (answer.size() > kAnswerBytesMax)
        return fail(Errc::corrupt, "the answer of the daemon on " + path_ + " does not end");
    } else if (got == 0 || errno == ECONNRESET) {
      if (answer.empty()) return fail(Errc::unavailable, "the daemon on " + path_ + " has hung up");
      return answer;
    } else if (errno != EINTR) {
      return fail(Errc::unavailable, "the daemon on " + path_ + " does not answer in time");
    }
  }
}

}  // namespace sendonce
