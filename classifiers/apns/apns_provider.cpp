#include "classifiers/apns/apns_provider.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "classifiers/answer_rules.hpp"
#include "classifiers/apns/apns_answers.hpp"
#include "classifiers/apns/apns_payload.hpp"
#include "classifiers/stable_id.hpp"
#include "plugin/core/text.hpp"
#include "plugin/message/key.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kPayloadMax = 4096;
constexpr std::size_t kVoipPayloadMax = 5120;
constexpr std::size_t kCollapseMax = 64;
constexpr std::size_t kTokenMax = 4096;   // Apple promises no size; this one fits into a header
constexpr std::size_t kFields = 8;        // of a request, at most
constexpr std::size_t kFieldBytes = 256;  // of names, and of values that are not counted

// A hexadecimal digit in lower case, 0 for everything else.
constexpr auto kLowerHex = [] {
  std::array<char, 256> table{};
  for (const char c : {'0', '1', '2', '3', '4', '5', '6', '7', '8', '9'})
    table[static_cast<unsigned char>(c)] = c;
  for (const char c : {'a', 'b', 'c', 'd', 'e', 'f'}) {
    table[static_cast<unsigned char>(c)] = c;
    table[static_cast<unsigned char>(c - 'a' + 'A')] = c;
  }
  return table;
}();

struct PushType {
  std::string_view name{};
  std::string_view suffix{};  // of the topic; empty: the bundle id alone
};

constexpr std::array<PushType, 11> kPushTypes{{
    {"alert", ""},
    {"background", ""},
    {"complication", ".complication"},
    {"controls", ".push-type.controls"},
    {"fileprovider", ".pushkit.fileprovider"},
    {"liveactivity", ".push-type.liveactivity"},
    {"location", ".location-query"},
    {"mdm", ""},
    {"pushtotalk", ".voip-ptt"},
    {"voip", ".voip"},
    {"widgets", ".push-type.widgets"},
}};

bool is_normal(std::string_view token) {
  return !token.empty() && token.size() <= kTokenMax && token.size() % 2 == 0 &&
         is_lower_hex(token);
}

std::string_view type_by_topic(std::string_view topic) {
  for (const PushType& type : kPushTypes)
    if (!type.suffix.empty() && topic.ends_with(type.suffix)) return type.name;
  return {};
}

Result<void> check_push_type(const ApnsOptions& options) {
  if (options.push_type.empty()) return {};
  const auto* type = std::find_if(kPushTypes.begin(), kPushTypes.end(),
                                  [&](const PushType& t) { return t.name == options.push_type; });
  if (type == kPushTypes.end())
    return fail(Errc::invalid,
                "push_type is none of alert, background, complication, controls, "
                "fileprovider, liveactivity, location, mdm, pushtotalk, voip, widgets");
  if (!type->suffix.empty() && !options.topic.ends_with(type->suffix))
    return fail(Errc::invalid, "push_type " + options.push_type + " needs a topic that ends in " +
                                   std::string(type->suffix));
  return {};
}

class ApnsProvider final : public Provider {
 public:
  ApnsProvider(const ApnsOptions& options, ApnsTokenSource& tokens)
      : tokens_(tokens),
        topic_(options.topic),
        environment_(options.sandbox ? "sandbox" : "production"),
        push_type_(options.push_type.empty() ? type_by_topic(options.topic) : options.push_type),
        payload_max_(push_type_ == "voip" ? kVoipPayloadMax : kPayloadMax),
        answers_(options.answers) {
    capabilities_.kind = ProviderKind::apns;
    capabilities_.channel = Channel::push;
    capabilities_.one_stream_first = true;
    capabilities_.collapse_bytes_max = kCollapseMax;
  }

  [[nodiscard]] const Capabilities& capabilities() const override { return capabilities_; }

  [[nodiscard]] std::string app_scope() const override {
    return "apns:" + topic_ + ":" + environment_;
  }

  [[nodiscard]] Result<Destination> normal_form(const Target& target) const override;
  [[nodiscard]] Result<HttpRequest> prepare(const Attempt& attempt, WallTime now) override;
  [[nodiscard]] Verdict classify(const Target& target, const CallResult& result,
                                 WallTime now) const override;

  [[nodiscard]] bool ready(WallTime now) const override { return tokens_.usable(now); }
  [[nodiscard]] std::optional<HttpRequest> needs_auth(WallTime now) override {
    tokens_.keep_fresh(now);
    return std::nullopt;
  }
  [[nodiscard]] Verdict accept_auth(const CallResult& /*result*/, WallTime /*now*/) override {
    SO_ASSERT(false);  // needs_auth never asks for a call
  }
  bool credential_refused(WallTime now) override { return tokens_.refused(now); }
  [[nodiscard]] std::uint64_t credential() const override { return tokens_.minted(); }
  [[nodiscard]] std::optional<WallTime> credential_ends() const override { return tokens_.ends(); }

