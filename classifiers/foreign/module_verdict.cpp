#include "classifiers/foreign/module_verdict.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "classifiers/answer.hpp"
#include "classifiers/foreign/module_table.hpp"

namespace sendonce {
namespace {

using std::chrono::hours, std::chrono::milliseconds, std::chrono::minutes;

constexpr std::size_t kReceiptMax = 256;
constexpr std::size_t kReasonMax = 64;
constexpr Duration kWaitMax = hours(24 * 7);

// By the values of the interface, from 1.
constexpr std::array kVerdicts{
    VerdictClass::accepted,       VerdictClass::retryable,      VerdictClass::throttled,
    VerdictClass::token_terminal, VerdictClass::token_mismatch, VerdictClass::provider_auth,
    VerdictClass::payload_error,  VerdictClass::config_error,   VerdictClass::ambiguous};
constexpr std::array kEffects{Effect::not_sent, Effect::maybe_sent, Effect::sent};
constexpr std::array kFaults{Fault::none,    Fault::device, Fault::mismatch, Fault::auth,
                             Fault::request, Fault::config, Fault::throttle, Fault::provider};
constexpr std::array kScopes{FaultScope::delivery, FaultScope::device, FaultScope::part,
                             FaultScope::provider};

template <class Enums, class Enum>
void read_enum(std::optional<Enum>& out, std::string_view& nonsense, std::string_view member,
               std::int32_t value, const Enums& all) {
  if (value == 0) return;
  if (value < 0 || static_cast<std::size_t>(value) > all.size())
    nonsense = member;
  else
    out = all.at(static_cast<std::size_t>(value) - 1);
}

// A short word.
bool is_word(std::string_view text) {
  return text.size() <= kReasonMax && safe_code(text) == text;
}

void read_text(std::string& out, std::string_view& unfit, std::string_view member,
               const sendonce_str& from, bool (*fits)(std::string_view),
               std::span<const std::string_view> secrets) {
  if (from.size == 0) return;
  const auto text = text_of(from, kReceiptMax);
  if (!text || !fits(*text) || tells_a_secret(*text, secrets))
    unfit = member;
  else
    out = *text;
}

bool is_success(int status) {
  return status >= 200 && status < 300;
}

bool is_of_a_device(VerdictClass verdict) {
  return verdict == VerdictClass::token_terminal || verdict == VerdictClass::token_mismatch;
}

FaultScope scope_of(const ModuleSaid& said) {
  switch (*said.verdict) {
    case VerdictClass::token_terminal:
    case VerdictClass::token_mismatch:
      return FaultScope::device;
    case VerdictClass::accepted:
    case VerdictClass::payload_error:
      return FaultScope::delivery;
    case VerdictClass::throttled:
    case VerdictClass::provider_auth:
    case VerdictClass::config_error:
      if (!said.scope || (said.scope == FaultScope::part && said.part.empty()))
        return FaultScope::provider;
      return *said.scope;
    case VerdictClass::retryable:
    case VerdictClass::ambiguous:
      break;
  }
  if (said.scope == FaultScope::part && said.part.empty()) return FaultScope::delivery;
  return said.scope.value_or(FaultScope::delivery);
}

// What it says cannot all be true; empty: it can.
std::string contradiction(const ModuleSaid& said, int status) {
  if (!said.nonsense.empty()) return std::string(said.nonsense) + " has no value of the interface";
  if (!said.verdict) return "says no verdict";
  const VerdictClass v = *said.verdict;
  const std::string named(name(v));
  if (said.fault && *said.fault != judged(v, FaultScope::delivery, "").fault)
    return named + " with fault " + std::string(name(*said.fault));
  if (v == VerdictClass::accepted && !is_success(status)) return "accepted outside of a 2xx";
  if ((v == VerdictClass::accepted) != (said.effect == Effect::sent) && said.effect)
    return named + " with effect " + std::string(name(*said.effect));
  if (v == VerdictClass::ambiguous && said.effect == Effect::not_sent)
    return "ambiguous with effect not_sent";
  const bool device_says_so =
      is_success(status) || (status >= 400 && status < 500 && status != 408);
  if (is_of_a_device(v) && (!device_says_so || said.effect == Effect::maybe_sent))
    return named + " where nothing is said of a destination";
  return {};
}

Verdict doubt(int status) {
  Verdict v = judged(VerdictClass::ambiguous, FaultScope::delivery, "module");
  v.reason.append(": http_").append(std::to_string(status)).append(" not understood");
  v.receipt_missing = is_success(status);
  return v;
}

void set_wait(Verdict& v, const ModuleSaid& said, const HttpAnswer& answer, WallTime now) {
  const bool waits = v.name == VerdictClass::throttled || v.name == VerdictClass::retryable ||
                     v.name == VerdictClass::ambiguous;
  if (!waits) return;
  const auto named = retry_after(answer.headers, now);
  Duration wait = std::max(said.retry_after, named.value_or(Duration{0}));
  if (wait == Duration{0} && v.name == VerdictClass::throttled) wait = minutes(1);
  if (wait > Duration{0}) set_retry_after(v, wait);
}

}  // namespace

ModuleSaid read_verdict(const sendonce_verdict& from, std::span<const std::string_view> secrets) {
  ModuleSaid out;
  read_enum(out.verdict, out.nonsense, "verdict", from.verdict, kVerdicts);
  read_enum(out.effect, out.nonsense, "effect", from.effect, kEffects);
  read_enum(out.fault, out.nonsense, "fault", from.fault, kFaults);
  read_enum(out.scope, out.nonsense, "scope", from.scope, kScopes);
  const auto longest =
      static_cast<std::uint64_t>(std::chrono::duration_cast<milliseconds>(kWaitMax).count());
  out.retry_after = milliseconds(static_cast<std::int64_t>(std::min(from.retry_after_ms, longest)));
  if (from.invalid_since_ns > 0)
    out.invalid_since = WallTime(std::chrono::nanoseconds(from.invalid_since_ns));
  read_text(out.message_id, out.unfit, "message_id", from.message_id, is_receipt, secrets);
  read_text(out.reason, out.unfit, "reason", from.reason, is_word, secrets);
  read_text(out.part, out.unfit, "part", from.part, is_word, secrets);
  return out;
}

Believed believe(const ModuleSaid& said, const HttpAnswer& answer, bool needs_receipt,
                 WallTime now) {
  if (std::string fault = contradiction(said, answer.status); !fault.empty())
    return {doubt(answer.status), std::move(fault)};
  if (answer.status < 200 || answer.status > 599) return {doubt(answer.status), {}};
  const std::string reason =
      said.reason.empty() ? "http_" + std::to_string(answer.status) : said.reason;
  Verdict v = judged(*said.verdict, scope_of(said), reason);
  v.needs_proof = v.name == VerdictClass::token_terminal;  // as of any provider that we do not know
  if (v.name == VerdictClass::accepted) {
    if (said.message_id.empty() && needs_receipt)
      return {judge_status(answer, now), "accepted without a receipt"};
    v.message_id = said.message_id;
    return {std::move(v), {}};
  }
  // "Try again" does not say that nothing was done; the module must say so.
  if (v.name == VerdictClass::retryable || may_have_acted(answer.status))
    v.effect = Effect::maybe_sent;
  if (said.effect) v.effect = *said.effect;
  v.receipt_missing = v.effect == Effect::maybe_sent && is_success(answer.status);
  if (v.scope == FaultScope::part) v.part = said.part;
  if (v.name == VerdictClass::token_terminal && said.invalid_since && *said.invalid_since <= now)
    v.invalid_since = said.invalid_since;
  set_wait(v, said, answer, now);
  return {std::move(v), {}};
}

Believed believe(const ModuleSaid& said, const CallFailure& failure) {
  Believed out{.verdict = judge_failure(failure)};
  const bool improved = said.effect && *said.effect < failure.effect;
  if (said.verdict == VerdictClass::accepted)
    out.corrected = "accepted without a whole answer";
  else if (said.verdict && is_of_a_device(*said.verdict))
    out.corrected = std::string(name(*said.verdict)) + " without a whole answer";
  else if (improved)
    out.corrected = "an effect below what the transport has proved";
  else if (!said.nonsense.empty() || !said.verdict)
    out.corrected = "says no verdict that the interface has";
  if (!out.corrected.empty() || said.verdict != VerdictClass::throttled) return out;
  Verdict& v = out.verdict;
  const bool ours = v.name != VerdictClass::retryable && v.name != VerdictClass::ambiguous;
  if (ours || v.fault == Fault::none) return out;  // TLS, our credentials, our own doing
  v.name = VerdictClass::throttled;
  v.fault = Fault::throttle;
  v.scope = FaultScope::provider;
  set_retry_after(v, said.retry_after > Duration{0} ? said.retry_after : minutes(1));
  return out;
}

bool rests_on_contents(const Believed& believed, const HttpAnswer& answer) {
  const Verdict& v = believed.verdict;
  if (v.name == VerdictClass::token_terminal) return answer.status != 410;
  return v.effect == Effect::not_sent &&
         (is_success(answer.status) || may_have_acted(answer.status));
}

Believed without_contents(VerdictClass said, const HttpAnswer& answer, WallTime now) {
  const std::string status = "because of the status " + std::to_string(answer.status) + " alone, ";
  Believed out{.verdict = judge_status(answer, now),
               .corrected = (said == VerdictClass::token_terminal
                                 ? "says TOKEN_TERMINAL " + status + "which ends no destination"
                                 : "says NOT_SENT " + status + "which counts as maybe sent") +
                            ": decide by a code in the body or a header"};
  if (may_have_acted(answer.status)) out.verdict.effect = Effect::maybe_sent;
  return out;
}

Verdict believe_auth(const ModuleSaid& said, const HttpAnswer& answer, bool stored, WallTime now) {
  const bool taken = said.verdict == VerdictClass::accepted && stored && is_success(answer.status);
  const bool refused =
      said.verdict == VerdictClass::provider_auth || said.verdict == VerdictClass::config_error;
  VerdictClass verdict = VerdictClass::retryable;
  if (taken)
    verdict = VerdictClass::accepted;
  else if (refused && said.nonsense.empty() && !is_success(answer.status))
    verdict = *said.verdict;
  Verdict v =
      judged(verdict, FaultScope::provider,
             "token endpoint: " +
                 (said.reason.empty() ? "http_" + std::to_string(answer.status) : said.reason));
  if (!taken) v.effect = Effect::not_sent;
  if (verdict == VerdictClass::retryable) set_wait(v, said, answer, now);
  return v;
}

}  // namespace sendonce
