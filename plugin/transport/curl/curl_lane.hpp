// Credential exchange and other rare calls: one HTTPS request to a full URL, by libcurl over
// HTTP/1.1, served by the same event loop.
//
// libcurl repeats a POST by itself when a reused connection dies under it. Its pre-request callback
// is called before each transmission: the second one is aborted, and "never called" is the only
// proof that nothing was sent.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "plugin/core/secret.hpp"
#include "plugin/transport/curl/curl_multi.hpp"
#include "plugin/transport/h2/session.hpp"
#include "plugin/transport/h2/tls.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

// Borrowed for start() only.
struct LaneOptions {
  const TrustStore& trust;
  const std::string& proxy;
  const Credential& proxy_credentials;
  Duration connect_timeout;
  AnswerLimits limits;
  bool insecure = false;  // plain http to loopback
};

class CurlLane {
 public:
  CurlLane(EventLoop& loop, const Clock& clock, std::vector<Completion>& ready);
  ~CurlLane();  // calls in flight end with their proven effect
  CurlLane(const CurlLane&) = delete;
  CurlLane& operator=(const CurlLane&) = delete;

  // False: too many in flight. A URL that is not allowed completes as not_sent, not_started.
  [[nodiscard]] bool start(Ticket ticket, HttpRequest&& request, Duration timeout,
                           const LaneOptions& options);
  [[nodiscard]] bool cancel(Ticket ticket);  // false: not ours
  [[nodiscard]] std::size_t open() const noexcept { return transfers_.size(); }

  [[nodiscard]] std::optional<MonoTime> due() const { return multi_.due(); }
  void on_time() { multi_.on_time(); }

 private:
  class Exchange;
  void finish(Exchange& exchange, CallResult&& result);

  static constexpr std::size_t kMaxOpen = 64;
  const Clock& clock_;
  std::vector<Completion>& ready_;
  CurlMulti multi_;
  std::vector<std::unique_ptr<Exchange>> transfers_;
};

}  // namespace sendonce
