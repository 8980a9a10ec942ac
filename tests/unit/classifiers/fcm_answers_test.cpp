#include "classifiers/fcm/fcm_answers.hpp"

#include <gtest/gtest.h>

#include "tests/unit/classifiers/fixtures.hpp"

namespace sendonce::test {
namespace {

using enum VerdictClass;

constexpr const char* kTypes = "type.googleapis.com/";

std::string detail(const std::string& type, const std::string& rest) {
  return R"({"@type":")" + (kTypes + type) + "\"" + (rest.empty() ? "" : "," + rest) + "}";
}
std::string fcm_error(const std::string& code) {
  return detail("google.firebase.fcm.v1.FcmError", R"("errorCode":")" + code + "\"");
}
std::string violation(const std::string& field) {
  return detail("google.rpc.BadRequest",
                R"("fieldViolations":[{"field":")" + field + R"(","description":"x"}])");
}
std::string error_info(const std::string& reason) {
  return detail("google.rpc.ErrorInfo", R"("reason":")" + reason + "\"");
}

Verdict judge(int status, const std::string& message, const std::string& details = {},
              std::initializer_list<std::pair<const char*, const char*>> headers = {}) {
  const std::string body = R"({"error":{"code":)" + std::to_string(status) + R"(,"message":")" +
                           message + R"(","details":[)" + details + "]}}";
  return judge_fcm(answer(status, body, headers), kNow);
}

Verdict raw(int status, const std::string& body) {
  return judge_fcm(answer(status, body), kNow);
}

TEST(FcmAnswers, accepted_needs_a_name) {
  for (const char* body :
       {R"({"name":"projects/p/messages/0:1"})", "{\n  \"name\": \"projects/p/messages/0:1\"\n}\n",
        R"({"name":"projects\/p\/messages\/0:1"})",
        R"({"other":1,"name":"projects/p/messages/0:1"})"}) {
    const Verdict v = raw(200, body);
    EXPECT_EQ(v.name, accepted) << body;
    EXPECT_EQ(v.effect, Effect::sent);
    EXPECT_EQ(v.message_id, "projects/p/messages/0:1");
  }
  for (const char* body :
       {"", "{}", R"({"name":""})", R"({"name":5})", R"({"name":"a)", R"({"name":"a"} x)",
        R"({"name":"a"}})", R"({"name":"a","name":"b"})", R"({"results":[{"message_id":"1"}]})",
        R"({"error":{}})", "<html>", R"({"statusCode":403,"name":"validation_error"})",
        R"({"name":"projects/p"})", R"({"name":"projects//messages/1"})",
        R"({"name":"projects/p/messages/"})", R"({"name":"/messages/1"})"}) {
    const Verdict v = raw(200, body);
    EXPECT_EQ(v.name, ambiguous) << body;
    EXPECT_TRUE(v.receipt_missing) << body;
    EXPECT_EQ(v.effect, Effect::maybe_sent);
  }
}

TEST(FcmAnswers, unregistered_needs_its_detail_and_its_status) {
  EXPECT_EQ(judge(404, "Requested entity was not found.", fcm_error("UNREGISTERED")).name,
            token_terminal);
  const Verdict bare = judge(404, "Requested entity was not found.");
  EXPECT_EQ(bare.name, config_error);
  EXPECT_EQ(bare.scope, FaultScope::provider);
  EXPECT_EQ(judge(404, "x", detail("google.rpc.Other", R"("errorCode":"UNREGISTERED")")).name,
            config_error);
  for (const int status : {400, 401, 403, 429, 500, 503})
    EXPECT_NE(judge(status, "x", fcm_error("UNREGISTERED")).name, token_terminal) << status;
}

