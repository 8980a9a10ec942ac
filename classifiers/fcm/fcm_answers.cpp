#include "classifiers/fcm/fcm_answers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "classifiers/answer.hpp"
#include "classifiers/json_tree.hpp"

namespace sendonce {
namespace {

using std::chrono::minutes, std::chrono::seconds;
using enum VerdictClass;

constexpr std::string_view kBadToken =
    "The registration token is not a valid FCM registration token";

// What an error says, all of it optional. Views into the parsed body.
struct Said {
  std::string_view fcm_code{};     // FcmError.errorCode; empty also when two of them disagree
  std::string_view info_reason{};  // ErrorInfo.reason
  std::string_view message{};
  bool names_token = false;  // a BadRequest violation of message.token
  bool apns_detail = false;  // an ApnsError
  bool json = false;
};

bool is_type(const JsonTree& detail, std::string_view type) {
  return detail.string_at("@type").ends_with(type);
}

bool violates_token(const JsonTree& bad_request) {
  const JsonTree* violations = bad_request.find("fieldViolations");
  if (violations == nullptr || !violations->is(JsonTree::Type::array)) return false;
  return std::any_of(violations->children.begin(), violations->children.end(),
                     [](const JsonTree& v) { return v.string_at("field") == "message.token"; });
}

Said said_by(const JsonTree& body) {
  Said said;
  said.json = true;
  const JsonTree* error = body.find("error");
  if (error == nullptr) return said;
  said.message = error->string_at("message");
  const JsonTree* details = error->find("details");
  if (details == nullptr || !details->is(JsonTree::Type::array)) return said;
  bool disagree = false;
  for (const JsonTree& detail : details->children) {
    if (is_type(detail, "google.firebase.fcm.v1.FcmError")) {
      const std::string_view code = detail.string_at("errorCode");
      disagree = disagree || (!said.fcm_code.empty() && code != said.fcm_code);
      said.fcm_code = code;
    }
    if (is_type(detail, "google.rpc.BadRequest"))
      said.names_token = said.names_token || violates_token(detail);
    if (is_type(detail, "google.rpc.ErrorInfo")) said.info_reason = detail.string_at("reason");
    if (is_type(detail, "google.firebase.fcm.v1.ApnsError")) said.apns_detail = true;
  }
  if (disagree) said.fcm_code = {};
  return said;
}

bool mentions(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

Verdict third_party(const Said& said) {
  Verdict v = judged(config_error, FaultScope::part, "THIRD_PARTY_AUTH_ERROR");
  const bool web = !said.apns_detail && !mentions(said.message, "APNS") &&
                   !mentions(said.message, "APNs") &&
                   (mentions(said.message, "Web Push") || mentions(said.message, "VAPID"));
  v.part = web ? "webpush" : "apns";
  return v;
}

// Texts that stand for a code where the body is cut, or where Google gives nothing better. None of
// them may end a token.
struct TextRule {
  int status = 0;
  std::string_view text{};
  Verdict (*verdict)(const Said& said) = nullptr;
};

Verdict api_disabled(const Said& /*said*/) {
  return judged(config_error, FaultScope::provider, "SERVICE_DISABLED");
}

Verdict wrong_sender(const Said& /*said*/) {
  return judged(token_mismatch, FaultScope::device, "SENDER_ID_MISMATCH");
}

constexpr std::array<TextRule, 4> kTextRules{{
    {401, "Auth error from APNS or Web Push Service", third_party},
    {403, "API has not been used in project", api_disabled},
    {403, "or it is disabled", api_disabled},
    {403, "SenderId mismatch", wrong_sender},
}};

std::optional<Verdict> judge_text(int status, const Said& said, std::string_view body) {
  for (const TextRule& rule : kTextRules)
    if (rule.status == status &&
        mentions(said.json ? said.message : body.substr(0, 4096), rule.text))
      return rule.verdict(said);
  return std::nullopt;
}

Verdict quota(const HttpAnswer& answer, FaultScope scope, WallTime now) {
  Verdict v = judged(throttled, scope, "QUOTA_EXCEEDED");
  set_retry_after(v, retry_after(answer.headers, now).value_or(minutes(1)));
  return v;
}

// Of a device or topic when FcmError says it, unless the text names the project.
FaultScope quota_scope(const Said& said) {
  const bool project = mentions(said.message, "project") || mentions(said.message, "Project");
  return project ? FaultScope::provider : FaultScope::device;
}

// "Please try again in 30 seconds", the only figure on the front end's pages.
std::optional<Duration> wait_on_page(std::string_view body) {
  constexpr std::string_view kText = "try again in ";
  const std::size_t at = body.substr(0, 16'384).find(kText);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = body.substr(at + kText.size(), 16);
  unsigned count = 0;
  const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), count);
  const auto digits = static_cast<std::size_t>(read.ptr - rest.data());
  if (read.ec != std::errc() || !rest.substr(digits).starts_with(" second")) return std::nullopt;
  return seconds(std::min(count, 3600U));
}

// Google asks for 10 s at least before a 5xx is repeated.
Verdict server_error(const HttpAnswer& answer, std::string_view code, WallTime now) {
  Verdict v = judge_status(answer, now);
  if (!code.empty()) v.reason = safe_code(code);
  if (v.retry_after == Duration{0})
    set_retry_after(
        v, std::max<Duration>(wait_on_page(answer.body).value_or(seconds(0)), seconds(10)));
  return v;
}

Verdict invalid_argument(const Said& said) {
  if (said.names_token || said.message.starts_with(kBadToken))
    return judged(token_terminal, FaultScope::device, "INVALID_ARGUMENT: registration token");
  return judged(payload_error, FaultScope::delivery, "INVALID_ARGUMENT");
}

// The codes of FcmError in a 4xx; empty for those that say nothing.
std::optional<Verdict> judge_code(const HttpAnswer& answer, const Said& said, WallTime now) {
  const std::string_view code = said.fcm_code;
  if (code == "UNREGISTERED" && answer.status == 404)
    return judged(token_terminal, FaultScope::device, code);
  if (code == "INVALID_ARGUMENT" && answer.status == 400) return invalid_argument(said);
  if (code == "SENDER_ID_MISMATCH") return judged(token_mismatch, FaultScope::device, code);
  if (code == "QUOTA_EXCEEDED") return quota(answer, quota_scope(said), now);
  if (code == "THIRD_PARTY_AUTH_ERROR") return third_party(said);
  return std::nullopt;
}

Verdict judge_refusal(const HttpAnswer& answer, const Said& said, WallTime now) {
  if (auto v = judge_code(answer, said, now)) return std::move(*v);
  if (answer.status == 400 && said.json &&
      (said.names_token || said.message.starts_with(kBadToken)))
    return invalid_argument(said);
  if (said.info_reason == "SERVICE_DISABLED" || said.info_reason == "BILLING_DISABLED" ||
      said.info_reason == "CONSUMER_INVALID")
    return judged(config_error, FaultScope::provider, said.info_reason);
  if (auto v = judge_text(answer.status, said, answer.body)) return std::move(*v);
  Verdict v = judge_status(answer, now);
  if (!said.info_reason.empty()) v.reason.append(" ").append(safe_code(said.info_reason));
  if (!said.fcm_code.empty()) v.reason.append(" ").append(safe_code(said.fcm_code));
  // Our token is stale; with an FcmError FCM would have accepted it.
  v.refresh_credential = answer.status == 401 && said.fcm_code.empty();
  return v;
}

bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

// Moves `at` over blanks and `want`; false when something else stands there.
bool skip(std::string_view body, std::size_t& at, std::string_view want) {
  while (at < body.size() && is_blank(body[at])) ++at;
  if (!body.substr(at).starts_with(want)) return false;
  at += want.size();
  return true;
}

// The receipt of {"name": "projects/P/messages/ID"} and nothing else, without a parser.
std::string_view receipt_at_a_glance(std::string_view body) {
  std::size_t at = 0;
  if (!skip(body, at, "{") || !skip(body, at, "\"name\"") || !skip(body, at, ":") ||
      !skip(body, at, "\""))
    return {};
  const std::size_t end = body.find('"', at);
  if (end == std::string_view::npos) return {};
  const std::string_view name = body.substr(at, end - at);
  at = end + 1;
  if (!skip(body, at, "}") || !skip(body, at, "") || at != body.size()) return {};
  return name.find('\\') == std::string_view::npos ? name : std::string_view();
}

// projects/P/messages/ID: a "name" stands in other APIs' errors too ("validation_error").
bool is_message_name(std::string_view name) {
  constexpr std::string_view kBefore = "projects/";
  constexpr std::string_view kWithin = "/messages/";
  const std::size_t at = name.find(kWithin);
  return is_receipt(name) && name.starts_with(kBefore) && at != std::string_view::npos &&
         at > kBefore.size() && at + kWithin.size() < name.size();
}

std::optional<Verdict> accepted_by(const HttpAnswer& answer) {
  std::string_view name = receipt_at_a_glance(answer.body);
  std::optional<JsonTree> body;
  if (name.empty()) {
    body = parse_json_tree(answer.body);
    if (body) name = body->string_at("name");
  }
  if (!is_message_name(name)) return std::nullopt;
  Verdict v = judged(accepted, FaultScope::delivery, "accepted");
  v.message_id = name;
  return v;
}

struct LegacyRow {
  std::string_view error{};
  VerdictClass verdict = ambiguous;
  FaultScope scope = FaultScope::delivery;
};

constexpr std::array<LegacyRow, 14> kLegacyRows{{
    {"NotRegistered", token_terminal, FaultScope::device},
    {"InvalidRegistration", token_terminal, FaultScope::device},
    {"MismatchSenderId", token_mismatch, FaultScope::device},
    {"Unavailable", retryable, FaultScope::delivery},
    {"InternalServerError", retryable, FaultScope::delivery},
    {"DeviceMessageRateExceeded", throttled, FaultScope::device},
    {"TopicsMessageRateExceeded", throttled, FaultScope::provider},
    {"InvalidApnsCredential", config_error, FaultScope::part},
    {"MessageTooBig", payload_error, FaultScope::delivery},
    {"InvalidDataKey", payload_error, FaultScope::delivery},
    {"InvalidTtl", payload_error, FaultScope::delivery},
    {"InvalidParameters", payload_error, FaultScope::delivery},
    {"MissingRegistration", payload_error, FaultScope::delivery},
    {"InvalidPackageName", config_error, FaultScope::delivery},
}};

Verdict judge_legacy_entry(const HttpAnswer& answer, const JsonTree& entry, WallTime now) {
  if (const std::string_view id = entry.string_at("message_id"); is_receipt(id)) {
    Verdict v = judged(accepted, FaultScope::delivery, "accepted");
    if (!entry.string_at("registration_id").empty())
      v.reason = "accepted, the token has a successor";
    v.message_id = id;
    return v;
  }
  const std::string_view error = entry.string_at("error");
  for (const LegacyRow& row : kLegacyRows) {
    if (row.error != error) continue;
    Verdict v = judged(row.verdict, row.scope, row.error);
    if (v.scope == FaultScope::part) v.part = "apns";
    if (v.name == retryable) v.effect = Effect::maybe_sent;
    if (v.name == throttled)
      set_retry_after(v, retry_after(answer.headers, now).value_or(minutes(1)));
    return v;
  }
  return judge_status(answer, now);
}

}  // namespace

Verdict judge_fcm(const CallResult& result, WallTime now) {
  if (const auto* failure = std::get_if<CallFailure>(&result)) return judge_failure(*failure);
  const auto& answer = std::get<HttpAnswer>(result);
  if (answer.status >= 200 && answer.status < 300) {
    if (auto v = accepted_by(answer)) return std::move(*v);
    return judge_status(answer, now);
  }
  const auto body = parse_json_tree(answer.body);
  const Said said = body ? said_by(*body) : Said{};
  if (answer.status >= 500) return server_error(answer, said.fcm_code, now);
  if (answer.status >= 400 && answer.status != 408) return judge_refusal(answer, said, now);
  return judge_status(answer, now);
}

Verdict judge_fcm_legacy(const CallResult& result, std::size_t index, WallTime now) {
  if (const auto* failure = std::get_if<CallFailure>(&result)) return judge_failure(*failure);
  const auto& answer = std::get<HttpAnswer>(result);
  if (answer.status != 200) return judge_status(answer, now);
  const auto body = parse_json_tree(answer.body);
  const JsonTree* results = body ? body->find("results") : nullptr;
  if (results == nullptr || !results->is(JsonTree::Type::array) ||
      index >= results->children.size())
    return judge_status(answer, now);
  return judge_legacy_entry(answer, results->children[index], now);
}

}  // namespace sendonce
