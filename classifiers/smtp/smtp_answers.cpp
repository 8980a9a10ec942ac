#include "classifiers/smtp/smtp_answers.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "classifiers/answer.hpp"
#include "plugin/core/ascii.hpp"

namespace sendonce {
namespace {

using std::chrono::minutes;

// Greylists open after about 5 minutes; RFC 5321 4.5.4.1 asks for 30 between tries in general.
constexpr Duration kGreylistWait = minutes(5);
constexpr Duration kFullWait = minutes(30);
constexpr std::size_t kSearched = 4096;

// x.subject.detail; the class is that of the code.
struct Enhanced {
  int subject = 0;
  int detail = 0;
  [[nodiscard]] bool is(int s, int d) const { return subject == s && detail == d; }
};

struct Reply {
  int code = 0;
  MailStep step = MailStep::none;
  std::optional<Enhanced> enhanced{};
  std::string text{};  // in lower case
  [[nodiscard]] bool is(int s, int d) const { return enhanced && enhanced->is(s, d); }
  [[nodiscard]] bool says(std::string_view word) const {
    return text.find(word) != std::string::npos;
  }
  template <std::size_t n>
  [[nodiscard]] bool says_any(const std::array<std::string_view, n>& words) const {
    return std::ranges::any_of(words, [this](std::string_view w) { return says(w); });
  }
  // Commands that are about us and not about a recipient.
  [[nodiscard]] bool about_session() const {
    return step == MailStep::greeting || step == MailStep::hello || step == MailStep::auth;
  }
  [[nodiscard]] bool about_recipient() const {
    return step == MailStep::recipient || step == MailStep::message || step == MailStep::none;
  }
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Up to three digits at the front; they are taken off.
std::optional<int> number_at(std::string_view& text) {
  int value = 0;
  std::size_t n = 0;
  while (n < text.size() && n < 4 && is_digit(text[n])) value = value * 10 + (text[n++] - '0');
  if (n == 0 || n > 3) return std::nullopt;
  text.remove_prefix(n);
  return value;
}

// "5.1.1 ..." after the code of a line.
std::optional<Enhanced> enhanced_at(std::string_view line, int of_class) {
  if (line.size() < 9 || line[4] - '0' != of_class || line[5] != '.') return std::nullopt;
  line.remove_prefix(6);
  const auto subject = number_at(line);
  if (!subject || line.empty() || line.front() != '.') return std::nullopt;
  line.remove_prefix(1);
  const auto detail = number_at(line);
  if (!detail || (!line.empty() && line.front() != ' ')) return std::nullopt;
  return Enhanced{*subject, *detail};
}

Reply read(const HttpAnswer& answer) {
  Reply out;
  out.code = answer.status;
  out.step = answer.step;
  std::string_view rest = std::string_view(answer.body).substr(0, kSearched);
  out.text = lower_ascii(rest);
  const std::string code = std::to_string(answer.status);
  while (!rest.empty() && !out.enhanced) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with(code)) out.enhanced = enhanced_at(line, answer.status / 100);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return out;
}

// Code, enhanced status and command: the text may name the recipient.
std::string reason_of(const Reply& r) {
  std::string out = "smtp_" + std::to_string(r.code);
  if (r.enhanced)
    out.append(" ")
        .append(std::to_string(r.code / 100))
        .append(".")
        .append(std::to_string(r.enhanced->subject))
        .append(".")
        .append(std::to_string(r.enhanced->detail));
  if (r.step != MailStep::none) out.append(" to ").append(name(r.step));
  return out;
}

bool is_id(std::string_view text) {
  return text.size() >= 6 && text.size() <= 128 && std::ranges::any_of(text, is_digit) &&
         is_receipt(text) && text.find('@') == std::string_view::npos;
}

std::string_view word_at(std::string_view text) {
  text = text.substr(0, text.find_first_of(" \r\n"));
  while (!text.empty() && (text.back() == '.' || text.back() == '>' || text.back() == ')'))
    text.remove_suffix(1);
  while (!text.empty() && (text.front() == '<' || text.front() == '(')) text.remove_prefix(1);
  return text;
}

// "queued as 4XYZ" (Postfix), "OK id=1abc-..." (Exim), "Ok 0100018f..." (SES): the word after one
// of these. Empty: none.
std::string_view queue_id(std::string_view body) {
  static constexpr std::array<std::string_view, 4> kBefore{"queued as ", "id=", "Ok ", "OK "};
  body = body.substr(0, kSearched);
  for (const std::string_view before : kBefore) {
    const std::size_t at = body.find(before);
    if (at == std::string_view::npos) continue;
    if (const std::string_view id = word_at(body.substr(at + before.size())); is_id(id)) return id;
  }
  return {};
}

Verdict waits(const Reply& r, Duration wait) {
  Verdict v = judged(VerdictClass::retryable, FaultScope::delivery, reason_of(r));
  // One recipient's server says wait: nothing is wrong with ours, and no breaker counts it.
  v.fault = Fault::none;
  set_retry_after(v, wait);
  return v;
}

Verdict throttled(const Reply& r) {
  Verdict v = judged(VerdictClass::throttled, FaultScope::provider, reason_of(r));
  set_retry_after(v, minutes(1));
  return v;
}

// Words of what is ours to mend: the account or the sender's name.
bool blames_us(const Reply& r) {
  static constexpr std::array<std::string_view, 9> kWords{
      "sender identity", "not verified",   "verified sender", "relay", "spf", "dkim",
      "dmarc",           "not authorized", "unauthenticated"};
  return r.says_any(kWords);
}

// Of a limit that is ours at the relay. RFC 3463 has no code for it.
bool names_a_limit(const Reply& r) {
  static constexpr std::array<std::string_view, 5> kWords{
      "throttl", "sending rate", "quota exceeded", "limit exceeded", "rate limit"};
  return r.says_any(kWords);
}

Verdict judge_temporary(const Reply& r) {
  const std::string reason = reason_of(r);
  if (r.says("credits exceeded"))
    return judged(VerdictClass::config_error, FaultScope::provider, reason);
  const bool greylisted = r.says("greylist") || r.says("graylist");
  if (r.is(2, 2) && !greylisted) return waits(r, kFullWait);
  if (r.code == 452 || r.is(3, 1) || names_a_limit(r)) return throttled(r);
  if (r.step == MailStep::auth || (r.code == 454 && r.is(7, 0) && r.step != MailStep::hello))
    return judged(VerdictClass::provider_auth, FaultScope::provider, reason);
  // Before any recipient was named, or by its own system (X.3.x): the relay is ill.
  const bool ill = r.step == MailStep::sender || (r.enhanced && r.enhanced->subject == 3);
  if (r.code == 421 || r.about_session() || ill)
    return judged(VerdictClass::retryable, FaultScope::delivery, reason);
  return waits(r, kGreylistWait);
}

bool is_auth(const Reply& r) {
  const bool by_code = r.code == 530 || r.code == 534 || r.code == 535 || r.code == 538;
  return by_code || r.step == MailStep::auth || r.is(7, 8) || r.is(7, 9) ||
         (r.code == 550 && r.says("unauthenticated sender"));
}

bool is_dead_address(const Reply& r) {
  if (!r.about_recipient()) return false;
  if (!r.enhanced) return r.step == MailStep::recipient && r.code == 556;
  const bool unknown = r.is(1, 1) || r.is(1, 10);
  if (r.step == MailStep::message) return unknown;
  // Blocks of the sender come with 5.2.1 too (AOL: 521 5.2.1): the text must speak of the mailbox.
  const bool disabled = r.is(2, 1) && r.code == 550 && r.says("disabled");
  return unknown || r.is(1, 2) || r.is(1, 3) || r.is(1, 6) || disabled;
}

Verdict judge_permanent(const Reply& r) {
  const std::string reason = reason_of(r);
  if (is_auth(r)) return judged(VerdictClass::provider_auth, FaultScope::provider, reason);
  if (is_dead_address(r)) {
    Verdict v = judged(VerdictClass::token_terminal, FaultScope::device, reason);
    // A relay that cannot find its way (a wrong host, no DNS) finds no system and no form right.
    v.needs_proof = !r.is(1, 1) && !r.is(1, 10) && !r.is(2, 1);
    return v;
  }
  if (r.is(2, 2)) return waits(r, kFullWait);  // full: no reason to forget the address
  const bool about_sender = r.is(1, 7) || r.is(1, 8) || r.step == MailStep::sender;
  const bool too_large = r.code == 552 || r.is(3, 4) || r.is(2, 3);
  if (too_large && !r.about_session())
    return judged(VerdictClass::payload_error, FaultScope::delivery, reason);
  // A quota of ours that the relay words as a refusal (Gmail: 550 5.4.5).
  if (r.is(4, 5) || (names_a_limit(r) && !r.says("size"))) return throttled(r);
  if (about_sender || r.about_session())
    return judged(VerdictClass::config_error, FaultScope::provider, reason);
  const bool not_understood = (r.code >= 500 && r.code <= 504) || r.code == 555;
  if (not_understood || blames_us(r))
    return judged(VerdictClass::config_error, FaultScope::delivery, reason);
  return judged(VerdictClass::payload_error, FaultScope::delivery, reason);
}

Verdict accepted_with(std::string_view id) {
  Verdict v = judged(VerdictClass::accepted, FaultScope::delivery, "accepted");
  v.message_id = id;
  return v;
}

}  // namespace

Verdict judge_smtp(const CallResult& result) {
  if (const auto* failure = std::get_if<CallFailure>(&result)) return judge_failure(*failure);
  const auto& answer = std::get<HttpAnswer>(result);
  const Reply reply = read(answer);
  switch (reply.code / 100) {
    case 2: {
      const std::string_view id = queue_id(answer.body);
      const bool recorded = reply.step == MailStep::none && !id.empty() &&
                            answer.body.starts_with(std::to_string(reply.code));
      if (reply.step == MailStep::message || recorded) return accepted_with(id);
      break;
    }
    case 4:
      return judge_temporary(reply);
    case 5:
      return judge_permanent(reply);
    default:
      break;
  }
  Verdict v = judged(VerdictClass::ambiguous, FaultScope::delivery, reason_of(reply));
  v.receipt_missing = reply.code / 100 == 2;
  return v;
}

}  // namespace sendonce