TEST(FcmAnswers, invalid_argument_ends_a_token_only_when_it_names_it) {
  const std::string sentence = "The registration token is not a valid FCM registration token";
  EXPECT_EQ(judge(400, sentence, fcm_error("INVALID_ARGUMENT")).name, token_terminal);
  EXPECT_EQ(judge(400, sentence + ".").name, token_terminal);
  EXPECT_EQ(judge(400, "Request contains an invalid argument.",
                  fcm_error("INVALID_ARGUMENT") + "," + violation("message.token"))
                .name,
            token_terminal);
  EXPECT_EQ(judge(400, "x", violation("message.token")).name, token_terminal);

  for (const Verdict& v :
       {judge(400, "Request contains an invalid argument.", fcm_error("INVALID_ARGUMENT")),
        judge(400, "x", violation("message.data[0].value")), judge(400, "x", violation("message")),
        judge(400, "x", violation("message.token.x")),
        judge(400, "Invalid JSON payload received. Unknown name \\\"a\\\""),
        judge(400, "Note: the registration token is not a valid FCM registration token")})
    EXPECT_EQ(v.name, payload_error) << v.reason;
  EXPECT_NE(judge(403, sentence, fcm_error("INVALID_ARGUMENT")).name, token_terminal);
  EXPECT_NE(raw(400, sentence).name, token_terminal);  // no JSON, no verdict on a device
}

TEST(FcmAnswers, two_codes_that_disagree_are_none) {
  EXPECT_EQ(judge(404, "x", fcm_error("UNREGISTERED") + "," + fcm_error("INTERNAL")).name,
            config_error);
  EXPECT_EQ(judge(404, "x", fcm_error("UNREGISTERED") + "," + fcm_error("UNREGISTERED")).name,
            token_terminal);
}

TEST(FcmAnswers, third_party_auth_concerns_apple_or_the_web_alone) {
  const Verdict apns = judge(401, "Request is missing required authentication credential.",
                             fcm_error("THIRD_PARTY_AUTH_ERROR"));
  EXPECT_EQ(apns.name, config_error);
  EXPECT_EQ(apns.scope, FaultScope::part);
  EXPECT_EQ(apns.part, "apns");
  EXPECT_FALSE(apns.refresh_credential);
  EXPECT_EQ(
      judge(401, "Auth error from APNS or Web Push Service", fcm_error("THIRD_PARTY_AUTH_ERROR"))
          .part,
      "apns");
  EXPECT_EQ(
      judge(401, "Auth error from Web Push Service", fcm_error("THIRD_PARTY_AUTH_ERROR")).part,
      "webpush");
  EXPECT_EQ(judge(401, "VAPID",
                  fcm_error("THIRD_PARTY_AUTH_ERROR") + "," +
                      detail("google.firebase.fcm.v1.ApnsError",
                             R"("statusCode":403,"reason":"InvalidProviderToken")"))
                .part,
            "apns");
}

TEST(FcmAnswers, credentials) {
  const Verdict stale = judge(401, "Request had invalid authentication credentials.");
  EXPECT_EQ(stale.name, provider_auth);
  EXPECT_TRUE(stale.refresh_credential);
  const Verdict iam = judge(403, "Permission 'cloudmessaging.messages.create' denied on resource");
  EXPECT_EQ(iam.name, provider_auth);
  EXPECT_FALSE(iam.refresh_credential);
  EXPECT_EQ(judge(403, "SenderId mismatch", fcm_error("SENDER_ID_MISMATCH")).name, token_mismatch);
  EXPECT_EQ(judge(403, "x", error_info("SERVICE_DISABLED")).name, config_error);
  EXPECT_EQ(judge(403, "x", error_info("BILLING_DISABLED")).name, config_error);
  EXPECT_EQ(raw(403,
                "{\"error\":{\"message\":\"Firebase Cloud Messaging API has not been used in "
                "project 1 before or it is disab")
                .name,
            config_error);
  EXPECT_EQ(raw(403, "<html>").name, config_error);
}

TEST(FcmAnswers, quotas) {
  const Verdict device = judge(429, "Device message rate exceeded", fcm_error("QUOTA_EXCEEDED"));
  EXPECT_EQ(device.name, throttled);
  EXPECT_EQ(device.scope, FaultScope::device);
  EXPECT_EQ(device.retry_after, minutes(1));
  EXPECT_EQ(judge(429, "Quota of the project exceeded", fcm_error("QUOTA_EXCEEDED")).scope,
            FaultScope::provider);
  const Verdict project =
      judge(429, "Quota exceeded", error_info("RATE_LIMIT_EXCEEDED"), {{"retry-after", "17"}});
  EXPECT_EQ(project.name, throttled);
  EXPECT_EQ(project.scope, FaultScope::provider);
  EXPECT_EQ(project.retry_after, seconds(17));
  EXPECT_EQ(raw(429, "<html>").scope, FaultScope::provider);
}

