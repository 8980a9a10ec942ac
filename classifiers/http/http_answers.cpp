#include "classifiers/http/http_answers.hpp"

#include <string_view>

#include "classifiers/answer.hpp"
#include "classifiers/answer_rules.hpp"

namespace sendonce {
namespace {

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
  Verdict v = verdict_of(rule, seen, now);
  v.refresh_credential =
      v.name == VerdictClass::provider_auth && spec.auth.type == HttpAuth::oauth2;
  // A token of another app looks as dead as one that is, and an account that is new, or must not
  // send there, has been told that a good number is none (Twilio 21211).
  v.needs_proof = v.name == VerdictClass::token_terminal;
  return v;
}

// Some text, anywhere, whatever the status: a body that repeats the message has any text. It says
// nothing against a receipt.
bool is_loose(const AnswerRule& rule) {
  return rule.status.empty() && rule.pointer.empty() && rule.header.empty();
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
  const AnswerRule* rule = first_match(spec.answers, seen);
  const std::string_view receipt = seen.is_success() ? receipt_in(spec, seen) : std::string_view();
  if (!receipt.empty() && (rule == nullptr || is_loose(*rule))) return accepted_with(receipt);
  return rule != nullptr ? by_rule(spec, *rule, seen, now) : by_status(spec, seen, now);
}

}  // namespace sendonce
