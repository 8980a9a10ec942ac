#include "classifiers/fcm/fcm_provider.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>

#include "classifiers/answer_rules.hpp"
#include "classifiers/fcm/fcm_answers.hpp"
#include "classifiers/fcm/fcm_oauth.hpp"
#include "classifiers/fcm/fcm_payload.hpp"
#include "classifiers/fcm/service_account.hpp"
#include "classifiers/stable_id.hpp"
#include "plugin/core/text.hpp"
#include "plugin/message/key.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kTokenMax = 4096;
constexpr std::size_t kCollapseMax = 64;          // of apns-collapse-id
constexpr std::int64_t kTtlMax = 28 * 24 * 3600;  // FCM's own default and limit

class FcmProvider final : public Provider {
 public:
  FcmProvider(std::string project, FcmOauth oauth, std::vector<AnswerRule> answers)
      : project_(std::move(project)),
        path_("/v1/projects/" + project_ + "/messages:send"),
        oauth_(std::move(oauth)),
        answers_(std::move(answers)) {
    capabilities_.kind = ProviderKind::fcm;
    capabilities_.channel = Channel::push;
    capabilities_.collapse_bytes_max = kCollapseMax;
  }

  [[nodiscard]] const Capabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] std::string app_scope() const override { return "fcm:" + project_; }

  [[nodiscard]] Result<Destination> normal_form(const Target& target) const override {
    SO_CHECK(check_token(target.destination.expose()));
    return target.destination;
  }

  [[nodiscard]] Result<HttpRequest> prepare(const Attempt& attempt, WallTime now) override;

  [[nodiscard]] Verdict classify(const Target& /*target*/, const CallResult& result,
                                 WallTime now) const override {
    return amended(answers_, result, judge_fcm(result, now), now);
  }

  [[nodiscard]] bool ready(WallTime now) const override { return oauth_.ready(now); }
  [[nodiscard]] std::optional<HttpRequest> needs_auth(WallTime now) override {
    return oauth_.needs_auth(now);
  }
  [[nodiscard]] Verdict accept_auth(const CallResult& result, WallTime now) override {
    return oauth_.accept(result, now);
  }
  bool credential_refused(WallTime now) override {
    oauth_.refused(now);
    return false;
  }
  [[nodiscard]] std::uint64_t credential() const override { return oauth_.fetched(); }
  [[nodiscard]] std::optional<WallTime> credential_ends() const override { return oauth_.ends(); }

 private:
  [[nodiscard]] static Result<void> check_token(std::string_view token);

  std::string project_;
  std::string path_;
  FcmOauth oauth_;
  std::vector<AnswerRule> answers_;
  Capabilities capabilities_{};
};

Result<void> FcmProvider::check_token(std::string_view token) {
  if (token.empty()) return fail(Errc::invalid, "token is empty");
  if (token.size() > kTokenMax) return fail(Errc::invalid, "token is longer than 4096 bytes");
  const bool clean = std::all_of(token.begin(), token.end(), [](char c) {
    const auto b = static_cast<unsigned char>(c);
    return b > 0x20 && b != 0x7f;
  });
  if (!clean) return fail(Errc::invalid, "token has spaces or control characters");
  return {};
}

Result<HttpRequest> FcmProvider::prepare(const Attempt& attempt, WallTime now) {
  SO_ASSERT(!oauth_.authorization().empty());
  const std::string& token = attempt.target.destination.expose();
  SO_CHECK(check_token(token));
  SO_CHECK(check_header_value(attempt.collapse, "collapse", kCollapseMax));
  std::array<char, kUuidSize> nid{};
  FcmPayloadFields fields;
  fields.token = token;
  fields.nid = write_uuid(nid, nid_from(attempt.nid).bytes);
  fields.collapse = attempt.collapse;
  // Whole seconds, never past the deadline.
  using std::chrono::floor, std::chrono::seconds;
  const auto left = floor<seconds>(attempt.deadline - now).count();
  fields.ttl_s = std::clamp<std::int64_t>(left, 0, kTtlMax);
  const auto last = floor<seconds>(attempt.deadline);
  fields.expiration_s = last <= now ? 0 : last.time_since_epoch().count();

  HttpRequest request;
  SO_TRY(request.body, fcm_payload(attempt.notification, fields));
  request.path = path_;
  request.headers.reserve(2, 64 + oauth_.authorization().size());
  request.headers.add("authorization", oauth_.authorization());
  request.headers.add("content-type", "application/json");
  return request;
}

bool is_project_id(std::string_view text) {
  return !text.empty() && text.size() <= 128 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == ':' || c == '_';
  });
}

}  // namespace

Result<std::unique_ptr<Provider>> make_fcm_provider(const FcmOptions& options) {
  SO_TRY(const ServiceAccount account, parse_service_account(options.service_account));
  const std::string& project = options.project.empty() ? account.project_id : options.project;
  if (!is_project_id(project))
    return fail(Errc::invalid, "project is not a Firebase project id (letters, digits, - . : _)");
  SO_TRY(FcmOauth oauth, FcmOauth::make(account, options.token_endpoint));
  return std::make_unique<FcmProvider>(project, std::move(oauth), options.answers);
}

}  // namespace sendonce
