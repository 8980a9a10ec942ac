// Serves the admin socket from one thread of its own, so that the engine never waits for an
// operator. The handlers run on that thread: see HttpServer.
//
//   AdminServer server(clock, log);
//   server.start(config.instance.socket, verbs, pages);
#pragma once

#include <string>

#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/log.hpp"
#include "plugin/core/unique_fd.hpp"
#include "plugin/module/admin/admin_protocol.hpp"
#include "plugin/module/admin/unix_socket.hpp"
#include "plugin/module/http/http_server.hpp"

namespace sendonce {

class AdminServer {
 public:
  // Both must outlive the server.
  AdminServer(const Clock& clock, Log& log, HttpLimits limits = {})
      : log_(log), http_(clock, limits) {}
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;
  ~AdminServer() { stop(); }

  // Makes the socket, mode 0660. Errors as of UnixListener::bind. Not while it is running. `pages`
  // answers kPublicPaths, `verbs` everything else that there is.
  [[nodiscard]] Result<void> start(const std::string& path, AdminHandler verbs, HttpHandler pages);
  // The same on a listening socket that somebody handed over.
  [[nodiscard]] Result<void> adopt(UniqueFd listening, AdminHandler verbs, HttpHandler pages);

  // Waits for the handler that is running, closes every connection, joins the thread and removes
  // the socket. Does nothing when not running.
  void stop();

 private:
  [[nodiscard]] Result<void> run(AdminHandler verbs, HttpHandler pages);

  Log& log_;
  UnixListener listener_{};
  HttpServer http_;
};

}  // namespace sendonce
