#include "classifiers/fcm/fcm_provider.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/classifiers/fixtures.hpp"

namespace sendonce::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

FcmOptions options() {
  FcmOptions o;
  o.service_account = Credential(service_account_json());
  return o;
}

std::unique_ptr<Provider> provider() {
  auto made = make_fcm_provider(options()).value();
  EXPECT_TRUE(made->needs_auth(kNow));
  EXPECT_EQ(
      made->accept_auth(answer(200, R"({"access_token":"ya29.t","expires_in":3599})"), kNow).name,
      VerdictClass::accepted);
  return made;
}

TEST(FcmProvider, golden_request) {
  const auto fcm = provider();
  const Sample sample("dGVzdA:APA91b_x-y");
  const auto request = fcm->prepare(sample.attempt(), kNow);
  ASSERT_TRUE(request) << request.error().text;
  EXPECT_EQ(request->method, "POST");
  EXPECT_EQ(request->url, "");
  EXPECT_EQ(request->path, "/v1/projects/demo-1/messages:send");
  EXPECT_EQ(text_of(request->headers),
            "authorization: Bearer ya29.t\ncontent-type: application/json\n");
  EXPECT_EQ(
      request->body,
      R"({"message":{"token":"dGVzdA:APA91b_x-y",)"
      R"("notification":{"title":"On its way","body":"Parcel \"8812\" left."},)"
      R"("data":{"order":"8812","nid":"f0f1f2f3-f4f5-86f7-b8f9-fafbfcfdfeff"},)"
      R"("android":{"ttl":"21600s","notification":{"tag":"order-8812"}},)"
      R"("apns":{"headers":{"apns-expiration":"1795975200","apns-collapse-id":"order-8812"}},)"
      R"("webpush":{"headers":{"TTL":"21600"}}}})");
}

TEST(FcmProvider, every_attempt_has_the_same_bytes_but_for_credential_and_lifetimes) {
  const auto fcm = provider();
  const Sample sample("token");
  const HttpRequest first = fcm->prepare(sample.attempt(), kNow).value();
  const HttpRequest second = fcm->prepare(sample.attempt(), kNow + minutes(10)).value();
  EXPECT_EQ(first.path, second.path);
  EXPECT_EQ(text_of(first.headers), text_of(second.headers));
  std::string shrunk = first.body;
  for (const char* lifetime : {R"("ttl":"21600s")", R"("TTL":"21600")"}) {
    const std::size_t at = shrunk.find(lifetime);
    ASSERT_NE(at, std::string::npos);
    shrunk.replace(at + 7, 5, "21000");
  }
  EXPECT_EQ(shrunk, second.body);
}

TEST(FcmProvider, lifetimes_stay_between_0_and_28_days) {
  const auto fcm = provider();
  const auto body = [&](WallTime deadline) {
    Sample sample("token");
    sample.deadline = deadline;
    return fcm->prepare(sample.attempt(), kNow).value().body;
  };
  EXPECT_THAT(body(kNow + std::chrono::milliseconds(1999)), HasSubstr(R"("ttl":"1s")"));
  EXPECT_THAT(body(kNow), HasSubstr(R"("ttl":"0s")"));
  EXPECT_THAT(body(kNow), HasSubstr(R"("apns-expiration":"0")"));
  EXPECT_THAT(body(kNow - hours(1)), HasSubstr(R"("ttl":"0s")"));
  EXPECT_THAT(body(kNow + hours(24 * 60)), HasSubstr(R"("ttl":"2419200s")"));
}

TEST(FcmProvider, tokens_are_as_given) {
  const auto fcm = provider();
  const auto normal = [&](std::string token) {
    Target target;
    target.destination = Destination(std::move(token));
    return fcm->normal_form(target);
  };
  EXPECT_EQ(normal("AbC:d-_%")->expose(), "AbC:d-_%");
  EXPECT_TRUE(normal(std::string(4096, 'a')));
  for (const std::string& bad : {std::string(), std::string("a b"), std::string("a\n"),
                                 std::string("a\x7f"), std::string(4097, 'a')}) {
    const auto result = normal(bad);
    ASSERT_FALSE(result);
    if (!bad.empty()) {
      EXPECT_THAT(result.error().text, Not(HasSubstr(bad)));
    }
  }
}

TEST(FcmProvider, payload_errors_come_before_the_claim) {
  const auto fcm = provider();
  Sample sample("token");
  sample.notification.content.data = {{"n", "5"}};
  const auto request = fcm->prepare(sample.attempt(), kNow);
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().text, "notification.data.n must be a string");
  Sample spaced("to ken");
  EXPECT_FALSE(fcm->prepare(spaced.attempt(), kNow));
  Sample collapsed("token");
  collapsed.collapse = std::string(65, 'x');
  EXPECT_FALSE(fcm->prepare(collapsed.attempt(), kNow));
}

TEST(FcmProvider, scope_project_and_capabilities) {
  EXPECT_EQ(provider()->app_scope(), "fcm:demo-1");
  FcmOptions other = options();
  other.project = "other-2";
  EXPECT_EQ(make_fcm_provider(other).value()->app_scope(), "fcm:other-2");
  const auto fcm = provider();
  EXPECT_EQ(fcm->capabilities().kind, ProviderKind::fcm);
  EXPECT_FALSE(fcm->capabilities().idempotency_key);
  EXPECT_FALSE(fcm->capabilities().lookup);
  EXPECT_FALSE(fcm->capabilities().one_stream_first);
}

TEST(FcmProvider, options_are_checked) {
  FcmOptions bad = options();
  bad.project = "a/b";
  EXPECT_THAT(make_fcm_provider(bad).error().text, HasSubstr("project"));
  bad = options();
  bad.service_account = Credential("{}");
  EXPECT_THAT(make_fcm_provider(bad).error().text, HasSubstr("type"));
  std::string json = service_account_json();
  json.replace(json.find("BEGIN PRIVATE KEY"), 17, "BEGIN SECRET STEP");
  bad.service_account = Credential(json);
  EXPECT_THAT(make_fcm_provider(bad).error().text, HasSubstr("private_key of the service account"));
}

TEST(FcmProvider, a_401_without_fcm_error_asks_for_one_new_token) {
  const auto fcm = provider();
  const CallResult refused = answer(401, R"({"error":{"status":"UNAUTHENTICATED"}})");
  EXPECT_TRUE(fcm->classify({}, refused, kNow).refresh_credential);
  fcm->credential_refused(kNow);
  EXPECT_TRUE(fcm->needs_auth(kNow));
  EXPECT_TRUE(fcm->ready(kNow));
}

}  // namespace
}  // namespace sendonce::test
