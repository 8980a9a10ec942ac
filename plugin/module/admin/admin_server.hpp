// Serves the admin socket from one thread of its own, so that the engine never waits for an
// operator. The handler runs on that thread: it may wait for the engine, for a bounded time, but
// never for a client, since its answer is collected whole and sent in the background.
//
//   AdminServer server(clock, log);
//   server.start(config.instance.socket, [&](const AdminRequest& request, AdminReply& reply) {
//     return verbs.run(request, reply);
//   });
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/log.hpp"
#include "plugin/core/unique_fd.hpp"
#include "plugin/module/admin/admin_protocol.hpp"
#include "plugin/module/admin/unix_socket.hpp"

namespace sendonce {

// Must not throw, and must not call stop().
using AdminHandler = std::function<Result<void>(const AdminRequest&, AdminReply&)>;

struct AdminLimits {
  std::size_t request_bytes = 64UL * 1024;  // of one line; a longer one ends the connection
  std::size_t reply_bytes = 1UL << 20;      // of the items of one answer, see AdminReply::item
  std::size_t connections = 16;             // more are told so and closed
  Duration idle = std::chrono::minutes(1);  // a client that neither asks nor reads is closed
};

class AdminServer {
 public:
  // Both must outlive the server.
  AdminServer(const Clock& clock, Log& log, AdminLimits limits = {});
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;
  ~AdminServer() { stop(); }

  // Makes the socket, mode 0660. Errors as of UnixListener::bind. Not while it is running.
  [[nodiscard]] Result<void> start(const std::string& path, AdminHandler handler);
  // The same on a listening socket that somebody handed over.
  [[nodiscard]] Result<void> adopt(UniqueFd listening, AdminHandler handler);

  // Waits for the handler that is running, sends what can be sent at once, closes every connection,
  // joins the thread and removes the socket. Does nothing when not running.
  void stop();

 private:
  Result<void> run(UnixListener listener, AdminHandler handler);

  const Clock& clock_;
  Log& log_;
  AdminLimits limits_;
  UniqueFd wake_{};
  std::thread thread_{};
};

}  // namespace sendonce
