// Unix stream sockets: the file system's side of the admin interface.
#pragma once

#include <string>

#include <sys/types.h>

#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/unique_fd.hpp"

namespace sendonce {

// A socket of ours in the file system: removed at the end, unless another one took its place.
class UnixListener {
 public:
  // Mode 0660 from its first moment, whatever the umask. Replaces a socket that nobody listens on.
  // busy: somebody does. invalid: the path is too long, or is something else than a socket.
  [[nodiscard]] static Result<UnixListener> bind(const std::string& path);
  // A listening socket that somebody else made (socket activation); not removed at the end.
  [[nodiscard]] static Result<UnixListener> adopt(UniqueFd fd);

  UnixListener() = default;
  UnixListener(UnixListener&& other) noexcept;
  UnixListener& operator=(UnixListener&& other) noexcept;
  UnixListener(const UnixListener&) = delete;
  UnixListener& operator=(const UnixListener&) = delete;
  ~UnixListener() { close(); }

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  void close() noexcept;

 private:
  UniqueFd fd_{};
  std::string path_{};  // empty: not ours to remove
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// Blocking, with a limit for each read and write, and for the connection itself.
[[nodiscard]] Result<UniqueFd> connect_unix(const std::string& path, Duration timeout);

}  // namespace sendonce
