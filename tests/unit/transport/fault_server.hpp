// An HTTP/2 server over TLS that plays faults: the path of a request names the fault. It keeps a
// witness of what really arrived, so that a test can hold a claim of "not sent" against it.
//
//   /ok /silent /refuse /refuse-before-end /103-refuse /calm /internal /no-error /h1-required
//   /rst-before-end /early-413 /early-413-no-rst /early-200-rst /100-rst /100-200 /200-rst
//   /200-close /die /close /goaway-below /goaway-cover-close /goaway-cover-ok /goaway-calm-0
//   /goaway-notice /header-cut /body-cut /big /many-headers /long-header /status/NNN
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace sendonce::test {

struct FaultOptions {
  std::string identity = "server";  // of Pki
  bool wants_client = false;        // a client certificate of our CA
  std::string alpn = "h2";          // "h2", "http/1.1" (chosen unasked), "none", "alert"
  bool tls12 = false;
  std::uint32_t max_streams = 100;
  std::uint32_t raise_to = 0;    // MAX_CONCURRENT_STREAMS after the first answer; 0: no change
  std::uint32_t window = 65535;  // SETTINGS_INITIAL_WINDOW_SIZE
  std::int32_t connection_window = 65535;
  bool no_window_update = false;  // what was received stays charged to the connection
  bool mute = false;              // never sends a byte of HTTP/2
  bool hang = false;              // accepts TCP and never speaks
  bool deaf = false;              // stops reading once its SETTINGS are out, until listen_again()
  bool close_after_tls = false;
  int receive_buffer = 0;
};

struct Witness {
  bool headers = false;
  bool end_stream = false;
  std::size_t body = 0;
  bool given_to_app = false;  // acted on as a request
  int times = 0;              // HEADERS seen with this ticket
};

struct FaultTotals {
  int accepted = 0;
  int handshakes = 0;
  int resumed = 0;
  int with_client_certificate = 0;
  int goaways = 0;
  int resets = 0;
  int pings = 0;
  std::size_t plaintext = 0;
  std::size_t most_streams = 0;  // open at once on one connection
};

class FaultServer {
 public:
  explicit FaultServer(FaultOptions options = {});
  ~FaultServer();
  FaultServer(const FaultServer&) = delete;
  FaultServer& operator=(const FaultServer&) = delete;

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::map<std::string, Witness> seen() const;
  [[nodiscard]] Witness seen(std::uint64_t ticket) const;
  [[nodiscard]] std::map<std::string, std::string> headers_of(std::uint64_t ticket) const;
  [[nodiscard]] FaultTotals totals() const;
  [[nodiscard]] std::size_t connections() const;

  // Each returns when it has been done, on all connections.
  void kill();                          // TCP reset
  void close();                         // FIN
  void answer_all(const char* status);  // every stream that is still silent
  void goaway(std::int32_t last, std::uint32_t error);
  void allow_streams(std::uint32_t count);
  void listen_again();
  void refuse_connections();  // new ones, from now on
  void stop_answering_pings();

 private:
  class Peer;
  void run();
  void accept_all();
  void on_all(std::function<void(Peer&)> what);

  FaultOptions options_;
  void* tls_ = nullptr;  // SSL_CTX
  int listen_ = -1;
  int wake_ = -1;
  int port_ = 0;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> refusing_{false};
  mutable std::mutex mutex_{};
  std::condition_variable done_{};
  std::vector<std::function<void(Peer&)>> orders_{};
  std::uint64_t ordered_ = 0;
  std::uint64_t obeyed_ = 0;
  std::map<std::string, Witness> seen_{};
  std::map<std::string, std::map<std::string, std::string>> headers_{};
  FaultTotals totals_{};
  std::size_t open_peers_ = 0;
  std::thread thread_{};
};

}  // namespace sendonce::test
