// What a verdict leads to: pure decisions, no I/O, no clock. Laws 5, 6, 7, 8 and 12 live here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/schema.hpp"
#include "ledger/ledger.hpp"
#include "plugin/core/random.hpp"
#include "plugin/core/verdict.hpp"
#include "plugin/message/key.hpp"

namespace sendonce {

// A message class as the engine uses it: its configuration with names resolved.
struct ClassPolicy {
  ClassConfig config{};
  ScopeIndex scope{};
  KeyRecipe recipe{};
  std::optional<KeyRecipe> previous{};
  std::vector<std::pair<Channel, ProviderIndex>> routes{};

  [[nodiscard]] AmbiguityPolicy ambiguous(Channel channel) const;
};

// What to do with a claim that carries the doubt of earlier attempts.
struct ClaimVerdict {
  bool proceed = true;
  std::string reason{};  // otherwise: why the row ends as unknown
};
[[nodiscard]] ClaimVerdict judge_claim(const Claimed& claimed, AmbiguityPolicy policy,
                                       const RetryConfig& retry);

struct Decision {
  State state = State::waiting;
  Duration delay{0};  // with waiting: from now; already bounded by the deadline
  bool counted = true;
  bool dead_letter = false;
  std::string reason{};  // for the row, when it says more than the verdict's own
};

struct AttemptContext {
  Effect carried = Effect::not_sent;
  std::uint32_t attempts = 0;     // counted before this one
  bool provider_answered = true;  // false: the transport proved that nothing was sent
  Duration age{0};                // since the message was stored
  Duration until_deadline{0};
  AmbiguityPolicy policy = AmbiguityPolicy::give_up;
  std::optional<Duration> lag{};  // with `lookup`, of the provider; none: it cannot be asked
};

// The delay of attempt `attempts` + 1: exponential with full jitter, never under `at_least`.
[[nodiscard]] Duration backoff(const RetryConfig& retry, std::uint32_t attempts, Duration at_least,
                               Random& random);

[[nodiscard]] Decision decide(const Verdict& verdict, const AttemptContext& context,
                              const RetryConfig& retry, Random& random);

// A collapse template ("{template}:{recipient}") filled in; empty when the template is.
[[nodiscard]] std::string expand_collapse(std::string_view collapse, const Notification& note);

}  // namespace sendonce
