// A connection to a NATS server: owns the cnats handles, applies the options that a sidecar needs,
// and turns cnats' callbacks into calls of a sink. cnats reconnects by itself; when it gives up
// (two authentication failures in a row close a connection for good, nats.c issue 244) the owner
// builds a new one. Only the API of cnats 3.4.1 is used (Debian 12).
//
// Threads: one thread opens, uses and closes a connection; status and publish may be called by
// others meanwhile. The sink is called on threads of cnats, which inherit the signal mask of the
// thread that opened the connection, and not after close() has returned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/broker/broker.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"

namespace sendonce {

struct ConnectionOptions {
  // nats://[user:password@]host[:port] or tls://...; one tls:// makes TLS mandatory for all.
  std::vector<std::string> servers{};
  std::string name = "sendonce";
  std::string ca_file{};           // PEM; empty: the system's
  std::string credentials_file{};  // .creds; read again at every connect
  std::string inbox_prefix{};      // see make_inbox_prefix
  Duration connect = std::chrono::seconds(3);
  Duration ping_interval = std::chrono::seconds(5);
  int pings_out = 2;  // unanswered, before the connection counts as dead
  Duration reconnect_wait = std::chrono::milliseconds(250);
  Duration reconnect_jitter = std::chrono::milliseconds(250);
  Duration write_deadline = std::chrono::seconds(5);
  bool send_asap = false;  // write at once instead of within a millisecond
};

// Copied out of a natsMsg, which is not kept: it has no reference count and points into its
// subscription (nats.c issues 793, 794).
struct RawMessage {
  std::string subject{};
  std::string reply{};
  MessageHeaders headers{};
  std::string body{};
};

enum class ConnectionEvent : std::uint8_t {
  disconnected,
  reconnected,
  closed,     // for good
  lame_duck,  // the server is about to leave
  denied,     // a subject is not permitted; the text names it
  slow,       // messages were dropped here; they come back after ack_wait
  failed,     // anything else
};

class ConnectionSink {
 public:
  virtual ~ConnectionSink() = default;
  // Short and without calls into the connection.
  virtual void on_message(RawMessage message) = 0;
  virtual void on_event(ConnectionEvent event, std::string text) = 0;
};

class Connection {
 public:
  // Starts the client library, whose threads get the caller's signal mask. To be called on a
  // thread that outlives the connections (nats.c issue 979). Never undone: the process may use
  // the library for itself.
  static void prepare();

  // Blocks for at most about `connect` a server. denied: authentication; invalid: an option;
  // unavailable: everything else.
  [[nodiscard]] static Result<std::unique_ptr<Connection>> open(const ConnectionOptions& options,
                                                                ConnectionSink& sink);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Once; lives as long as the connection, across reconnects.
  [[nodiscard]] Result<void> subscribe(const std::string& subject);
  // Beside it, for others than our streams; as long-lived.
  [[nodiscard]] Result<void> subscribe_too(const std::string& subject);
  // Stops deliveries of the first; when it returns, the sink has got all that had come. Without a
  // connection nothing comes.
  [[nodiscard]] Result<void> drain_subscription(Duration timeout);

  // OK means handed to the socket or a buffer, never more. invalid: too large, or a bad subject or
  // header; unavailable: not connected.
  [[nodiscard]] Result<void> publish(const std::string& subject, const std::string& reply,
                                     std::string_view body);
  [[nodiscard]] Result<void> publish(const std::string& subject, const std::string& reply,
                                     const MessageHeaders& headers, std::string_view body);
  // Waits for the answer; nothing: nobody listens. unavailable: none came.
  [[nodiscard]] Result<std::optional<RawMessage>> request(const std::string& subject,
                                                          const MessageHeaders& headers,
                                                          std::string_view body, Duration timeout);
  // Everything published so far has been read by the server. unavailable: not connected, no answer.
  [[nodiscard]] Result<void> flush(Duration timeout);

  [[nodiscard]] bool connected() const;
  // Changes with every reconnect.
  [[nodiscard]] std::uint64_t generation() const;
  [[nodiscard]] std::size_t known_servers() const;
  [[nodiscard]] std::string connected_to() const;  // without credentials

  void close();

 private:
  struct Handles;
  explicit Connection(std::unique_ptr<Handles> handles);
  std::unique_ptr<Handles> handles_;
};

// "_INBOX.sendonce.<name>.<random>": a permission for _INBOX.sendonce.<name>.> covers it. Random
// from the operating system, since cnats' own ids may collide (nats.c issue 963).
[[nodiscard]] std::string make_inbox_prefix(std::string_view name);

// A status of cnats and its detail in one text: without places in its sources, the same thing once,
// redacted.
[[nodiscard]] std::string error_text(std::string_view status, std::string_view detail);

// Without user, password or token.
[[nodiscard]] std::string redacted(std::string_view text);

}  // namespace sendonce