 private:
  void add_headers(Headers& headers, const Attempt& attempt, bool background, WallTime now) const;

  ApnsTokenSource& tokens_;
  std::string topic_;
  std::string environment_;
  std::string push_type_;  // empty: alert or background, by the notification
  std::size_t payload_max_;
  std::vector<AnswerRule> answers_;
  Capabilities capabilities_{};
};

Result<Destination> ApnsProvider::normal_form(const Target& target) const {
  if (is_normal(target.destination.expose())) return target.destination;
  std::string token = target.destination.expose();
  if (token.empty()) return fail(Errc::invalid, "token is empty");
  if (token.size() > kTokenMax) return fail(Errc::invalid, "token is longer than 4096 digits");
  if (token.size() % 2 != 0) return fail(Errc::invalid, "token has an odd number of digits");
  bool hexadecimal = true;
  for (char& c : token) {
    c = kLowerHex[static_cast<unsigned char>(c)];
    hexadecimal = hexadecimal && c != 0;
  }
  if (!hexadecimal) return fail(Errc::invalid, "token is not hexadecimal, as APNs has it");
  return Destination(std::move(token));
}

// Constant fields first and indexed; those that differ from call to call would only push them out
// of the table (Apple's own advice).
void ApnsProvider::add_headers(Headers& headers, const Attempt& attempt, bool background,
                               WallTime now) const {
  std::string_view push_type = push_type_;
  if (push_type.empty()) push_type = background ? "background" : "alert";
  headers.reserve(kFields, kFieldBytes + tokens_.authorization().size() + topic_.size() +
                               attempt.collapse.size());
  headers.add("authorization", tokens_.authorization());
  headers.add("apns-topic", topic_);
  headers.add("apns-push-type", push_type);
  headers.add("apns-priority", push_type == "background" ? "5" : "10");
  // Whole seconds, never past the deadline. 0: one attempt, not stored.
  const auto last = std::chrono::floor<std::chrono::seconds>(attempt.deadline);
  std::string expiration;
  append_number(expiration, last <= now ? 0 : last.time_since_epoch().count());
  headers.add("apns-expiration", expiration, true);
  if (!attempt.collapse.empty()) headers.add("apns-collapse-id", attempt.collapse, true);
  std::array<char, kUuidSize> id{};
  headers.add("apns-id", write_uuid(id, uuid_from(attempt.key)), true);
}

Result<HttpRequest> ApnsProvider::prepare(const Attempt& attempt, WallTime now) {
  SO_ASSERT(!tokens_.authorization().empty());
  const std::string& token = attempt.target.destination.expose();
  if (!is_normal(token)) return fail(Errc::invalid, "token is not in normal form");
  SO_CHECK(check_header_value(attempt.collapse, "collapse", kCollapseMax));
  std::array<char, kUuidSize> nid{};
  SO_TRY(ApnsPayload payload,
         apns_payload(attempt.notification, write_uuid(nid, nid_from(attempt.nid).bytes),
                      !push_type_.empty()));
  if (payload.body.size() > payload_max_)
    return fail(Errc::invalid, "the payload has " + std::to_string(payload.body.size()) +
                                   " bytes, APNs takes " + std::to_string(payload_max_));
  HttpRequest request;
  request.path.reserve(10 + token.size());
  request.path.append("/3/device/").append(token);
  add_headers(request.headers, attempt, payload.background, now);
  request.body = std::move(payload.body);
  return request;
}

Verdict ApnsProvider::classify(const Target& target, const CallResult& result, WallTime now) const {
  Verdict v = amended(answers_, result, judge_apns(result, target.registered_at, now), now);
  if (v.refresh_credential && tokens_.clock_suspect(now)) {
    v.refresh_credential = tokens_.renewable(now);
    v.reason += ", although the token is new: check this machine's clock";
  }
  return v;
}

}  // namespace

Result<std::unique_ptr<Provider>> make_apns_provider(const ApnsOptions& options,
                                                     ApnsTokenSource& tokens) {
  if (options.topic.empty()) return fail(Errc::invalid, "topic is missing: the app's bundle id");
  SO_CHECK(check_header_value(options.topic, "topic", 256));
  SO_CHECK(check_push_type(options));
  return std::make_unique<ApnsProvider>(options, tokens);
}

}  // namespace sendonce
