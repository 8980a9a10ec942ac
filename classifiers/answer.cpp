#include "classifiers/answer.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "classifiers/http_date.hpp"
#include "plugin/core/assert.hpp"

namespace sendonce {
namespace {

using std::chrono::hours, std::chrono::minutes, std::chrono::seconds;

constexpr std::uint32_t kEnhanceYourCalm = 11;  // RFC 9113 7

Fault fault_of(VerdictClass verdict) {
  switch (verdict) {
    case VerdictClass::accepted:
      return Fault::none;
    case VerdictClass::retryable:
      return Fault::provider;
    case VerdictClass::throttled:
      return Fault::throttle;
    case VerdictClass::token_terminal:
      return Fault::device;
    case VerdictClass::token_mismatch:
      return Fault::mismatch;
    case VerdictClass::provider_auth:
      return Fault::auth;
    case VerdictClass::payload_error:
      return Fault::request;
    case VerdictClass::config_error:
      return Fault::config;
    case VerdictClass::ambiguous:
      return Fault::provider;
  }
  SO_ASSERT(false);
}

Effect effect_of(VerdictClass verdict) {
  if (verdict == VerdictClass::accepted) return Effect::sent;
  return verdict == VerdictClass::ambiguous ? Effect::maybe_sent : Effect::not_sent;
}

VerdictClass class_of(const CallFailure& failure) {
  const bool untouched = failure.effect == Effect::not_sent;
  switch (failure.cause) {
    case Cause::tls:
      return VerdictClass::config_error;
    case Cause::client_auth:
      return VerdictClass::provider_auth;
    case Cause::connect:
    case Cause::refused:
    case Cause::reset:
    case Cause::connection_lost:
    case Cause::timed_out:
    case Cause::cancelled:
    case Cause::oversized:
    case Cause::not_started:
      return untouched ? VerdictClass::retryable : VerdictClass::ambiguous;
  }
  SO_ASSERT(false);
}

std::string_view trimmed(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

Duration bounded(Duration wait) {
  return std::clamp<Duration>(wait, seconds(1), hours(24 * 7));
}

std::optional<Duration> wait_of(std::int64_t count) {
  if (count < 0) return std::nullopt;
  return bounded(seconds(std::min<std::int64_t>(count, seconds(hours(24 * 365)).count())));
}

Verdict judge_client_error(const HttpAnswer& answer, WallTime now, const std::string& reason) {
  switch (answer.status) {
    case 401:
      return judged(VerdictClass::provider_auth, FaultScope::provider, reason);
    case 403:
      return judged(is_html(answer.body) ? VerdictClass::config_error : VerdictClass::provider_auth,
                    FaultScope::provider, reason);
    case 404: {
      Verdict v = judged(VerdictClass::config_error, FaultScope::provider, reason);
      v.passing_if_proven = is_html(answer.body);
      return v;
    }
    case 405:
    case 407:
      return judged(VerdictClass::config_error, FaultScope::provider, reason);
    case 408:
      return judged(VerdictClass::ambiguous, FaultScope::delivery, reason);
    case 413:
      return judged(VerdictClass::payload_error, FaultScope::delivery, reason);
    case 421:    // nothing was processed: RFC 9110 15.5.20,
    case 425: {  // RFC 8470 5.2
      Verdict v = judged(VerdictClass::retryable, FaultScope::delivery, reason);
      v.reconnect = true;
      return v;
    }
    case 429: {
      Verdict v = judged(VerdictClass::throttled, FaultScope::provider, reason);
      set_retry_after(v, retry_after(answer.headers, now).value_or(minutes(1)));
      return v;
    }
    default:
      return judged(looks_like_json(answer.body) && answer.status != 410
                        ? VerdictClass::payload_error
                        : VerdictClass::config_error,
                    FaultScope::delivery, reason);
  }
}

}  // namespace

Verdict judged(VerdictClass verdict, FaultScope scope, std::string_view reason) {
  Verdict v;
  v.name = verdict;
  v.effect = effect_of(verdict);
  v.fault = fault_of(verdict);
  v.scope = scope;
  v.reason = reason;
  return v;
}

Verdict judge_failure(const CallFailure& failure) {
  std::string reason(name(failure.cause));
  if (!failure.text.empty()) reason.append(": ").append(failure.text);
  Verdict v = judged(class_of(failure), FaultScope::delivery, reason);
  v.effect = failure.effect == Effect::not_sent ? Effect::not_sent : Effect::maybe_sent;
  if (failure.h2_error == kEnhanceYourCalm) {
    v.name = VerdictClass::throttled;
    v.fault = Fault::throttle;
    v.reconnect = true;
  }
  if (v.fault == Fault::throttle || v.fault == Fault::config || v.fault == Fault::auth)
    v.scope = FaultScope::provider;
  // Our own doing says nothing about the provider's health.
  if (failure.cause == Cause::cancelled || failure.cause == Cause::not_started)
    v.fault = Fault::none;
  v.receipt_missing = v.effect == Effect::maybe_sent && failure.partial &&
                      failure.partial->status >= 200 && failure.partial->status < 300;
  return v;
}

bool may_have_acted(int status) {
  const bool elsewhere = status >= 300 && status < 400 && status != 307 && status != 308;
  return elsewhere || status == 408 || status >= 500;
}

Verdict judge_status(const HttpAnswer& answer, WallTime now) {
  const std::string reason = "http_" + std::to_string(answer.status);
  if (answer.status >= 200 && answer.status < 300) {
    Verdict v = judged(VerdictClass::ambiguous, FaultScope::delivery, reason + " without receipt");
    v.receipt_missing = true;
    return v;
  }
  if (answer.status >= 400 && answer.status < 500) return judge_client_error(answer, now, reason);
  if (answer.status >= 500 && answer.status < 600) {
    Verdict v = judged(VerdictClass::retryable, FaultScope::delivery, reason);
    v.effect = Effect::maybe_sent;
    if (const auto wait = retry_after(answer.headers, now)) set_retry_after(v, *wait);
    return v;
  }
  if (answer.status >= 300 && answer.status < 400)  // never followed
    return judged(VerdictClass::config_error, FaultScope::provider, reason);
  return judged(VerdictClass::ambiguous, FaultScope::delivery, reason);
}

std::optional<Duration> retry_after(const Headers& headers, WallTime now) {
  const auto value = headers.find("retry-after");
  if (!value) return std::nullopt;
  const std::string_view text = trimmed(*value);
  if (const auto count = whole_number(text)) return wait_of(*count);
  const auto at = parse_http_date(text);
  if (!at || *at < now) return std::nullopt;
  return bounded(*at - now);
}

std::optional<Duration> retry_in(std::string_view value, const Headers& headers, WallTime now) {
  constexpr std::int64_t kFirstTime = 1'000'000'000;  // as a wait it would be 31 years
  constexpr std::int64_t kLastTime = 8'000'000'000;   // in 2223; nanoseconds hold a little more
  const std::string_view text = trimmed(value);
  const auto count = whole_number(text);
  if (count && *count < kFirstTime) return wait_of(*count);
  if (count && *count > kLastTime) return std::nullopt;
  const auto at = count ? std::optional(WallTime(seconds(*count))) : parse_http_date(text);
  const WallTime theirs = now - clock_lead(headers, now).value_or(Duration{0});
  if (!at || *at < theirs) return std::nullopt;
  return bounded(*at - theirs);
}

void set_retry_after(Verdict& verdict, Duration wait) {
  verdict.retry_after = std::max<Duration>(wait, seconds(1));
  if (verdict.retry_after <= hours(1)) return;
  if (verdict.scope == FaultScope::delivery) verdict.scope = FaultScope::provider;
  if (verdict.scope == FaultScope::device) verdict.retry_after = hours(1);
}

std::optional<Duration> clock_lead(const Headers& headers, WallTime now) {
  const auto value = headers.find("date");
  if (!value) return std::nullopt;
  const auto theirs = parse_http_date(*value);
  if (!theirs) return std::nullopt;
  return now - *theirs;
}

std::string clock_remark(const Headers& headers, WallTime now) {
  const auto lead = clock_lead(headers, now);
  if (!lead || (*lead <= minutes(5) && *lead >= -minutes(5))) return {};
  const auto whole = std::chrono::duration_cast<seconds>(*lead).count();
  return ", our clock is " + std::to_string(whole < 0 ? -whole : whole) +
         (whole < 0 ? " s behind" : " s ahead of") + " the provider's";
}

bool is_html(std::string_view body) {
  return trimmed(body).starts_with('<');
}

bool looks_like_json(std::string_view body) {
  const std::string_view text = trimmed(body);
  return text.starts_with('{') || text.starts_with('[');
}

std::string safe_code(std::string_view code) {
  const bool good =
      !code.empty() && code.size() <= 64 && std::all_of(code.begin(), code.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-' || c == '.';
      });
  return good ? std::string(code) : "unreadable code";
}

bool is_receipt(std::string_view text) {
  return !text.empty() && text.size() <= 256 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace sendonce
