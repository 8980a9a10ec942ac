#include "plugin/module/admin/admin_connection.hpp"

#include <array>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

#include "plugin/module/admin/unix_socket.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kReadBytes = 16UL * 1024;  // at a time, so that no client is served alone

bool try_again(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace

AdminConnection::AdminConnection(UniqueFd fd, MonoTime now)
    : fd_(std::move(fd)), last_moved_(now) {}

short AdminConnection::interest() const noexcept {
  return sending() ? POLLOUT : POLLIN;
}

void AdminConnection::move(MonoTime now) {
  if (sending()) {
    write(now);
  } else {
    read(now);
  }
}

void AdminConnection::read(MonoTime now) {
  std::array<char, kReadBytes> buffer;  // NOLINT(*-init-variables,*-member-init): filled by recv
  const ssize_t got = ::recv(fd(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got > 0) {
    input_.append(buffer.data(), static_cast<std::size_t>(got));
    last_moved_ = now;
    return;
  }
  if (got < 0 && try_again(errno)) return;
  // The peer has said all it wants to say; whole lines that came before are still answered.
  ending_ = true;
  over_ = got < 0 || input_.find('\n') == std::string::npos;
}

std::optional<std::string> AdminConnection::next_line() {
  if (sending() || over_) return std::nullopt;
  const std::size_t end = input_.find('\n');
  if (end == std::string::npos) {
    over_ = ending_;
    return std::nullopt;
  }
  std::string line = input_.substr(0, end);
  input_.erase(0, end + 1);
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

void AdminConnection::answer(std::string text, MonoTime now) {
  output_ = std::move(text);
  sent_ = 0;
  write(now);
}

void AdminConnection::write(MonoTime now) {
  while (sending()) {
    const ssize_t sent =
        ::send(fd(), output_.data() + sent_, output_.size() - sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      sent_ += static_cast<std::size_t>(sent);
      last_moved_ = now;
      continue;
    }
    over_ = !try_again(errno);
    return;
  }
  output_.clear();
  sent_ = 0;
}

void AdminConnection::close_after_answer() noexcept {
  input_.clear();
  ending_ = true;
}

}  // namespace sendonce
