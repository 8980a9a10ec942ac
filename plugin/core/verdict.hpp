// What the classifier makes of one attempt (docs/guarantees.md). Two independent axes, effect and
// fault, so that "an auth error purged my tokens" cannot be written by accident.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plugin/core/clock.hpp"

namespace sendonce {

// May the person have got it? A row's effect only ever rises.
enum class Effect : std::uint8_t { not_sent = 0, maybe_sent = 1, sent = 2 };

// Who must act.
enum class Fault : std::uint8_t {
  none = 0,
  device = 1,    // this destination is dead
  mismatch = 2,  // alive, but not for this sender, topic or environment
  auth = 3,      // our credential
  request = 4,   // this message can never be sent as it is
  config = 5,    // route, topic, project or account
  throttle = 6,
  provider = 7,
};

// How far the fault reaches: what a hold pauses.
enum class FaultScope : std::uint8_t { delivery, device, part, provider };

// The name people use for a verdict; also in `sendonce classify` and in events.
enum class VerdictClass : std::uint8_t {
  accepted = 0,
  retryable = 1,
  throttled = 2,
  token_terminal = 3,
  token_mismatch = 4,
  provider_auth = 5,
  payload_error = 6,
  config_error = 7,
  ambiguous = 8,
};

struct Verdict {
  VerdictClass name = VerdictClass::ambiguous;
  Effect effect = Effect::maybe_sent;  // the safe default is "it may be out there"
  Fault fault = Fault::provider;
  FaultScope scope = FaultScope::delivery;
  std::string part{};        // with scope `part`: "apns" in FCM's THIRD_PARTY_AUTH_ERROR
  std::string reason{};      // short, safe to print: the provider's code or our own word
  std::string message_id{};  // the provider's receipt
  Duration retry_after{0};   // 0: the provider named none
  std::optional<WallTime> invalid_since{};  // provider's time of a dead device
  bool receipt_missing = false;     // a 2xx without the receipt: law 6, resend acts as give-up
  bool refresh_credential = false;  // the credential is stale: get a new one once
  bool needs_proof = false;         // a device fault only if this credential has been accepted
  bool passing_if_proven = false;   // our fault, unless the same URL has worked before
  bool reconnect = false;           // retire the connection before the next attempt
  bool ignore_device = false;       // the delivery failed, but what is known of the device stays
};

// What needs_proof and passing_if_proven come to; only the engine knows.
// `proven`: a send with this credential, topic, environment and URL has been accepted before.
// Without it "bad token" may as well mean "wrong environment", so the token is kept:
// token_mismatch. With it an HTML 404 is the provider's own trouble and not our configuration:
// retryable.
[[nodiscard]] Verdict in_light_of(Verdict verdict, bool proven);

[[nodiscard]] std::string_view name(Effect effect);
[[nodiscard]] std::string_view name(Fault fault);
[[nodiscard]] std::string_view name(FaultScope scope);
[[nodiscard]] std::string_view name(VerdictClass verdict);

}  // namespace sendonce
