// A push service (RFC 8030) and the browser behind it: checks the identification of the sender (RFC
// 8292), reads what was encrypted for its one throw-away subscription (RFC 8291), and answers as
// the standard says. Any subscription below /push/ is alive, until a script says otherwise.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/core/clock.hpp"
#include "tests/support/http_message.hpp"
#include "tests/support/jwt.hpp"
#include "tests/support/push_receiver.hpp"
#include "tests/support/script.hpp"

namespace sendonce::test {

struct WebPushConfig {
  std::string key_pem{};     // of VAPID, public or private
  std::string public_key{};  // the same, as the header has it: 65 octets in base64url
  // Of the one browser, so that it survives a restart. Empty: made at the start.
  std::string browser_key{};
  std::string browser_auth{};
};

// A message as the browser got it.
struct PushSeen {
  std::string subscription{};  // the last part of its path
  std::string text{};
  std::string topic{};
  std::string urgency{};
  std::int64_t ttl = 0;
};

// judge() and the writers on the server's thread; the rest on any.
class FakeWebPush {
 public:
  // Fails `invalid` when the key is none. `origins`: what `aud` may be.
  [[nodiscard]] static Result<std::unique_ptr<FakeWebPush>> make(WebPushConfig config,
                                                                 std::vector<std::string> origins);

  [[nodiscard]] static std::string_view subscription_of(std::string_view path);
  struct Judged {
    int status = 201;
    std::string_view reason{};  // not empty: refused
    PushSeen seen{};
    std::string nid{};
  };
  [[nodiscard]] Judged judge(const Request& request) const;
  // Takes the message over.
  void write_accepted(const Request& request, Judged&& judged, Reply& reply);
  static void write_refused(const Judged& judged, Reply& reply);
  static void write_scripted(const Action& action, Reply& reply);

  [[nodiscard]] const PushReceiver& browser() const { return browser_; }
  [[nodiscard]] std::vector<PushSeen> seen() const;  // the latest 1000

 private:
  FakeWebPush(WebPushConfig config, std::vector<std::string> origins, PushReceiver browser,
              std::unique_ptr<JwtVerifier> verifier);
  [[nodiscard]] std::string_view credential_fault(const Request& request) const;

  WebPushConfig config_;
  std::vector<std::string> origins_;
  PushReceiver browser_;
  std::unique_ptr<JwtVerifier> verifier_;
  std::uint64_t taken_ = 0;
  mutable std::mutex mutex_{};
  std::deque<PushSeen> seen_{};
};

}  // namespace sendonce::test
