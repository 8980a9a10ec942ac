#include "plugin/pipeline/policy.hpp"

#include <algorithm>
#include <cmath>

namespace sendonce {
namespace {

constexpr Duration kRetryAfterMax = std::chrono::hours(1);  // longer waits become a hold

bool exhausted(const AttemptContext& context, const RetryConfig& retry) {
  return context.attempts + 1 >= retry.attempts || context.age >= retry.horizon;
}

// The row ends without a success: what earlier attempts may have caused decides how (law 6).
Decision end_without_success(const AttemptContext& context, bool dead_letter, std::string reason) {
  Decision d{.reason = std::move(reason)};
  d.state = context.carried == Effect::not_sent ? State::failed : State::unknown;
  d.dead_letter = dead_letter && d.state == State::failed;
  return d;
}

Decision wait(const AttemptContext& context, Duration delay, bool counted) {
  // The claim rule ends a row whose deadline has passed; nothing is gained by waiting longer.
  return {.state = State::waiting,
          .delay = std::clamp(delay, Duration::zero(),
                              std::max(context.until_deadline, Duration::zero())),
          .counted = counted};
}

Decision retry_or_end(const Verdict& verdict, const AttemptContext& context,
                      const RetryConfig& retry, Random& random) {
  if (context.provider_answered && exhausted(context, retry))
    return end_without_success(context, true, "attempts exhausted: " + verdict.reason);
  const Duration at_least = std::min(verdict.retry_after, kRetryAfterMax);
  return wait(context, backoff(retry, context.attempts, at_least, random),
              context.provider_answered);
}

// Law 6: after every attempt that may have sent, whatever its status, the class decides.
Decision decide_doubt(const Verdict& verdict, const AttemptContext& context,
                      const RetryConfig& retry, Random& random) {
  Decision unknown{.state = State::unknown};
  const Duration asked_for = std::min(verdict.retry_after, kRetryAfterMax);
  switch (context.policy) {
    case AmbiguityPolicy::give_up:
      return unknown;
    case AmbiguityPolicy::lookup:  // asked about even after its deadline, and when attempts are up
      if (!context.lag) return unknown;
      return {.state = State::waiting, .delay = std::max(*context.lag, asked_for), .counted = true};
    case AmbiguityPolicy::resend:
      if (verdict.receipt_missing) {
        unknown.reason = "answered without a receipt: " + verdict.reason;
        return unknown;
      }
      break;
    case AmbiguityPolicy::resend_with_key:
      break;
  }
  const Duration delay = backoff(retry, context.attempts, asked_for, random);
  if (exhausted(context, retry) || delay >= context.until_deadline) {
    unknown.reason = "attempts exhausted: " + verdict.reason;
    return unknown;
  }
  return wait(context, delay, true);
}

Decision decide_config(const Verdict& verdict, const AttemptContext& context,
                       const RetryConfig& retry, Random& random) {
  const bool held = verdict.scope == FaultScope::part || verdict.scope == FaultScope::provider;
  if (held) return wait(context, Duration::zero(), false);
  return retry_or_end(verdict, context, retry, random);
}

}  // namespace

AmbiguityPolicy ClassPolicy::ambiguous(Channel channel) const {
  const auto it = config.ambiguous.find(channel);
  return it == config.ambiguous.end() ? config.ambiguous_default : it->second;
}

ClaimVerdict judge_claim(const Claimed& claimed, AmbiguityPolicy policy, const RetryConfig& retry) {
  if (claimed.carried == Effect::not_sent) return {};
  if (policy == AmbiguityPolicy::give_up || policy == AmbiguityPolicy::lookup)
    return {.proceed = false, .reason = "an earlier attempt may have sent it"};
  if (policy == AmbiguityPolicy::resend && claimed.receipt_missing)
    return {.proceed = false, .reason = "an earlier answer came without its receipt"};
  if (claimed.attempts >= retry.attempts) return {.proceed = false, .reason = "attempts exhausted"};
  return {};
}

Duration backoff(const RetryConfig& retry, std::uint32_t attempts, Duration at_least,
                 Random& random) {
  const double grown = static_cast<double>(retry.first.count()) *
                       std::pow(retry.factor, static_cast<double>(std::min(attempts, 64U)));
  const double capped = std::min(grown, static_cast<double>(retry.cap.count()));
  const Duration jittered = random.jitter(Duration(static_cast<Duration::rep>(capped)));
  return std::max(jittered, at_least);
}

Decision decide(const Verdict& verdict, const AttemptContext& context, const RetryConfig& retry,
                Random& random) {
  if (verdict.effect == Effect::sent) return {.state = State::accepted};
  if (verdict.effect == Effect::maybe_sent) return decide_doubt(verdict, context, retry, random);
  switch (verdict.fault) {
    case Fault::device:
    case Fault::mismatch:
      return end_without_success(context, false, {});
    case Fault::request:
      return end_without_success(context, true, {});
    case Fault::auth:
      return wait(context, Duration::zero(), false);
    case Fault::config:
      return decide_config(verdict, context, retry, random);
    case Fault::throttle: {
      const Duration at_least = std::min(verdict.retry_after, kRetryAfterMax);
      return wait(context, backoff(retry, context.attempts + 1, at_least, random), false);
    }
    case Fault::none:
    case Fault::provider:
      return retry_or_end(verdict, context, retry, random);
  }
  SO_ASSERT(false);
}

std::string expand_collapse(std::string_view collapse, const Notification& note) {
  std::string out;
  while (!collapse.empty()) {
    const std::size_t open = collapse.find('{');
    out.append(collapse.substr(0, open));
    if (open == std::string_view::npos) break;
    const std::size_t close = collapse.find('}', open);
    SO_ASSERT(close != std::string_view::npos);  // the configuration was checked
    const std::string_view field = collapse.substr(open + 1, close - open - 1);
    if (field == "channel") out.append(name(note.channel));
    if (field == "event_id") out.append(note.event_id);
    if (field == "recipient") out.append(note.recipient);
    if (field == "template") out.append(note.template_id);
    if (field == "campaign_id") out.append(note.campaign_id);
    collapse.remove_prefix(close + 1);
  }
  return out;
}

}  // namespace sendonce
