// One HTTPS request to a full URL, by libcurl over HTTP/1.1, served by the same event loop:
// credential exchange, and deliveries to endpoints that do not speak HTTP/2.
//
// libcurl repeats a POST by itself when a reused connection dies under it. Its pre-request callback
// is called before each transmission: the second one is aborted, and "never called" is the only
// proof that nothing was sent. What dies on a reused connection is therefore in doubt; one that has
// idled for two seconds, which is when the first servers close theirs, is not used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plugin/core/secret.hpp"
#include "plugin/transport/answer_limits.hpp"
#include "plugin/transport/curl/curl_multi.hpp"
#include "plugin/transport/tls.hpp"
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

enum class Connections : std::uint8_t {
  used_once,   // rare calls of many providers
  kept_alive,  // of one provider: libcurl does not know whose CAs verified a connection
};

class CurlLane {
 public:
  CurlLane(EventLoop& loop, const Clock& clock, std::vector<Completion>& ready,
           Connections connections, std::size_t max_open = 64);
  ~CurlLane();  // calls in flight end with their proven effect
  CurlLane(const CurlLane&) = delete;
  CurlLane& operator=(const CurlLane&) = delete;

  // False: too many in flight. A URL that is not allowed completes as not_sent, not_started.
  [[nodiscard]] bool start(Ticket ticket, ProviderIndex provider, HttpRequest&& request,
                           Duration timeout, const LaneOptions& options);
  [[nodiscard]] bool cancel(Ticket ticket);  // false: not ours
  [[nodiscard]] std::size_t open() const noexcept { return transfers_.size(); }
  [[nodiscard]] std::size_t room() const noexcept { return max_open_ - transfers_.size(); }

  [[nodiscard]] std::optional<MonoTime> due() const { return multi_.due(); }
  void on_time() { multi_.on_time(); }

 private:
  class Exchange;
  void finish(Exchange& exchange, CallResult&& result);
  [[nodiscard]] bool is_late(const HttpRequest& request) const;

  const Clock& clock_;
  std::vector<Completion>& ready_;
  const bool keep_alive_;
  const std::size_t max_open_;
  CurlMulti multi_;
  std::vector<std::unique_ptr<Exchange>> transfers_;
};

}  // namespace sendonce
