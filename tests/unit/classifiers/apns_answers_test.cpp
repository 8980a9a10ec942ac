#include "classifiers/apns/apns_answers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/classifiers/fixtures.hpp"

namespace sendonce::test {
namespace {

using ::testing::HasSubstr;
using enum VerdictClass;

Verdict judge(const CallResult& result, std::optional<WallTime> registered_at = {}) {
  return judge_apns(result, registered_at, kNow);
}

Verdict reason(int status, const std::string& text) {
  return judge(answer(status, R"({"reason":")" + text + "\"}"));
}

TEST(ApnsAnswers, accepted_needs_200_and_apns_id) {
  const Verdict v = judge(answer(200, "", {{"apns-id", "EABEAE54-14A8-11E5-B60B-1697F925EC7B"}}));
  EXPECT_EQ(v.name, accepted);
  EXPECT_EQ(v.effect, Effect::sent);
  EXPECT_EQ(v.fault, Fault::none);
  EXPECT_EQ(v.message_id, "EABEAE54-14A8-11E5-B60B-1697F925EC7B");

  for (const Verdict& missing : {judge(answer(200)), judge(answer(200, "", {{"apns-id", ""}})),
                                 judge(answer(202, "", {{"apns-id", "x"}}))}) {
    EXPECT_EQ(missing.name, ambiguous);
    EXPECT_EQ(missing.effect, Effect::maybe_sent);
    EXPECT_TRUE(missing.receipt_missing);
  }
}

// Apple's table, row by row.
TEST(ApnsAnswers, every_documented_reason) {
  struct Case {
    int status;
    const char* reason;
    VerdictClass want;
    FaultScope scope;
  };
  constexpr auto kDelivery = FaultScope::delivery;
  constexpr auto kDevice = FaultScope::device;
  constexpr auto kProvider = FaultScope::provider;
  for (const Case& c :
       std::vector<Case>{{400, "BadCollapseId", payload_error, kDelivery},
                         {400, "BadDeviceToken", token_terminal, kDevice},
                         {400, "BadExpirationDate", payload_error, kDelivery},
                         {400, "BadMessageId", payload_error, kDelivery},
                         {400, "BadPriority", payload_error, kDelivery},
                         {400, "BadTopic", config_error, kProvider},
                         {400, "DeviceTokenNotForTopic", token_mismatch, kDevice},
                         {400, "DuplicateHeaders", config_error, kDelivery},
                         {400, "IdleTimeout", retryable, kDelivery},
                         {400, "InvalidPushType", payload_error, kDelivery},
                         {400, "MissingDeviceToken", payload_error, kDelivery},
                         {400, "MissingTopic", config_error, kProvider},
                         {400, "PayloadEmpty", payload_error, kDelivery},
                         {400, "TopicDisallowed", config_error, kProvider},
                         {403, "BadCertificate", provider_auth, kProvider},
                         {403, "BadCertificateEnvironment", provider_auth, kProvider},
                         {403, "BadEnvironmentKeyIdInToken", provider_auth, kProvider},
                         {403, "BadEnvironmentKeyInToken", provider_auth, kProvider},
                         {403, "ExpiredProviderToken", provider_auth, kProvider},
                         {403, "Forbidden", provider_auth, kProvider},
                         {403, "InvalidProviderToken", provider_auth, kProvider},
                         {403, "MissingProviderToken", provider_auth, kProvider},
                         {403, "UnrelatedKeyIdInToken", provider_auth, kProvider},
                         {404, "BadPath", config_error, kDelivery},
                         {405, "MethodNotAllowed", config_error, kProvider},
                         {410, "ExpiredToken", token_terminal, kDevice},
                         {410, "Unregistered", token_terminal, kDevice},
                         {413, "PayloadTooLarge", payload_error, kDelivery},
                         {429, "TooManyProviderTokenUpdates", provider_auth, kProvider},
                         {429, "TooManyRequests", throttled, kDevice},
                         {503, "ServiceUnavailable", retryable, kDelivery},
                         {503, "Service Unavailable", retryable, kDelivery},
                         {503, "Shutdown", retryable, kDelivery},
                         {400, "BadChannelId", config_error, kProvider},
                         {403, "TopicMismatch", config_error, kProvider}}) {
    const Verdict v = reason(c.status, c.reason);
    EXPECT_EQ(v.name, c.want) << c.reason;
    EXPECT_EQ(v.effect, Effect::not_sent) << c.reason;
    EXPECT_EQ(v.scope, c.scope) << c.reason;
    EXPECT_EQ(v.reason, c.reason);
  }
}

TEST(ApnsAnswers, internal_server_error_may_have_sent_and_sticks_to_its_connection) {
  const Verdict v = reason(500, "InternalServerError");
  EXPECT_EQ(v.name, retryable);
  EXPECT_EQ(v.effect, Effect::maybe_sent);
  EXPECT_TRUE(v.reconnect);
}

TEST(ApnsAnswers, which_connections_are_left) {
  EXPECT_TRUE(reason(400, "IdleTimeout").reconnect);
  EXPECT_TRUE(reason(403, "UnrelatedKeyIdInToken").reconnect);
  EXPECT_TRUE(reason(503, "Shutdown").reconnect);
  EXPECT_FALSE(reason(503, "ServiceUnavailable").reconnect);
  EXPECT_FALSE(reason(400, "BadDeviceToken").reconnect);
}

TEST(ApnsAnswers, only_an_expired_token_asks_for_another) {
  EXPECT_TRUE(reason(403, "ExpiredProviderToken").refresh_credential);
  for (const char* other : {"InvalidProviderToken", "MissingProviderToken", "Forbidden"})
    EXPECT_FALSE(reason(403, other).refresh_credential) << other;
  const Verdict churn = reason(429, "TooManyProviderTokenUpdates");
  EXPECT_FALSE(churn.refresh_credential);
  EXPECT_GE(churn.retry_after, minutes(20));
}

TEST(ApnsAnswers, an_expired_token_is_compared_with_the_providers_clock) {
  const Verdict v = judge(answer(403, R"({"reason":"ExpiredProviderToken"})",
                                 {{"date", "Sun, 29 Nov 2026 13:00:00 GMT"}}));
  EXPECT_THAT(v.reason, HasSubstr("our clock is 3600 s behind"));
}

TEST(ApnsAnswers, one_device_is_throttled_alone) {
  EXPECT_EQ(reason(429, "TooManyRequests").retry_after, minutes(1));
  const Verdict v = judge(answer(429, R"({"reason":"TooManyRequests"})", {{"retry-after", "90"}}));
  EXPECT_EQ(v.retry_after, seconds(90));
  EXPECT_EQ(v.scope, FaultScope::device);
}

TEST(ApnsAnswers, retry_after_of_a_503_is_kept) {
  const Verdict v =
      judge(answer(503, R"({"reason":"ServiceUnavailable"})", {{"retry-after", "7200"}}));
  EXPECT_EQ(v.retry_after, hours(2));
  EXPECT_EQ(v.scope, FaultScope::provider);
}

TEST(ApnsAnswers, a_bad_token_waits_for_proof) {
  EXPECT_TRUE(reason(400, "BadDeviceToken").needs_proof);
  EXPECT_FALSE(reason(410, "Unregistered").needs_proof);
}

TEST(ApnsAnswers, a_device_ends_only_by_its_own_status) {
  for (const int status : {400, 403, 404, 429, 500, 503})
    EXPECT_NE(reason(status, "Unregistered").name, token_terminal) << status;
  for (const int status : {403, 404, 410, 500})
    EXPECT_NE(reason(status, "BadDeviceToken").name, token_terminal) << status;
  EXPECT_EQ(reason(500, "BadTopic").name, retryable);
}

TEST(ApnsAnswers, the_timestamp_is_in_milliseconds) {
  const Verdict v = judge(answer(410, R"({"reason":"Unregistered","timestamp":1520467200000})"));
  EXPECT_EQ(v.invalid_since, WallTime(seconds(1'520'467'200)));
  EXPECT_FALSE(v.ignore_device);
}

TEST(ApnsAnswers, a_later_registration_keeps_the_device_but_not_the_delivery) {
  const HttpAnswer gone = answer(410, R"({"reason":"Unregistered","timestamp":1520467200000})");
  const WallTime since{seconds(1'520'467'200)};
  const Verdict later = judge(gone, since + seconds(1));
  EXPECT_EQ(later.name, token_terminal);
  EXPECT_EQ(later.effect, Effect::not_sent);
  EXPECT_TRUE(later.ignore_device);
  EXPECT_FALSE(judge(gone, since).ignore_device);
  EXPECT_FALSE(judge(gone, since - seconds(1)).ignore_device);
}

TEST(ApnsAnswers, without_a_timestamp_now_counts_and_a_broken_one_keeps_the_device) {
  const Verdict v = judge(answer(410, R"({"reason":"Unregistered"})"), kNow - hours(1));
  EXPECT_EQ(v.invalid_since, kNow);
  EXPECT_FALSE(v.ignore_device);
  for (const char* broken : {"\"1520467200000\"", "-1", "1520467200", "1.5e12", "null", "{}",
                             "99999999999999999999", "9223372036854775807"}) {
    const Verdict b =
        judge(answer(410, std::string(R"({"reason":"Unregistered","timestamp":)") + broken + "}"));
    EXPECT_TRUE(b.ignore_device) << broken;
    EXPECT_FALSE(b.invalid_since) << broken;
  }
}

TEST(ApnsAnswers, unknown_reasons_are_judged_by_status_and_named) {
  const Verdict v = reason(400, "SomethingNew");
  EXPECT_EQ(v.name, payload_error);
  EXPECT_EQ(v.reason, "http_400 SomethingNew");
  EXPECT_EQ(reason(403, "SomethingNew").name, provider_auth);
  EXPECT_EQ(reason(410, "SomethingNew").name, config_error);
  EXPECT_EQ(reason(404, "SomethingNew").name, config_error);
  EXPECT_EQ(reason(400, "<script>").reason, "http_400 unreadable code");
}

TEST(ApnsAnswers, bodies_without_a_reason) {
  EXPECT_EQ(judge(answer(410)).name, config_error);
  EXPECT_EQ(judge(answer(404, "<html>")).name, config_error);
  EXPECT_EQ(judge(answer(410, R"({"reason":["Unregistered"]})")).name, config_error);
  EXPECT_EQ(judge(answer(410, R"(["Unregistered"])")).name, config_error);
  EXPECT_EQ(judge(answer(503)).effect, Effect::maybe_sent);
}

TEST(ApnsAnswers, a_cut_answer_with_its_receipt_is_accepted) {
  CallFailure f = failure(Effect::maybe_sent, Cause::connection_lost);
  f.partial = answer(200, "", {{"apns-id", "id-1"}});
  const Verdict v = judge(f);
  EXPECT_EQ(v.name, accepted);
  EXPECT_EQ(v.message_id, "id-1");
  f.partial = answer(410, R"({"reason":"Unregistered"})");
  EXPECT_EQ(judge(f).name, ambiguous);
  f.partial = answer(200);
  EXPECT_EQ(judge(f).name, ambiguous);
  EXPECT_TRUE(judge(f).receipt_missing);
}

}  // namespace
}  // namespace sendonce::test
