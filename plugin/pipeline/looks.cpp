#include "plugin/pipeline/looks.hpp"

#include <algorithm>
#include <chrono>

namespace sendonce {
namespace {

constexpr Duration kRetryAfterMax = std::chrono::hours(1);
// Nobody has asked for it for so long: its row has ended without us.
constexpr Duration kForgottenAfter = std::chrono::hours(2);

}  // namespace

LookVerdict judge_doubt(const Claimed& claimed, const LookState& state, const LookContext& context,
                        const RetryConfig& retry) {
  const auto give_up = [](std::string reason) {
    return LookVerdict{.step = LookStep::give_up, .reason = std::move(reason)};
  };
  if (context.wall >= claimed.created + context.window)
    return give_up("the provider may have forgotten it");
  if (state.absent < kLooks) {
    if (context.mono < state.next)
      return {.step = LookStep::wait, .wait = state.next - context.mono, .reason = {}};
    return {.step = LookStep::look, .wait = Duration{0}, .reason = {}};
  }
  if (claimed.receipt_missing) return give_up("an earlier answer came without its receipt");
  if (claimed.attempts >= retry.attempts) return give_up("attempts exhausted");
  if (context.wall >= claimed.deadline) return give_up("not found, and too late to be sent");
  return {.step = LookStep::send, .wait = Duration{0}, .reason = {}};
}

Decision decide_look(const LookAnswer& answer, LookState& state, const LookContext& context,
                     const RetryConfig& retry, Random& random) {
  Decision d{.state = State::waiting, .counted = false};
  switch (answer.look) {
    case Look::found:
      d.state = State::accepted;
      return d;
    case Look::absent:
      ++state.absent;
      state.undecided = 0;
      d.delay = state.absent < kLooks ? context.lag : Duration{0};
      break;
    case Look::undecided:
      d.delay =
          backoff(retry, state.undecided++, std::min(answer.retry_after, kRetryAfterMax), random);
      break;
  }
  state.next = context.mono + d.delay;
  return d;
}

LookState& Looks::doubt(const Key& key, MonoTime now, Duration wait) {
  make_room(now);
  return states_[key] = LookState{.next = now + std::min(wait, kRetryAfterMax)};
}

LookState& Looks::of(const Key& key, MonoTime now, Duration lag) {
  const auto found = states_.find(key);
  return found != states_.end() ? found->second : doubt(key, now, lag);
}

void Looks::make_room(MonoTime now) {
  if (states_.size() < kMax) return;
  std::erase_if(states_, [now](const auto& s) { return s.second.next + kForgottenAfter < now; });
  if (states_.size() >= kMax) states_.erase(states_.begin());
}

}  // namespace sendonce
