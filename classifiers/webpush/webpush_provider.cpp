#include "classifiers/webpush/webpush_provider.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "classifiers/answer.hpp"
#include "classifiers/answer_rules.hpp"
#include "classifiers/stable_id.hpp"
#include "classifiers/webpush/push_origins.hpp"
#include "classifiers/webpush/vapid.hpp"
#include "classifiers/webpush/webpush_answers.hpp"
#include "classifiers/webpush/webpush_encryption.hpp"
#include "classifiers/webpush/webpush_payload.hpp"
#include "plugin/core/text.hpp"
#include "plugin/crypto/digest.hpp"
#include "plugin/message/key.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kTopicMax = 32;
constexpr std::size_t kCollapseMax = 256;         // as the tag; the topic has its own limit
constexpr std::int64_t kTtlMax = 28 * 24 * 3600;  // of FCM; Mozilla and Apple keep 30 days
constexpr std::array<std::string_view, 4> kUrgencies{"very-low", "low", "normal", "high"};

class WebPushProvider final : public Provider {
 public:
  WebPushProvider(VapidTokens tokens, PushOrigins origins, const WebPushOptions& options)
      : tokens_(std::move(tokens)),
        origins_(std::move(origins)),
        urgency_(options.urgency),
        answers_(options.answers) {
    capabilities_.kind = ProviderKind::webpush;
    capabilities_.channel = Channel::push;
    capabilities_.many_origins = true;
    capabilities_.collapse_bytes_max = kCollapseMax;
  }

  [[nodiscard]] const Capabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] std::string app_scope() const override { return "webpush:" + tokens_.public_key(); }

  [[nodiscard]] Result<Destination> normal_form(const Target& target) const override {
    SO_CHECK(origins_.find(target.destination.expose()));
    SO_CHECK(subscription_keys(target));
    return target.destination;
  }

  [[nodiscard]] Origin origin_of(const Target& target) const override {
    const auto endpoint = origins_.find(target.destination.expose());
    return endpoint ? Origin{.authority = endpoint->authority, .part = endpoint->service}
                    : Origin{};
  }

  [[nodiscard]] Result<HttpRequest> prepare(const Attempt& attempt, WallTime now) override;
  [[nodiscard]] Verdict classify(const Target& target, const CallResult& result,
                                 WallTime now) const override;

  // Tokens are signed where they are needed, without a call.
  [[nodiscard]] bool ready(WallTime /*now*/) const override { return true; }
  [[nodiscard]] std::optional<HttpRequest> needs_auth(WallTime /*now*/) override {
    return std::nullopt;
  }
  [[nodiscard]] Verdict accept_auth(const CallResult& /*result*/, WallTime /*now*/) override {
    SO_ASSERT(false);  // needs_auth never asks for a call
  }
  bool credential_refused(WallTime /*now*/) override { return false; }

 private:
  VapidTokens tokens_;
  PushOrigins origins_;
  std::string urgency_;
  std::vector<AnswerRule> answers_;
  Capabilities capabilities_{};
};

// At least 1: for 0 the message is dropped unless the browser is connected, and WNS refuses it.
std::int64_t ttl_of(WallTime deadline, WallTime now) {
  const auto left = std::chrono::floor<std::chrono::seconds>(deadline - now).count();
  return std::clamp<std::int64_t>(left, 1, kTtlMax);
}

Result<HttpRequest> WebPushProvider::prepare(const Attempt& attempt, WallTime now) {
  SO_TRY(const PushEndpoint endpoint, origins_.find(attempt.target.destination.expose()));
  SO_TRY(const SubscriptionKeys keys, subscription_keys(attempt.target));
  SO_CHECK(check_header_value(attempt.collapse, "collapse", kCollapseMax));
  std::array<char, kUuidSize> nid{};
  SO_TRY(const std::string payload,
         webpush_payload(attempt.notification, write_uuid(nid, nid_from(attempt.nid).bytes),
                         attempt.collapse));
  SO_TRY(const std::string_view authorization,
         tokens_.authorization("https://" + std::string(endpoint.authority), now));
  HttpRequest request;
  SO_TRY(request.body, encrypt_push(payload, keys));
  request.authority = endpoint.authority;
  request.path = endpoint.path;
  request.headers.reserve(6, 256 + authorization.size());
  request.headers.add("authorization", authorization);
  request.headers.add("content-encoding", "aes128gcm");
  request.headers.add("content-type", "application/octet-stream");
  request.headers.add("urgency", urgency_);
  std::string ttl;
  append_number(ttl, ttl_of(attempt.deadline, now));
  request.headers.add("ttl", ttl, true);
  if (!attempt.collapse.empty()) request.headers.add("topic", topic_from(attempt.collapse), true);
  return request;
}

// What concerns a push service holds that one; the others have nothing to do with it.
Verdict WebPushProvider::classify(const Target& target, const CallResult& result,
                                  WallTime now) const {
  const auto endpoint = origins_.find(target.destination.expose());
  const std::string_view host = endpoint ? endpoint->host : std::string_view();
  Verdict v = amended(answers_, result, judge_webpush(result, push_service_of(host), now), now);
  if (const auto* a = std::get_if<HttpAnswer>(&result); a != nullptr && v.fault == Fault::auth)
    v.reason += clock_remark(a->headers, now);  // the likeliest fault of a token that was good
  if (!endpoint) return v;                      // taken off the list by a reload
  if (v.scope == FaultScope::provider) v.scope = FaultScope::part;
  if (v.scope == FaultScope::part || v.fault == Fault::provider) v.part = endpoint->service;
  return v;
}

bool is_topic(std::string_view text) {
  return text.size() <= kTopicMax && std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_';
         });
}

}  // namespace

std::string topic_from(std::string_view collapse) {
  if (is_topic(collapse)) return std::string(collapse);
  const Sha256Digest digest = Sha256().of(collapse);
  return base64url({reinterpret_cast<const char*>(digest.data()), 24});
}

Result<std::unique_ptr<Provider>> make_webpush_provider(const WebPushOptions& options) {
  SO_TRY(VapidTokens tokens, VapidTokens::make(options.key, options.subject));
  auto origins = PushOrigins::make(options.origins);
  if (!origins) return fail(origins.error().code, "origins: " + origins.error().text);
  if (std::ranges::find(kUrgencies, options.urgency) == kUrgencies.end())
    return fail(Errc::invalid, "urgency must be one of very-low, low, normal, high");
  return std::make_unique<WebPushProvider>(std::move(tokens), std::move(*origins), options);
}

}  // namespace sendonce
