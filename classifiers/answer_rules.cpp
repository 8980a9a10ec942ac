#include "classifiers/answer_rules.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "classifiers/answer.hpp"

namespace sendonce {
namespace {

using std::chrono::minutes, std::chrono::seconds;

FaultScope usual_scope(VerdictClass verdict) {
  switch (verdict) {
    case VerdictClass::token_terminal:
    case VerdictClass::token_mismatch:
      return FaultScope::device;
    case VerdictClass::throttled:
    case VerdictClass::provider_auth:
    case VerdictClass::config_error:
      return FaultScope::provider;
    case VerdictClass::accepted:
    case VerdictClass::retryable:
    case VerdictClass::payload_error:
    case VerdictClass::ambiguous:
      break;
  }
  return FaultScope::delivery;
}

std::string reason_of(const AnswerRule& rule, const SeenAnswer& seen) {
  if (!rule.reason.empty()) return rule.reason;
  std::string reason = "http_" + std::to_string(seen.answer.status);
  if (const std::string_view code = seen.text_at(rule.pointer); !code.empty())
    if (const std::string safe = safe_code(code); safe == code) reason.append(" ").append(safe);
  return reason;
}

std::optional<Duration> wait_at(const AnswerRule& rule, const SeenAnswer& seen) {
  const auto found = seen.at(rule.retry_pointer);
  const auto count = found.empty() ? std::nullopt : found.front()->integer();
  if (!count || *count < 0) return std::nullopt;
  return seconds(std::min<std::int64_t>(*count, seconds(std::chrono::hours(24 * 7)).count()));
}

void set_wait(Verdict& v, const AnswerRule& rule, const SeenAnswer& seen, WallTime now) {
  const bool waits = v.name == VerdictClass::throttled || v.name == VerdictClass::retryable ||
                     v.name == VerdictClass::ambiguous;
  if (!waits) return;
  auto wait = retry_after(seen.answer.headers, now);
  if (!wait) wait = wait_at(rule, seen);
  if (!wait && !rule.retry_header.empty())
    if (const auto value = seen.answer.headers.find(rule.retry_header))
      wait = retry_in(*value, seen.answer.headers, now);
  if (!wait && rule.retry_after > Duration{0}) wait = rule.retry_after;
  if (!wait && v.name == VerdictClass::throttled) wait = minutes(1);
  if (wait) set_retry_after(v, *wait);
}

}  // namespace

const AnswerRule* first_match(const std::vector<AnswerRule>& rules, const SeenAnswer& seen) {
  const auto found =
      std::ranges::find_if(rules, [&seen](const AnswerRule& rule) { return fits(rule, seen); });
  return found == rules.end() ? nullptr : &*found;
}

Verdict verdict_of(const AnswerRule& rule, const SeenAnswer& seen, WallTime now) {
  const int status = seen.answer.status;
  const bool of_the_device =
      rule.verdict == VerdictClass::token_terminal || rule.verdict == VerdictClass::token_mismatch;
  // Whoever may have sent it does not say in the same breath that nobody is there.
  const VerdictClass verdict =
      of_the_device && may_have_acted(status) ? VerdictClass::ambiguous : rule.verdict;
  const bool as_written = verdict == rule.verdict;
  Verdict v = judged(verdict, as_written && rule.scope ? *rule.scope : usual_scope(verdict),
                     reason_of(rule, seen));
  // "Try again" does not say that nothing was done; a line must say so.
  if (v.name == VerdictClass::retryable || may_have_acted(status)) v.effect = Effect::maybe_sent;
  if (rule.effect && as_written) v.effect = *rule.effect;
  v.receipt_missing = v.effect == Effect::maybe_sent && seen.is_success();
  set_wait(v, rule, seen, now);
  return v;
}

Verdict amended(const std::vector<AnswerRule>& rules, const CallResult& result, Verdict known,
                WallTime now) {
  const auto* answer = std::get_if<HttpAnswer>(&result);
  if (answer == nullptr || known.name == VerdictClass::accepted || rules.empty()) return known;
  const SeenAnswer seen(*answer);
  const AnswerRule* rule = first_match(rules, seen);
  if (rule == nullptr || rule->verdict == VerdictClass::accepted) return known;
  Verdict v = verdict_of(*rule, seen, now);
  v.needs_proof = v.name == VerdictClass::token_terminal;
  v.refresh_credential = v.name == VerdictClass::provider_auth && known.refresh_credential;
  v.reconnect = known.reconnect;
  v.ignore_device = known.ignore_device;
  v.invalid_since = known.invalid_since;
  return v;
}

}  // namespace sendonce
