#include "classifiers/apns/apns_answers.hpp"

#include <array>
#include <string_view>

#include "classifiers/answer.hpp"
#include "classifiers/json_tree.hpp"

namespace sendonce {
namespace {

using std::chrono::hours, std::chrono::milliseconds, std::chrono::minutes;

// What a row says beyond class and scope.
enum class Extra : std::uint8_t {
  none,
  needs_proof,  // token or environment, the answer does not say which
  timestamp,    // compare with the registration
  refresh,      // a new provider token, once
  reconnect,
  maybe_sent,       // it may have been delivered; and a new connection cures it
  keep_credential,  // too many tokens: use the one at hand for 20 minutes
  slow_device,      // a minute for this device alone
};

struct Row {
  int status = 0;
  std::string_view reason{};
  VerdictClass verdict = VerdictClass::ambiguous;
  FaultScope scope = FaultScope::delivery;
  Extra extra = Extra::none;
};

using enum VerdictClass;
constexpr FaultScope kDelivery = FaultScope::delivery;
constexpr FaultScope kDevice = FaultScope::device;
constexpr FaultScope kProvider = FaultScope::provider;

constexpr std::array<Row, 43> kRows{{
    {400, "BadCollapseId", payload_error, kDelivery},
    {400, "BadDeviceToken", token_terminal, kDevice, Extra::needs_proof},
    {400, "BadExpirationDate", payload_error, kDelivery},
    {400, "BadMessageId", payload_error, kDelivery},
    {400, "BadPriority", payload_error, kDelivery},
    {400, "BadTopic", config_error, kProvider},
    {400, "DeviceTokenNotForTopic", token_mismatch, kDevice},
    {400, "DuplicateHeaders", config_error, kDelivery},
    {400, "IdleTimeout", retryable, kDelivery, Extra::reconnect},
    {400, "InvalidPushType", payload_error, kDelivery},
    {400, "MissingDeviceToken", payload_error, kDelivery},
    {400, "MissingTopic", config_error, kProvider},
    {400, "PayloadEmpty", payload_error, kDelivery},
    {400, "TopicDisallowed", config_error, kProvider},
    {403, "BadCertificate", provider_auth, kProvider},
    {403, "BadCertificateEnvironment", provider_auth, kProvider},
    {403, "BadEnvironmentKeyIdInToken", provider_auth, kProvider},
    {403, "BadEnvironmentKeyInToken", provider_auth, kProvider},  // as seen in the wild
    {403, "ExpiredProviderToken", provider_auth, kProvider, Extra::refresh},
    {403, "Forbidden", provider_auth, kProvider},
    {403, "InvalidProviderToken", provider_auth, kProvider},
    {403, "MissingProviderToken", provider_auth, kProvider},
    {403, "UnrelatedKeyIdInToken", provider_auth, kProvider, Extra::reconnect},
    {403, "TopicMismatch", config_error, kProvider},
    {404, "BadPath", config_error, kDelivery},
    {405, "MethodNotAllowed", config_error, kProvider},
    {410, "ExpiredToken", token_terminal, kDevice, Extra::timestamp},
    {410, "Unregistered", token_terminal, kDevice, Extra::timestamp},
    {413, "PayloadTooLarge", payload_error, kDelivery},
    {429, "TooManyProviderTokenUpdates", provider_auth, kProvider, Extra::keep_credential},
    {429, "TooManyRequests", throttled, kDevice, Extra::slow_device},
    {500, "InternalServerError", retryable, kDelivery, Extra::maybe_sent},
    {503, "ServiceUnavailable", retryable, kDelivery},
    {503, "Service Unavailable", retryable, kDelivery},
    {503, "Shutdown", retryable, kDelivery, Extra::reconnect},
    // Answers of the broadcast and channel calls: we make none, so something is set up wrong.
    {400, "BadChannelId", config_error, kProvider},
    {400, "BadRequestParams", config_error, kProvider},
    {400, "BadRequestPayload", config_error, kProvider},
    {400, "CannotCreateChannelConfig", config_error, kProvider},
    {400, "ChannelNotRegistered", config_error, kProvider},
    {400, "FeatureNotEnabled", config_error, kProvider},
    {400, "MissingChannelId", config_error, kProvider},
    {400, "MissingPushType", config_error, kProvider},
}};

// A device ends only by its documented answer, status included. Elsewhere the reason outweighs the
// exact status, but a 5xx is never read as a refusal.
const Row* find_row(int status, std::string_view reason) {
  for (const Row& row : kRows) {
    if (row.reason != reason) continue;
    const bool exact = row.scope == FaultScope::device;
    if (exact ? row.status == status : row.status / 100 == status / 100) return &row;
  }
  return nullptr;
}

std::optional<Verdict> accepted_by(const HttpAnswer& answer) {
  if (answer.status != 200) return std::nullopt;
  const auto id = answer.headers.find("apns-id");
  if (!id || !is_receipt(*id)) return std::nullopt;
  Verdict v = judged(accepted, kDelivery, "accepted");
  v.message_id = *id;
  return v;
}

// The times between which a timestamp can be one: the start of the service, and the year 2200.
constexpr std::int64_t kFirstTimestampMs = 1'230'768'000'000;
constexpr std::int64_t kLastTimestampMs = 7'258'118'400'000;

void judge_timestamp(Verdict& v, const JsonTree& body, std::optional<WallTime> registered_at,
                     WallTime now) {
  const JsonTree* member = body.find("timestamp");
  WallTime since = now;
  if (member != nullptr) {
    const auto ms = member->integer();
    if (!ms || *ms < kFirstTimestampMs || *ms > kLastTimestampMs) {
      v.ignore_device = true;
      return;
    }
    since = WallTime(milliseconds(*ms));
  }
  v.invalid_since = since;
  v.ignore_device = registered_at && *registered_at > since;
}

void apply_extra(Verdict& v, const Row& row, const HttpAnswer& answer, WallTime now) {
  switch (row.extra) {
    case Extra::none:
    case Extra::timestamp:
      break;
    case Extra::needs_proof:
      v.needs_proof = true;
      break;
    case Extra::refresh:
      v.refresh_credential = true;
      v.reason += clock_remark(answer.headers, now);
      break;
    case Extra::reconnect:
      v.reconnect = true;
      break;
    case Extra::maybe_sent:
      v.effect = Effect::maybe_sent;
      v.reconnect = true;
      break;
    case Extra::keep_credential:
      set_retry_after(v, minutes(20));
      break;
    case Extra::slow_device:
      set_retry_after(v, retry_after(answer.headers, now).value_or(minutes(1)));
      break;
  }
}

Verdict judge_reason(const HttpAnswer& answer, const JsonTree& body,
                     std::optional<WallTime> registered_at, WallTime now) {
  const std::string_view reason = body.string_at("reason");
  const Row* row = find_row(answer.status, reason);
  if (row == nullptr) {
    Verdict v = judge_status(answer, now);
    if (!reason.empty()) v.reason.append(" ").append(safe_code(reason));
    return v;
  }
  Verdict v = judged(row->verdict, row->scope, row->reason);
  if (row->extra == Extra::timestamp) judge_timestamp(v, body, registered_at, now);
  apply_extra(v, *row, answer, now);
  const bool waits = v.name == retryable;
  if (const auto wait = waits ? retry_after(answer.headers, now) : std::nullopt)
    set_retry_after(v, *wait);
  return v;
}

}  // namespace

Verdict judge_apns(const CallResult& result, std::optional<WallTime> registered_at, WallTime now) {
  if (const auto* failure = std::get_if<CallFailure>(&result)) {
    if (failure->partial)
      if (auto v = accepted_by(*failure->partial)) return *v;
    return judge_failure(*failure);
  }
  const auto& answer = std::get<HttpAnswer>(result);
  if (auto v = accepted_by(answer)) return std::move(*v);
  if (answer.status < 400) return judge_status(answer, now);
  const auto body = parse_json_tree(answer.body);
  return body ? judge_reason(answer, *body, registered_at, now) : judge_status(answer, now);
}

}  // namespace sendonce
