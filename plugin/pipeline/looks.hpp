// The policy `lookup` (law 6): a delivery in doubt waits its provider's lag, is asked about twice,
// and only then decided. Pure state and decisions, no I/O, no clock.
//
// What the looks have said is kept in memory alone. Looks belong to the monotonic clock, so that
// no step of the wall clock brings two of them together, and a process that starts begins anew:
// that costs a lag and can never be wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "classifiers/provider.hpp"
#include "config/schema.hpp"
#include "ledger/ledger.hpp"
#include "plugin/core/look.hpp"
#include "plugin/pipeline/policy.hpp"

namespace sendonce {

// `absent` so often in a row, a lag apart, that the delivery is taken for not sent.
inline constexpr std::uint32_t kLooks = 2;

// Since the latest call that may have sent it.
struct LookState {
  std::uint32_t absent = 0;
  std::uint32_t undecided = 0;  // in a row
  MonoTime next{};              // no look before
};

struct LookContext {
  MonoTime mono{};
  WallTime wall{};
  Duration lag{};     // of the provider
  Duration window{};  // for so long after its first call the provider can find it
};

enum class LookStep : std::uint8_t { look, wait, send, give_up };
struct LookVerdict {
  LookStep step = LookStep::give_up;
  Duration wait{0};
  std::string reason{};  // with give_up
};
// What follows a claim that carries doubt.
[[nodiscard]] LookVerdict judge_doubt(const Claimed& claimed, const LookState& state,
                                      const LookContext& context, const RetryConfig& retry);

// What follows the answer to a look; `state` takes note of it.
[[nodiscard]] Decision decide_look(const LookAnswer& answer, LookState& state,
                                   const LookContext& context, const RetryConfig& retry,
                                   Random& random);

// By delivery key. Bounded: what does not fit is forgotten and looked for anew.
class Looks {
 public:
  static constexpr std::size_t kMax = 100'000;

  // It may have been sent, as is known since now: looks of before say nothing. The answer may have
  // asked for a longer wait than the lag.
  LookState& doubt(const Key& key, MonoTime now, Duration wait);
  // The same, unless that is known already.
  LookState& of(const Key& key, MonoTime now, Duration lag);
  void forget(const Key& key) { states_.erase(key); }
  [[nodiscard]] std::size_t size() const { return states_.size(); }

 private:
  void make_room(MonoTime now);

  std::map<Key, LookState> states_{};
};

}  // namespace sendonce
