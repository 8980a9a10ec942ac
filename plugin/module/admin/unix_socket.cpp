#include "plugin/module/admin/unix_socket.hpp"

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

namespace sendonce {
namespace {

constexpr mode_t kMode = 0660;
constexpr int kBacklog = 16;

std::string reason(int error) {
  return std::generic_category().message(error);
}

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return fail(Errc::invalid, "socket path '" + path + "': must have 1 to " +
                                   std::to_string(sizeof address.sun_path - 1) + " bytes");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

Result<UniqueFd> stream_socket(int flags) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  if (!fd) return fail(Errc::exhausted, "cannot make a socket: " + reason(errno));
  return fd;
}

// Removes what a killed process has left behind, and nothing else.
Result<void> clear_the_way(const std::string& path, const sockaddr_un& address) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) return {};  // bind will say what is wrong, if anything
  if (!S_ISSOCK(found.st_mode)) {
    return fail(Errc::invalid, path + " exists and is no socket: remove it or choose another path");
  }
  SO_TRY(const UniqueFd probe, stream_socket(SOCK_NONBLOCK));
  if (::connect(probe.get(), generic(address), sizeof address) == 0 || errno != ECONNREFUSED) {
    return fail(Errc::busy, "another process listens on " + path);
  }
  ::unlink(path.c_str());
  return {};
}

}  // namespace

Result<UnixListener> UnixListener::bind(const std::string& path) {
  SO_TRY(const sockaddr_un address, address_of(path));
  SO_CHECK(clear_the_way(path, address));
  const auto failed = [&] {
    const int error = errno;
    const bool denied = error == EACCES || error == EPERM;
    return fail(denied ? Errc::denied : Errc::invalid,
                "cannot listen on " + path + ": " + reason(error));
  };
  UnixListener listener;
  SO_TRY(listener.fd_, stream_socket(SOCK_NONBLOCK));
  // Linux gives the file the socket's own mode less the umask: nobody gets in before chmod().
  ::fchmod(listener.fd(), kMode);
  struct stat made{};
  if (::bind(listener.fd(), generic(address), sizeof address) != 0) return failed();
  if (::lstat(path.c_str(), &made) != 0) return failed();
  listener.path_ = path;
  listener.device_ = made.st_dev;
  listener.inode_ = made.st_ino;
  if (::chmod(path.c_str(), kMode) != 0) return failed();
  if (::listen(listener.fd(), kBacklog) != 0) return failed();
  return listener;
}

Result<UnixListener> UnixListener::adopt(UniqueFd fd) {
  int listening = 0;
  socklen_t size = sizeof listening;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0 || listening == 0) {
    return fail(Errc::invalid, "the descriptor handed over is no listening socket");
  }
  ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(fd.get(), F_SETFD, FD_CLOEXEC);
  UnixListener listener;
  listener.fd_ = std::move(fd);
  return listener;
}

UnixListener::UnixListener(UnixListener&& other) noexcept
    : fd_(std::move(other.fd_)),
      path_(std::exchange(other.path_, {})),
      device_(other.device_),
      inode_(other.inode_) {}

UnixListener& UnixListener::operator=(UnixListener&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::move(other.fd_);
    path_ = std::exchange(other.path_, {});
    device_ = other.device_;
    inode_ = other.inode_;
  }
  return *this;
}

void UnixListener::close() noexcept {
  fd_.reset();
  struct stat found{};
  if (!path_.empty() && ::lstat(path_.c_str(), &found) == 0 && found.st_dev == device_ &&
      found.st_ino == inode_) {
    ::unlink(path_.c_str());
  }
  path_.clear();
}

Result<UniqueFd> connect_unix(const std::string& path, Duration timeout) {
  SO_TRY(const sockaddr_un address, address_of(path));
  SO_TRY(UniqueFd fd, stream_socket(0));
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(timeout - whole);
  const timeval limit{.tv_sec = whole.count(), .tv_usec = rest.count()};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  int rc = 0;
  do rc = ::connect(fd.get(), generic(address), sizeof address);
  while (rc != 0 && errno == EINTR);  // of a Unix socket: nothing has begun
  if (rc == 0) return fd;
  switch (errno) {
    case ENOENT:
    case ECONNREFUSED:
      return fail(Errc::unavailable,
                  "no daemon is listening on " + path + ": is sendonced running?");
    case EACCES:
    case EPERM:
      return fail(Errc::denied, "no permission for " + path +
                                    ": join the socket's group, or ask as its owner (sudo)");
    case EAGAIN:
      return fail(Errc::unavailable, "the daemon on " + path + " is too busy to answer");
    default:
      return fail(Errc::invalid, "cannot connect to " + path + ": " + reason(errno));
  }
}

}  // namespace sendonce
