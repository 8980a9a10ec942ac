#include "classifiers/http/http_answers.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "classifiers/answer.hpp"
#include "classifiers/http/http_match.hpp"

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
  if (!wait && rule.retry_after > Duration{0}) wait = rule.retry_after;
  if (!wait && v.name == VerdictClass::throttled) wait = minutes(1);
  if (wait) set_retry_after(v, *wait);
}

// The receipt; empty: there is none, or none is expected.
std::string_view receipt_in(const HttpSpec& spec, const SeenAnswer& seen) {
  std::string_view receipt = seen.text_at(spec.receipt_pointer);
  if (receipt.empty() && !spec.receipt_header.empty())
    receipt = seen.answer.headers.find(spec.receipt_header).value_or("");
  return is_receipt(receipt) ? receipt : std::string_view();
}

bool wants_receipt(const HttpSpec& spec) {
  return !spec.receipt_pointer.empty() || !spec.receipt_header.empty();
}

Verdict accepted_with(std::string_view receipt) {
  Verdict v = judged(VerdictClass::accepted, FaultScope::delivery, "accepted");
  v.message_id = receipt;
  return v;
}

Verdict by_rule(const HttpSpec& spec, const AnswerRule& rule, const SeenAnswer& seen,
                WallTime now) {
  if (rule.verdict == VerdictClass::accepted) {
    const std::string_view receipt = receipt_in(spec, seen);
    if (receipt.empty() && wants_receipt(spec)) return judge_status(seen.answer, now);
    return accepted_with(receipt);
  }
  Verdict v =
      judged(rule.verdict, rule.scope.value_or(usual_scope(rule.verdict)), reason_of(rule, seen));
  // "Try again" does not say that nothing was done; a line must say so.
  if (v.name == VerdictClass::retryable || may_have_acted(seen.answer.status))
    v.effect = Effect::maybe_sent;
  if (rule.effect) v.effect = *rule.effect;
  v.receipt_missing = v.effect == Effect::maybe_sent && seen.is_success();
  v.refresh_credential =
      v.name == VerdictClass::provider_auth && spec.auth.type == HttpAuth::oauth2;
  set_wait(v, rule, seen, now);
  return v;
}

Verdict by_status(const HttpSpec& spec, const SeenAnswer& seen, WallTime now) {
  Verdict v = judge_status(seen.answer, now);
  const bool server_error = seen.answer.status >= 500 && seen.answer.status < 600;
  if (server_error && spec.idempotency.header.empty()) v.name = VerdictClass::ambiguous;
  if (may_have_acted(seen.answer.status)) v.effect = Effect::maybe_sent;
  v.refresh_credential = seen.answer.status == 401 && spec.auth.type == HttpAuth::oauth2;
  return v;
}

}  // namespace

Verdict judge_http(const HttpSpec& spec, const CallResult& result, WallTime now) {
  if (const auto* failure = std::get_if<CallFailure>(&result)) return judge_failure(*failure);
  const auto& answer = std::get<HttpAnswer>(result);
  const SeenAnswer seen(answer);
  for (const AnswerRule& rule : spec.answers)
    if (fits(rule, seen)) return by_rule(spec, rule, seen, now);
  if (seen.is_success()) {
    if (const std::string_view receipt = receipt_in(spec, seen); !receipt.empty())
      return accepted_with(receipt);
  }
  return by_status(spec, seen, now);
}

}  // namespace sendonce
