#include "classifiers/webpush/webpush_answers.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "classifiers/answer.hpp"
#include "classifiers/json_tree.hpp"

namespace sendonce {
namespace {

using std::chrono::minutes;
using enum VerdictClass;

constexpr std::size_t kTextMax = 4096;
constexpr FaultScope kDelivery = FaultScope::delivery;
constexpr FaultScope kDevice = FaultScope::device;
constexpr FaultScope kProvider = FaultScope::provider;

// What a row says beyond class and scope.
enum class Extra : std::uint8_t { none, maybe_sent, reconnect, needs_proof };

struct Row {
  int status = 0;
  std::string_view code{};
  VerdictClass verdict = ambiguous;
  FaultScope scope = kDelivery;
  Extra extra = Extra::none;
};

// `reason` in the body, as for native apps.
// https://developer.apple.com/documentation/usernotifications/sending-web-push-notifications-in-web-apps-and-browsers
constexpr std::array<Row, 15> kApple{{
    {400, "BadTtl", config_error, kDelivery},
    {400, "BadUrgency", payload_error, kDelivery},
    {400, "BadWebPushRequest", payload_error, kDelivery},
    {400, "BadWebPushTopic", payload_error, kDelivery},
    {400, "IdleTimeout", retryable, kDelivery, Extra::reconnect},
    {403, "BadAuthorizationHeader", provider_auth, kProvider},
    {403, "BadJwtToken", provider_auth, kProvider},
    {403, "BadVapidPublicKey", provider_auth, kProvider},
    {403, "VapidPkHashMismatch", token_mismatch, kDevice},
    {404, "BadPath", config_error, kDelivery},
    {405, "MethodNotAllowed", config_error, kProvider},
    {413, "PayloadTooLarge", payload_error, kDelivery},
    {429, "TooManyRequests", throttled, kDevice},
    {503, "ServiceUnavailable", retryable, kDelivery},
    {503, "Shutdown", retryable, kDelivery, Extra::reconnect},
}};

// `errno` in the body. https://mozilla-push-service.readthedocs.io/en/latest/http.html
constexpr std::array<Row, 19> kMozilla{{
    {400, "101", payload_error, kDelivery}, {400, "108", payload_error, kDelivery},
    {400, "110", payload_error, kDelivery}, {400, "111", config_error, kDelivery},
    {400, "112", payload_error, kDelivery}, {400, "113", payload_error, kDelivery},
    {400, "114", payload_error, kDelivery}, {401, "109", provider_auth, kProvider},
    {404, "102", token_terminal, kDevice},  {404, "106", token_terminal, kDevice},
    {410, "103", token_terminal, kDevice},  {410, "105", token_terminal, kDevice},
    {410, "106", token_terminal, kDevice},  {413, "104", payload_error, kDelivery},
    {502, "901", retryable, kDelivery},  // the credential of its own bridge, not ours
    {502, "902", retryable, kDelivery},     {502, "903", ambiguous, kDelivery},
    {503, "201", retryable, kDelivery},     {503, "202", retryable, kDelivery},
}};

// A text within the body, plain or in a page: there is nothing better.
constexpr std::array<Row, 5> kFcm{{
    {400, "UnauthorizedRegistration", provider_auth, kProvider},
    {400, "InvalidTokenFormat", token_terminal, kDevice, Extra::needs_proof},
    {401, "invalid push subscription endpoint", retryable, kDelivery},  // for hours, then well
    {403, "do not correspond to the credentials used to create", token_mismatch, kDevice},
    {403, "does not correspond to the sender ID", token_mismatch, kDevice},
}};

// Without a byte order mark and the blanks around it; what is long is nobody's word for anything.
std::string_view bare(std::string_view body) {
  if (body.size() > kTextMax) return body;
  if (body.starts_with("\xEF\xBB\xBF")) body.remove_prefix(3);
  const std::size_t first = body.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return body.substr(first, body.find_last_not_of(" \t\r\n") - first + 1);
}

Verdict verdict_of(const Row& row, const HttpAnswer& answer, WallTime now) {
  Verdict v = judged(row.verdict, row.scope, row.code);
  if (row.extra == Extra::maybe_sent) v.effect = Effect::maybe_sent;
  v.reconnect = row.extra == Extra::reconnect;
  v.needs_proof = row.extra == Extra::needs_proof;
  const auto wait = retry_after(answer.headers, now);
  if (v.name == throttled)
    set_retry_after(v, wait.value_or(minutes(1)));
  else if (wait && v.fault == Fault::provider)
    set_retry_after(v, *wait);
  return v;
}

template <class Rows>
std::optional<Verdict> by_code(const Rows& rows, const HttpAnswer& answer, std::string_view code,
                               WallTime now) {
  for (const Row& row : rows)
    if (row.status == answer.status && row.code == code) return verdict_of(row, answer, now);
  return std::nullopt;
}

std::optional<Verdict> judge_apple(const HttpAnswer& answer, WallTime now) {
  const auto body = parse_json_tree(answer.body);
  return body ? by_code(kApple, answer, body->string_at("reason"), now) : std::nullopt;
}

std::optional<Verdict> judge_mozilla(const HttpAnswer& answer, WallTime now) {
  const auto body = parse_json_tree(answer.body);
  const JsonTree* number = body ? body->find("errno") : nullptr;
  const auto code = number != nullptr ? number->integer() : std::nullopt;
  if (!code) return std::nullopt;
  // Said in words alone, where the other services have a status or a code of its own.
  constexpr std::string_view kOtherKey = "VAPID public key mismatch";
  if (answer.status == 401 && *code == 109 &&
      body->string_at("message").find(kOtherKey) != std::string_view::npos)
    return judged(token_mismatch, kDevice, "109 VAPID public key mismatch");
  auto v = by_code(kMozilla, answer, std::to_string(*code), now);
  if (v) v->reason.insert(0, "errno ");
  return v;
}

std::optional<Verdict> judge_fcm_text(const HttpAnswer& answer, WallTime now) {
  const std::string_view body = std::string_view(answer.body).substr(0, kTextMax);
  for (const Row& row : kFcm) {
    if (row.status != answer.status) continue;
    // What ends a subscription must be all that was said.
    const bool said = row.verdict == token_terminal ? bare(answer.body) == row.code
                                                    : body.find(row.code) != std::string_view::npos;
    if (said) return verdict_of(row, answer, now);
  }
  return std::nullopt;
}

std::optional<Verdict> judge_wns(const HttpAnswer& answer, WallTime now) {
  switch (answer.status) {
    case 401:
      // Channels of before March 2022 answer it for good, while new ones work. Only when others
      // were accepted can it be the channel, and never where WNS itself has not spoken.
      if (bare(answer.body).empty() && answer.headers.find("x-wns-msg-id")) {
        Verdict v = judged(token_terminal, kDevice, "http_401 of an old channel");
        v.needs_proof = true;
        return v;
      }
      return std::nullopt;
    case 403:
      if (is_html(answer.body)) return std::nullopt;
      return judged(token_mismatch, kDevice, "http_403");
    case 406: {
      Verdict v = judged(throttled, kProvider, "http_406");
      set_retry_after(v, retry_after(answer.headers, now).value_or(minutes(1)));
      return v;
    }
    default:
      return std::nullopt;
  }
}

std::optional<Verdict> by_service(const HttpAnswer& answer, PushService service, WallTime now) {
  switch (service) {
    case PushService::other:
      return std::nullopt;
    case PushService::fcm:
      return judge_fcm_text(answer, now);
    case PushService::mozilla:
      return judge_mozilla(answer, now);
    case PushService::apple:
      return judge_apple(answer, now);
    case PushService::wns:
      return judge_wns(answer, now);
  }
  return std::nullopt;
}

// Where the message stands now (RFC 8030 5), or the service's own name for it. The path alone: the
// host is known, and a receipt has room for 256 characters.
std::string receipt_of(const Headers& headers) {
  if (const auto location = headers.find("location")) {
    std::string_view path = *location;
    if (const std::size_t scheme = path.find("://"); scheme != std::string_view::npos)
      path.remove_prefix(std::min(path.find('/', scheme + 3), path.size()));
    if (is_receipt(path)) return std::string(path);
  }
  for (const std::string_view name : {"apns-id", "x-wns-msg-id"})
    if (const auto id = headers.find(name); id && is_receipt(*id)) return std::string(*id);
  return {};
}

std::optional<Verdict> accepted_by(const HttpAnswer& answer, PushService service) {
  if (answer.status < 200 || answer.status >= 300) return std::nullopt;
  const bool standard = answer.status == 201 || answer.status == 202;
  const bool of_wns = service == PushService::wns && answer.status == 200;
  const bool silent = (answer.status == 200 || answer.status == 204) && bare(answer.body).empty() &&
                      answer.headers.find("location");
  if ((!standard && !of_wns && !silent) || is_html(answer.body)) return std::nullopt;
  Verdict v = judged(accepted, kDelivery, "accepted");
  if (!standard && !of_wns) v.reason += ", although with http_" + std::to_string(answer.status);
  v.message_id = receipt_of(answer.headers);
  return v;
}

// RFC 8030 7.3: the push service answers so when a subscription has ended.
std::optional<Verdict> gone(const HttpAnswer& answer) {
  if (answer.status != 404 && answer.status != 410) return std::nullopt;
  Verdict v = judged(token_terminal, kDevice, "http_" + std::to_string(answer.status));
  v.needs_proof = answer.status == 404;
  return v;
}

}  // namespace

PushService push_service_of(std::string_view host) {
  struct Known {
    std::string_view suffix{};
    PushService service = PushService::other;
  };
  constexpr std::array<Known, 4> kKnown{{
      {".googleapis.com", PushService::fcm},
      {".push.services.mozilla.com", PushService::mozilla},
      {".push.apple.com", PushService::apple},
      {".notify.windows.com", PushService::wns},
  }};
  for (const Known& known : kKnown)
    if (host.ends_with(known.suffix)) return known.service;
  return PushService::other;
}

Verdict judge_webpush(const CallResult& result, PushService service, WallTime now) {
  if (const auto* failure = std::get_if<CallFailure>(&result)) return judge_failure(*failure);
  const auto& answer = std::get<HttpAnswer>(result);
  if (auto v = accepted_by(answer, service)) return std::move(*v);
  if (auto v = by_service(answer, service, now)) return std::move(*v);
  if (auto v = gone(answer)) return std::move(*v);
  return judge_status(answer, now);
}

}  // namespace sendonce
