#include "classifiers/access_token.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "classifiers/answer.hpp"
#include "classifiers/json_tree.hpp"

namespace sendonce {
namespace {

using std::chrono::hours, std::chrono::minutes, std::chrono::seconds;

constexpr Duration kRenewBefore = minutes(5);
constexpr Duration kLastUse = seconds(30);  // a token this close to its end may die on the way
constexpr Duration kFirstWait = seconds(5);
constexpr Duration kLongestWait = minutes(1);
// Not more often because of refusals: a revoked account is no reason to ask all the time.
constexpr Duration kRefusalsApart = minutes(2);

struct Token {
  std::string text{};
  Duration life{};
};

std::optional<Token> token_in(const CallResult& result) {
  const auto* answer = std::get_if<HttpAnswer>(&result);
  if (answer == nullptr || answer->status != 200) return std::nullopt;
  const auto body = parse_json_tree(answer->body);
  if (!body) return std::nullopt;
  const std::string_view text = body->string_at("access_token");
  const bool clean =
      std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (text.empty() || text.size() > 16'384 || !clean) return std::nullopt;
  const JsonTree* life = body->find("expires_in");
  const std::int64_t named = life == nullptr ? 3600 : life->integer().value_or(0);
  if (named <= 0) return std::nullopt;
  return Token{std::string(text), seconds(std::min<std::int64_t>(named, 24 * 3600))};
}

// A 4xx: the assertion was refused, unless the address is wrong or the endpoint is busy.
Verdict judge_refusal(const HttpAnswer& answer, WallTime now) {
  const auto body = parse_json_tree(answer.body);
  const std::string_view code = body ? body->string_at("error") : std::string_view();
  const std::string_view text =
      body ? body->string_at("error_description") : std::string_view(answer.body);
  if (code.empty() && (is_html(answer.body) || answer.status == 404 || answer.status == 405))
    return judged(VerdictClass::config_error, FaultScope::provider,
                  "token endpoint: http_" + std::to_string(answer.status));
  std::string reason = "token endpoint: ";
  if (!code.empty())
    reason.append(safe_code(code));
  else if (answer.body.find("invalid_grant") != std::string::npos)
    reason.append("invalid_grant");
  else
    reason.append("http_").append(std::to_string(answer.status));
  if (text.find("short-lived token") != std::string_view::npos)
    reason.append(", check this machine's clock");
  else if (text.find("Invalid JWT Signature") != std::string_view::npos)
    reason.append(", the key is revoked or not the one of client_email");
  reason.append(clock_remark(answer.headers, now));
  return judged(VerdictClass::provider_auth, FaultScope::provider, reason);
}

}  // namespace

Verdict judge_oauth(const CallResult& result, WallTime now) {
  if (token_in(result)) return judged(VerdictClass::accepted, FaultScope::provider, "token");
  Verdict v;
  if (const auto* failure = std::get_if<CallFailure>(&result)) {
    v = judge_failure(*failure);
    v.reason.insert(0, "token endpoint: ");
  } else {
    const auto& answer = std::get<HttpAnswer>(result);
    const bool refusal = answer.status >= 400 && answer.status < 500 && answer.status != 408 &&
                         answer.status != 421 && answer.status != 429;
    if (refusal) return judge_refusal(answer, now);
    v = judge_status(answer, now);
    v.reason.insert(0, "token endpoint: ");
  }
  if (v.name == VerdictClass::ambiguous) v.name = VerdictClass::retryable;
  v.effect = Effect::not_sent;
  v.receipt_missing = false;
  v.scope = FaultScope::provider;
  return v;
}

bool AccessToken::ready(WallTime now) const {
  return !authorization_.empty() && now + std::min(kLastUse, life_ / 8) < ends_;
}

bool AccessToken::due(WallTime now) const {
  // A token that seems to live for more than a day was fetched under another clock.
  const bool due = authorization_.empty() || refused_ ||
                   now + std::min(kRenewBefore, life_ / 4) >= ends_ || ends_ - now > hours(24);
  if (!due) return false;
  // More than was named is left only when the clock was set back.
  return !not_before_ || now >= *not_before_ || *not_before_ - now > wait_;
}

Verdict AccessToken::accept(const CallResult& result, WallTime now) {
  Verdict v = judge_oauth(result, now);
  if (const auto token = token_in(result)) {
    authorization_ = "Bearer " + token->text;
    life_ = token->life;
    ends_ = now + life_;
    fetched_ = now;
    ++fetched_tokens_;
    after_refusal_ = std::exchange(refused_, false);
    failures_ = 0;
    not_before_.reset();
    return v;
  }
  const Duration backoff =
      std::min<Duration>(kFirstWait * (1U << std::min(failures_, 4U)), kLongestWait);
  failures_ += 1;
  wait_ = std::clamp<Duration>(v.retry_after, backoff, hours(1));
  not_before_ = now + wait_;
  return v;
}

void AccessToken::refused(WallTime now) {
  // A second refusal right after a new token is about the account, or an answer still underway to a
  // call that carried the token before. Later it is news. Before: the clock was set back.
  const bool fresh = now >= fetched_ && now - fetched_ < kRefusalsApart;
  if (after_refusal_ && fresh && ready(now)) return;
  refused_ = true;
}

}  // namespace sendonce
