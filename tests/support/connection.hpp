// One TLS connection of the fake server: bytes in, bytes out, and how it ends.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tests/support/h2_server.hpp"
#include "tests/support/http_message.hpp"
#include "tests/support/openssl_handles.hpp"

namespace sendonce::test {

// What connections need of their server.
class ServerContext {
 public:
  ServerContext(const ServerOptions& o, Handler& h, ServerTotals& t)
      : options(o), handler(h), totals(t) {}
  virtual ~ServerContext() = default;
  // Connection::release(stream) will be called after `delay`.
  virtual void release_later(Duration delay, std::uint64_t connection, std::int32_t stream) = 0;

  const ServerOptions& options;
  Handler& handler;
  ServerTotals& totals;
  WallTime now{};  // of the latest read
};

// Between a connection and the protocol spoken on it.
struct Wire {
  std::string out{};      // to be written
  bool closing = false;   // close when `out` has been written
  bool aborting = false;  // with it: by TCP RST
  bool deaf = false;      // neither read nor written any more
};

class Protocol {
 public:
  virtual ~Protocol() = default;
  // False: the peer broke the protocol, and the connection is over.
  virtual bool receive(std::string_view bytes) = 0;
  // Appends to the wire what is ready to be sent, until it holds about one TLS record.
  virtual void produce() = 0;
  // A delayed answer is due. Unknown streams are ignored: the client may have gone on.
  virtual void release(std::int32_t stream) = 0;
  // Neither side has anything more to say.
  [[nodiscard]] virtual bool finished() const = 0;
};

class Connection {
 public:
  // Owns `fd`, a non-blocking socket.
  Connection(std::uint64_t id, int fd, SslPtr ssl, ServerContext& context);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Reads, handles and writes as far as that goes without waiting. False: it is over, delete it.
  [[nodiscard]] bool step();
  void release(std::int32_t stream);  // queues a delayed answer; flush() sends it
  [[nodiscard]] bool flush();         // false as above
  void abort();                       // the destructor will send a TCP RST
  [[nodiscard]] bool wants_to_write() const { return !wire_.out.empty() && !wire_.deaf; }
  [[nodiscard]] bool deaf() const { return wire_.deaf; }
  [[nodiscard]] int fd() const { return fd_; }

  bool watched_for_writing = false;  // the server's note about its epoll registration

 private:
  enum class Progress : std::uint8_t { going, waiting, over };
  [[nodiscard]] Progress handshake();
  void choose_protocol();
  [[nodiscard]] bool read();
  [[nodiscard]] bool write();

  std::uint64_t id_;
  int fd_;
  SslPtr ssl_;
  ServerContext& context_;
  Wire wire_{};
  std::size_t written_ = 0;  // of wire_.out
  std::unique_ptr<Protocol> protocol_{};
};

[[nodiscard]] std::unique_ptr<Protocol> make_h2_protocol(std::uint64_t connection, Wire& wire,
                                                         ServerContext& context);
[[nodiscard]] std::unique_ptr<Protocol> make_h1_protocol(std::uint64_t connection, Wire& wire,
                                                         ServerContext& context);

}  // namespace sendonce::test
