// A small HTTP/1.1 server on a listening socket, from one thread of its own: for the admin socket
// and for what Prometheus and probes ask. Requests without a body, one a connection, answers that
// are collected whole; RFC 9112 is libmicrohttpd's business.
//
// The handler runs on that thread: it may wait for the engine, for a bounded time, but never for a
// client. Clients that are slow, send what is no request, or come in crowds keep nobody waiting for
// longer than HttpLimits says.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/unique_fd.hpp"

namespace sendonce {

struct HttpQuestion {
  std::string method{};
  std::string path{};                                         // decoded, without the query
  std::vector<std::pair<std::string, std::string>> query{};   // decoded, in the order of the URL
  std::vector<std::pair<std::string, std::string>> fields{};  // of the head, names in lower case
  std::optional<uid_t> peer{};                                // who asks, on a Unix socket

  // Of a header field that is there once; nothing: it is missing, or given twice.
  [[nodiscard]] std::optional<std::string_view> field(std::string_view name) const;
};

struct HttpReply {
  int status = 200;
  std::string type = "application/json";
  std::string body{};
  std::string allow{};                                        // with 405: the methods there are
  std::vector<std::pair<std::string, std::string>> fields{};  // of the head, beside those above
};

// Must not throw, and must not call stop().
using HttpHandler = std::function<HttpReply(const HttpQuestion&)>;

struct HttpLimits {
  std::size_t connections = 16;              // more wait in the socket's backlog
  std::size_t head_bytes = 16UL * 1024;      // of request line and header fields
  Duration idle = std::chrono::seconds(10);  // without a byte, in whole seconds
  Duration life = std::chrono::seconds(60);  // of a connection, however busy
  // The same while every place is taken: whoever is stuck there keeps nobody out for longer.
  Duration crowded_life = std::chrono::seconds(2);
  // Places for one TCP address, or for one user of a Unix socket other than root and our own, so
  // that a scraper that hangs locks nobody else out. More are closed at once.
  std::size_t per_peer = 8;
};

class HttpServer {
 public:
  explicit HttpServer(const Clock& clock, HttpLimits limits = {})
      : clock_(clock), limits_(limits) {}  // the clock outlives the server
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer() { stop(); }

  // exhausted: no descriptor or thread is to be had. Not while it is running.
  [[nodiscard]] Result<void> start(UniqueFd listening, const char* thread_name,
                                   HttpHandler handler);
  // Waits for the handler that is running, closes every connection and the socket, joins. Does
  // nothing when not running.
  void stop();

 private:
  const Clock& clock_;
  HttpLimits limits_;
  UniqueFd wake_{};
  std::thread thread_{};
};

}  // namespace sendonce
