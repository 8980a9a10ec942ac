#include "classifiers/twilio/twilio_callback.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "classifiers/answer.hpp"

namespace sendonce {
namespace {

using enum VerdictClass;

struct Row {
  std::string_view code{};
  VerdictClass verdict = ambiguous;
  FaultScope scope = FaultScope::delivery;
};

constexpr std::array<Row, 17> kRows{{
    {"30001", throttled, FaultScope::provider},     // the queue is full
    {"30002", config_error, FaultScope::provider},  // the account is suspended
    {"30003", retryable},                           // off, or out of coverage
    {"30004", token_mismatch, FaultScope::device},  // blocked by the person or the carrier
    {"30005", token_terminal, FaultScope::device},  // no such number
    {"30006", token_terminal, FaultScope::device},  // a landline
    {"30007", payload_error},                       // filtered as spam
    {"30010", config_error, FaultScope::delivery},  // above the price limit
    {"30017", retryable},                           // the carrier is congested
    {"30022", throttled, FaultScope::provider},     // limits of a sender's registration
    {"30023", throttled, FaultScope::provider},
    {"30027", throttled, FaultScope::provider},
    {"30032", config_error, FaultScope::provider},  // the sender is not registered
    {"30034", config_error, FaultScope::provider},
    {"30036", payload_error},  // its validity was over
    {"30410", ambiguous},      // the carrier did not answer
    {"30450", token_mismatch, FaultScope::device},
}};

constexpr std::array<std::string_view, 8> kTaken{"accepted", "scheduled", "queued",    "sending",
                                                 "sent",     "receiving", "delivered", "read"};

// Of name=value&name=value. What we look for needs no decoding; empty when it is there twice.
std::string_view field(std::string_view form, std::string_view name) {
  std::string_view found;
  bool seen = false;
  while (!form.empty()) {
    const std::string_view part = form.substr(0, form.find('&'));
    form.remove_prefix(std::min(part.size() + 1, form.size()));
    if (!part.starts_with(name) || !part.substr(name.size()).starts_with('=')) continue;
    if (seen) return {};
    seen = true;
    found = part.substr(name.size() + 1);
  }
  return found;
}

bool is_sid(std::string_view text) {
  return text.size() == 34 && (text.starts_with("SM") || text.starts_with("MM")) &&
         text.find_first_not_of("0123456789abcdef", 2) == std::string_view::npos;
}

Verdict judge_code(std::string_view code) {
  const auto* const row = std::ranges::find(kRows, code, &Row::code);
  std::string reason = "undelivered";
  if (!code.empty()) reason.append(" ").append(safe_code(code));
  return row == kRows.end() ? judged(ambiguous, FaultScope::delivery, reason)
                            : judged(row->verdict, row->scope, reason);
}

}  // namespace

Verdict judge_twilio_callback(const CallResult& result) {
  const auto* report = std::get_if<HttpAnswer>(&result);
  if (report == nullptr) return judge_failure(std::get<CallFailure>(result));
  const std::string_view sid = field(report->body, "MessageSid");
  const std::string_view status = field(report->body, "MessageStatus");
  if (!is_sid(sid) || report->status != 0)
    return judged(ambiguous, FaultScope::delivery, "no callback of Twilio's");
  Verdict v = judged(ambiguous, FaultScope::delivery, "unknown status");
  if (std::ranges::find(kTaken, status) != kTaken.end())
    v = judged(accepted, FaultScope::delivery, "accepted");
  else if (status == "undelivered" || status == "failed")
    v = judge_code(field(report->body, "ErrorCode"));
  else if (status == "canceled")
    v = judged(payload_error, FaultScope::delivery, "canceled");
  v.message_id = sid;
  return v;
}

}  // namespace sendonce