TEST(FcmAnswers, server_errors_may_have_sent_and_wait_10_seconds) {
  for (const int status : {500, 502, 503, 504, 520}) {
    const Verdict v = judge(status, "x", fcm_error(status == 503 ? "UNAVAILABLE" : "INTERNAL"));
    EXPECT_EQ(v.name, retryable) << status;
    EXPECT_EQ(v.effect, Effect::maybe_sent) << status;
    EXPECT_EQ(v.retry_after, seconds(10)) << status;
  }
  EXPECT_EQ(judge(503, "x", {}, {{"retry-after", "3"}}).retry_after, seconds(3));
  EXPECT_EQ(raw(502, "<html>Please try again in 30 seconds.").retry_after, seconds(30));
  EXPECT_EQ(raw(502, "<html>Please try again in 99999999999 seconds.").retry_after, seconds(10));
  EXPECT_EQ(raw(502, "<html>Please try again in 30").retry_after, seconds(10));
  EXPECT_EQ(judge(503, "x", {}, {{"retry-after", "7200"}}).scope, FaultScope::provider);
}

TEST(FcmAnswers, unspecified_goes_by_status) {
  EXPECT_EQ(judge(400, "x", fcm_error("UNSPECIFIED_ERROR")).name, payload_error);
  EXPECT_EQ(judge(404, "x", fcm_error("UNSPECIFIED_ERROR")).name, config_error);
  EXPECT_EQ(judge(500, "x", fcm_error("UNSPECIFIED_ERROR")).name, retryable);
}

TEST(FcmAnswers, pages_and_silence) {
  EXPECT_EQ(raw(404, "<!DOCTYPE html>").name, config_error);
  EXPECT_TRUE(raw(404, "<!DOCTYPE html>").passing_if_proven);
  EXPECT_EQ(raw(408, "").name, ambiguous);
  EXPECT_EQ(raw(408, "{\"error\":{}}").name, ambiguous);
  EXPECT_EQ(raw(413, "").name, payload_error);
  EXPECT_EQ(raw(421, "").effect, Effect::not_sent);
  EXPECT_EQ(raw(302, "").name, config_error);
}

TEST(FcmAnswers, a_cut_answer_is_never_accepted) {
  CallFailure f = failure(Effect::maybe_sent, Cause::connection_lost);
  f.partial = answer(200, R"({"name":"projects/p/messages/1")");
  const Verdict v = judge_fcm(f, kNow);
  EXPECT_EQ(v.name, ambiguous);
  EXPECT_TRUE(v.receipt_missing);
}

TEST(FcmLegacy, by_index) {
  const std::string body =
      R"({"results":[{"message_id":"1:0408"},{"error":"Unavailable"},)"
      R"({"error":"InvalidRegistration"},)"
      R"({"message_id":"1:2342","registration_id":"32"},{"error":"MismatchSenderId"},)"
      R"({"error":"DeviceMessageRateExceeded"},{"error":"InvalidApnsCredential"},)"
      R"({"error":"MessageTooBig"},{"error":"New"},{},7]})";
  const std::vector<VerdictClass> want{accepted,       retryable, token_terminal, accepted,
                                       token_mismatch, throttled, config_error,   payload_error,
                                       ambiguous,      ambiguous, ambiguous,      ambiguous};
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_EQ(judge_fcm_legacy(answer(200, body), i, kNow).name, want[i]) << i;
  EXPECT_EQ(judge_fcm_legacy(answer(200, body), 6, kNow).part, "apns");
  EXPECT_EQ(judge_fcm_legacy(answer(404, "<HTML>"), 0, kNow).name, config_error);
  EXPECT_EQ(judge_fcm_legacy(answer(401), 0, kNow).name, provider_auth);
  EXPECT_EQ(judge_fcm_legacy(failure(Effect::not_sent, Cause::connect), 0, kNow).name, retryable);
}

}  // namespace
}  // namespace sendonce::test
