// A single-threaded HTTPS server for tests: HTTP/2, and HTTP/1.1 for clients that do not ask for
// h2. What it answers is the Handler's affair; how an answer travels or dies, see Play.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "plugin/core/error.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/http_message.hpp"

namespace sendonce::test {

// A server that accepts TCP connections and then says nothing.
enum class Silence : std::uint8_t {
  none,
  handshake,  // no byte of TLS
  settings,   // the handshake, then nothing: no SETTINGS, no answer
};

struct ServerOptions {
  std::string address = "127.0.0.1";  // IPv4 or IPv6
  std::uint16_t port = 0;             // 0: any free one
  Identity identity{};
  std::string client_ca{};  // PEM; not empty: clients must show a certificate of this authority
  bool tls12_only = false;
  bool offer_h2 = true;                        // false: ALPN is ignored and HTTP/1.1 is spoken
  std::uint32_t max_concurrent_streams = 100;  // of the first SETTINGS
  std::uint32_t initial_window = 65535;        // of the first SETTINGS, bytes
  Silence silence = Silence::none;
};

// Counted since the start; read from any thread.
struct ServerTotals {
  std::atomic<std::uint64_t> connections{0};
  std::atomic<std::uint64_t> handshakes{0};
  std::atomic<std::uint64_t> open{0};
  std::atomic<std::uint64_t> requests{0};  // whole ones
  std::atomic<std::uint64_t> goaways_received{0};
  std::atomic<std::uint64_t> resets_received{0};  // RST_STREAM frames
  std::atomic<std::uint64_t> pings_received{0};   // without the acknowledgements
};

class H2Server {
 public:
  // Listens; nothing is answered before run(). Fails `invalid` for credentials that cannot be used,
  // `unavailable` when the address is taken. `handler` is called on the thread of run().
  [[nodiscard]] static Result<std::unique_ptr<H2Server>> listen(const ServerOptions& options,
                                                                Handler& handler);
  ~H2Server();
  H2Server(const H2Server&) = delete;
  H2Server& operator=(const H2Server&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] const ServerTotals& totals() const;
  void run();               // until stop()
  void stop();              // any thread; all connections are closed
  void kill_connections();  // any thread; TCP RST to every client, and the server goes on

 private:
  struct State;
  explicit H2Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sendonce::test
