#include "classifiers/http/http_answers.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "classifiers/answer.hpp"
#include "classifiers/json_pointer.hpp"
#include "classifiers/json_tree.hpp"

namespace sendonce {
namespace {

using std::chrono::minutes, std::chrono::seconds;

constexpr std::size_t kSearched = 16'384;  // of a body, for text

struct Seen {
  const HttpAnswer& answer;
  std::optional<JsonTree> body{};
};

std::vector<const JsonTree*> json_at(const Seen& seen, std::string_view pointer) {
  return seen.body && !pointer.empty() ? at_pointer(*seen.body, pointer)
                                       : std::vector<const JsonTree*>{};
}

// Empty where no plain value stands.
std::string_view plain_text(const JsonTree& node) {
  const bool plain = !node.is(JsonTree::Type::array) && !node.is(JsonTree::Type::object) &&
                     !node.is(JsonTree::Type::null);
  return plain ? std::string_view(node.text) : std::string_view();
}

// The first of several.
std::string_view text_at(const Seen& seen, std::string_view pointer) {
  const auto found = json_at(seen, pointer);
  return found.empty() ? std::string_view() : plain_text(*found.front());
}

bool any_equal(const std::vector<std::string>& wanted, std::string_view text) {
  return std::ranges::any_of(wanted, [text](const std::string& w) { return w == text; });
}

bool any_within(const std::vector<std::string>& wanted, std::string_view text) {
  return std::ranges::any_of(
      wanted, [text](const std::string& w) { return text.find(w) != std::string_view::npos; });
}

bool status_fits(const AnswerRule& rule, int status) {
  return rule.status.empty() || std::ranges::any_of(rule.status, [status](const StatusRange& r) {
           return r.first <= status && status <= r.last;
         });
}

// Of several elements one is enough.
bool pointer_fits(const AnswerRule& rule, const Seen& seen) {
  if (rule.pointer.empty()) return true;
  return std::ranges::any_of(json_at(seen, rule.pointer), [&rule](const JsonTree* node) {
    const std::string_view text = plain_text(*node);
    return !node->is(JsonTree::Type::null) &&
           (rule.equals.empty() || any_equal(rule.equals, text)) &&
           (rule.contains.empty() || any_within(rule.contains, text));
  });
}

bool header_fits(const AnswerRule& rule, const HttpAnswer& answer) {
  if (rule.header.empty()) return true;
  const auto value = answer.headers.find(rule.header);
  return value && (rule.header_equals.empty() || any_equal(rule.header_equals, *value)) &&
         (rule.header_contains.empty() || any_within(rule.header_contains, *value));
}

bool fits(const AnswerRule& rule, const Seen& seen) {
  return status_fits(rule, seen.answer.status) && pointer_fits(rule, seen) &&
         header_fits(rule, seen.answer) &&
         (rule.text.empty() ||
          any_within(rule.text, std::string_view(seen.answer.body).substr(0, kSearched)));
}

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

std::string reason_of(const AnswerRule& rule, const Seen& seen) {
  if (!rule.reason.empty()) return rule.reason;
  std::string reason = "http_" + std::to_string(seen.answer.status);
  if (const std::string_view code = text_at(seen, rule.pointer); !code.empty())
    if (const std::string safe = safe_code(code); safe == code) reason.append(" ").append(safe);
  return reason;
}

std::optional<Duration> wait_at(const AnswerRule& rule, const Seen& seen) {
  const auto found = json_at(seen, rule.retry_pointer);
  const auto count = found.empty() ? std::nullopt : found.front()->integer();
  if (!count || *count < 0) return std::nullopt;
  return seconds(std::min<std::int64_t>(*count, seconds(std::chrono::hours(24 * 7)).count()));
}

void set_wait(Verdict& v, const AnswerRule& rule, const Seen& seen, WallTime now) {
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
std::string_view receipt_in(const HttpSpec& spec, const Seen& seen) {
  std::string_view receipt = text_at(seen, spec.receipt_pointer);
  if (receipt.empty() && !spec.receipt_header.empty())
    receipt = seen.answer.headers.find(spec.receipt_header).value_or("");
  return is_receipt(receipt) ? receipt : std::string_view();
}

bool wants_receipt(const HttpSpec& spec) {
  return !spec.receipt_pointer.empty() || !spec.receipt_header.empty();
}

bool is_success(int status) {
  return status >= 200 && status < 300;
}

Verdict accepted_with(std::string_view receipt) {
  Verdict v = judged(VerdictClass::accepted, FaultScope::delivery, "accepted");
  v.message_id = receipt;
  return v;
}

Verdict by_rule(const HttpSpec& spec, const AnswerRule& rule, const Seen& seen, WallTime now) {
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
  v.receipt_missing = v.effect == Effect::maybe_sent && is_success(seen.answer.status);
  v.refresh_credential =
      v.name == VerdictClass::provider_auth && spec.auth.type == HttpAuth::oauth2;
  set_wait(v, rule, seen, now);
  return v;
}

Verdict by_status(const HttpSpec& spec, const Seen& seen, WallTime now) {
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
  const Seen seen{answer, parse_json_tree(answer.body)};
  for (const AnswerRule& rule : spec.answers)
    if (fits(rule, seen)) return by_rule(spec, rule, seen, now);
  if (is_success(answer.status)) {
    if (const std::string_view receipt = receipt_in(spec, seen); !receipt.empty())
      return accepted_with(receipt);
  }
  return by_status(spec, seen, now);
}

}  // namespace sendonce
