// A client that shows everything a server does on a connection: frames, resets, how it ended. It
// repeats nothing and hides nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugin/core/error.hpp"
#include "tests/support/certificates.hpp"

namespace sendonce::test {

struct RawAnswer {
  std::vector<int> interim{};  // 1xx
  int status = 0;              // 0: none came
  std::map<std::string, std::string> headers{};
  std::string body{};
  bool whole = false;                          // END_STREAM came
  std::optional<std::uint32_t> closed_with{};  // the error code, once the stream is closed

  [[nodiscard]] std::string header(const std::string& name) const {
    const auto at = headers.find(name);
    return at == headers.end() ? std::string() : at->second;
  }
};

struct RawGoAway {
  std::int32_t last = 0;
  std::uint32_t code = 0;
  std::string debug{};
};

enum class Closure : std::uint8_t {
  open,
  notified,  // close_notify
  eof,       // FIN without close_notify
  reset,     // TCP RST
};

struct RawClientOptions {
  std::string ca_pem{};
  std::string host = "localhost";  // checked against the certificate
  Identity identity{};             // of the client; empty: none
  bool h2 = true;                  // false: HTTP/1.1, see exchange_h1()
};

using RawHeaders = std::vector<std::pair<std::string, std::string>>;

// One thread. SIGPIPE is blocked for it.
class RawClient {
 public:
  // Connects to 127.0.0.1:port and finishes the handshake; blocks for at most 10 s. Fails
  // `unavailable` with OpenSSL's reason.
  [[nodiscard]] static Result<std::unique_ptr<RawClient>> connect(std::uint16_t port,
                                                                  const RawClientOptions& options);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // Queues a request; run() sends it. With `whole` false no END_STREAM follows the body.
  std::int32_t submit(std::string_view method, std::string_view path, const RawHeaders& headers,
                      std::string_view body, bool whole = true);
  // Sends and receives until the condition holds (true), or until the deadline or the end of the
  // connection (false, unless it holds then).
  bool run(const std::function<bool()>& until,
           std::chrono::milliseconds within = std::chrono::seconds(10));
  // submit, and run until the stream is closed or the connection has ended.
  const RawAnswer& request(std::string_view method, std::string_view path,
                           const RawHeaders& headers, std::string_view body);
  // Writes the bytes and reads until the peer closes, or until `enough` is in what came.
  std::string exchange_h1(std::string_view bytes, std::string_view enough = {});

  [[nodiscard]] const RawAnswer& answer(std::int32_t stream) const;
  [[nodiscard]] const std::vector<RawGoAway>& goaways() const;
  [[nodiscard]] std::uint32_t max_concurrent_streams() const;  // as the server's SETTINGS say
  [[nodiscard]] std::size_t settings_received() const;
  [[nodiscard]] Closure closure() const;

 private:
  struct State;
  explicit RawClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sendonce::test
