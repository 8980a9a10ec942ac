#include "plugin/module/admin/admin_client.hpp"

#include <array>
#include <cerrno>
#include <utility>
#include <variant>

#include <sys/socket.h>

#include "plugin/module/admin/unix_socket.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kLineBytesMax = 16UL << 20;

}  // namespace

Result<AdminClient> AdminClient::connect(const std::string& path, Duration timeout) {
  SO_TRY(UniqueFd fd, connect_unix(path, timeout));
  return AdminClient(std::move(fd), path);
}

Result<std::string> AdminClient::call(const AdminRequest& request,
                                      const std::function<void(std::string_view json)>& item) {
  SO_TRY(const std::string text, format_admin_request(request));
  SO_CHECK(send(text));
  while (true) {
    SO_TRY(const std::string line, read_line());
    SO_TRY(AdminAnswerLine answer, parse_admin_answer(line));
    if (auto* end = std::get_if<AdminEnd>(&answer)) return std::move(end->result);
    if (item) item(std::get<AdminItem>(answer).json);
  }
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

Result<std::string> AdminClient::read_line() {
  std::size_t searched = 0;
  while (true) {
    const std::size_t end = input_.find('\n', searched);
    if (end != std::string::npos) {
      std::string line = input_.substr(0, end);
      input_.erase(0, end + 1);
      return line;
    }
    if (input_.size() > kLineBytesMax) {
      return fail(Errc::corrupt, "the answer of the daemon on " + path_ + " does not end");
    }
    searched = input_.size();
    std::array<char, 64UL * 1024> buffer;  // NOLINT(*-member-init): filled by recv
    const ssize_t got = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (got > 0) {
      input_.append(buffer.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || errno == ECONNRESET) {
      return fail(Errc::unavailable, "the daemon on " + path_ + " has hung up");
    } else if (errno != EINTR) {
      return fail(Errc::unavailable, "the daemon on " + path_ + " does not answer in time");
    }
  }
}

}  // namespace sendonce
