#include "classifiers/webpush/webpush_answers.hpp"

#include <gtest/gtest.h>

#include "tests/unit/classifiers/fixtures.hpp"

namespace sendonce::test {
namespace {

using enum VerdictClass;
using enum PushService;

constexpr std::array kServices{other, fcm, mozilla, apple, wns};

Verdict judge(PushService service, const HttpAnswer& a) {
  return judge_webpush(a, service, kNow);
}

std::string mozilla_error(int status, int number, const char* message = "x") {
  return R"({"code":)" + std::to_string(status) + R"(,"errno":)" + std::to_string(number) +
         R"(,"error":"x","message":")" + message + R"(","more_info":"x"})";
}

TEST(WebPushAnswers, a_service_is_known_by_its_host) {
  EXPECT_EQ(push_service_of("fcm.googleapis.com"), fcm);
  EXPECT_EQ(push_service_of("updates.push.services.mozilla.com"), mozilla);
  EXPECT_EQ(push_service_of("web.push.apple.com"), apple);
  EXPECT_EQ(push_service_of("wns2-par02p.notify.windows.com"), wns);
  EXPECT_EQ(push_service_of("push.example.net"), other);
  EXPECT_EQ(push_service_of("fcm.googleapis.com.example.net"), other);
}

TEST(WebPushAnswers, a_201_is_the_receipt) {
  for (const PushService service : kServices) {
    const Verdict v =
        judge(service, answer(201, "", {{"location", "https://push.example.net/m/0:17%0f49"}}));
    EXPECT_EQ(v.name, accepted);
    EXPECT_EQ(v.message_id, "/m/0:17%0f49");
    EXPECT_EQ(judge(service, answer(201)).name, accepted);
    EXPECT_EQ(judge(service, answer(202)).name, accepted);
    const Verdict page = judge(service, answer(201, "<html>welcome</html>"));
    EXPECT_EQ(page.name, ambiguous) << "a captive portal's";
    EXPECT_TRUE(page.receipt_missing);
  }
  EXPECT_EQ(judge(apple, answer(201, "", {{"apns-id", "eabeae54"}})).message_id, "eabeae54");
  EXPECT_EQ(
      judge(mozilla, answer(201, "", {{"location", std::string(300, 'x').c_str()}})).message_id, "")
      << "no room in a row";
}

// Law 6: a 2xx without the provider's receipt is maybe sent.
TEST(WebPushAnswers, other_2xx_need_a_receipt) {
  for (const PushService service : {other, fcm, mozilla, apple}) {
    for (const int status : {200, 203, 204, 206, 299}) {
      const Verdict v = judge(service, answer(status));
      EXPECT_EQ(v.name, ambiguous) << status;
      EXPECT_TRUE(v.receipt_missing);
    }
    EXPECT_EQ(judge(service, answer(204, "", {{"location", "/m/1"}})).name, accepted);
    EXPECT_EQ(judge(service, answer(200, "<html>", {{"location", "/m/1"}})).name, ambiguous);
  }
  EXPECT_EQ(judge(wns, answer(200)).name, accepted);
}

TEST(WebPushAnswers, the_end_of_a_subscription) {
  for (const PushService service : kServices) {
    const Verdict gone = judge(service, answer(410));
    EXPECT_EQ(gone.name, token_terminal);
    EXPECT_EQ(gone.scope, FaultScope::device);
    EXPECT_FALSE(gone.needs_proof);
    const Verdict missing = judge(service, answer(404));
    EXPECT_EQ(missing.name, token_terminal);
    EXPECT_TRUE(missing.needs_proof) << "FCM answered it for half of the living in 2019";
  }
  EXPECT_EQ(judge(apple, answer(404, R"({"reason":"BadPath"})")).name, config_error);
  for (const auto& [status, number] : {std::pair(404, 102), {410, 103}, {410, 105}, {410, 106}}) {
    const Verdict v = judge(mozilla, answer(status, mozilla_error(status, number)));
    EXPECT_EQ(v.name, token_terminal);
    EXPECT_FALSE(v.needs_proof) << number;
  }
}

// Whose key it was made with is said in four ways; none of them may end the subscription.
TEST(WebPushAnswers, a_subscription_of_another_key_is_kept) {
  EXPECT_EQ(judge(mozilla, answer(401, mozilla_error(401, 109, "VAPID public key mismatch"))).name,
            token_mismatch);
  EXPECT_EQ(judge(apple, answer(403, R"({"reason":"VapidPkHashMismatch"})")).name, token_mismatch);
  EXPECT_EQ(judge(fcm, answer(403,
                              "the key in the authorization header does not correspond to "
                              "the sender ID used to subscribe this user."))
                .name,
            token_mismatch);
  EXPECT_EQ(judge(wns, answer(403)).name, token_mismatch);
  EXPECT_EQ(judge(wns, answer(403, "<html>")).name, config_error) << "a proxy's page";
}

TEST(WebPushAnswers, a_credential_that_is_refused) {
  for (const Verdict& v :
       {judge(fcm, answer(403, "invalid JWT provided\n")),
        judge(fcm, answer(400, "<HTML><TITLE>UnauthorizedRegistration</TITLE></HTML>")),
        judge(mozilla, answer(401, mozilla_error(401, 109))),
        judge(apple, answer(403, R"({"reason":"BadJwtToken"})")), judge(other, answer(401)),
        judge(wns, answer(401)), judge(other, answer(403))}) {
    EXPECT_EQ(v.name, provider_auth) << v.reason;
    EXPECT_EQ(v.scope, FaultScope::provider);
    EXPECT_EQ(v.effect, Effect::not_sent);
  }
}

// Old channels answer it, and so would WNS for a bad key: only a proven key makes it the channel's.
TEST(WebPushAnswers, a_401_of_wns_needs_proof) {
  const Verdict v = judge(wns, answer(401, "", {{"x-wns-msg-id", "2D3CCACF3E2F45C0"}}));
  EXPECT_EQ(v.name, token_terminal);
  EXPECT_TRUE(v.needs_proof);
}

TEST(WebPushAnswers, throttles) {
  EXPECT_EQ(judge(wns, answer(406)).retry_after, minutes(1));
  EXPECT_EQ(judge(wns, answer(406, "", {{"retry-after", "120"}})).retry_after, minutes(2));
  const Verdict device = judge(apple, answer(429, R"({"reason":"TooManyRequests"})"));
  EXPECT_EQ(device.name, throttled);
  EXPECT_EQ(device.scope, FaultScope::device) << "of one subscription";
  EXPECT_EQ(judge(fcm, answer(429)).scope, FaultScope::provider);
}

TEST(WebPushAnswers, server_errors) {
  for (const PushService service : kServices) {
    const Verdict v = judge(service, answer(500, "", {{"retry-after", "30"}}));
    EXPECT_EQ(v.name, retryable);
    EXPECT_EQ(v.effect, Effect::maybe_sent);
    EXPECT_EQ(v.retry_after, seconds(30));
  }
  const Verdict busy =
      judge(mozilla, answer(503, mozilla_error(503, 201), {{"retry-after", "120"}}));
  EXPECT_EQ(busy.name, retryable);
  EXPECT_EQ(busy.effect, Effect::not_sent);
  EXPECT_EQ(busy.retry_after, minutes(2));
  EXPECT_TRUE(judge(apple, answer(503, R"({"reason":"Shutdown"})")).reconnect);
  EXPECT_EQ(judge(fcm, answer(401, "invalid push subscription endpoint")).name, retryable);
}

TEST(WebPushAnswers, redirects_are_a_fault_of_configuration) {
  EXPECT_EQ(judge(fcm, answer(307, "", {{"location", "https://evil.example/"}})).name,
            config_error);
}

// The code of one service says nothing at another.
TEST(WebPushAnswers, codes_belong_to_their_service) {
  EXPECT_EQ(judge(fcm, answer(403, R"({"reason":"VapidPkHashMismatch"})")).name, provider_auth);
  EXPECT_EQ(judge(apple, answer(401, mozilla_error(401, 109, "VAPID public key mismatch"))).name,
            provider_auth);
  EXPECT_EQ(judge(mozilla, answer(400, "InvalidTokenFormat")).name, config_error);
}

TEST(WebPushAnswers, without_an_answer_the_transport_knows) {
  EXPECT_EQ(judge_webpush(failure(Effect::not_sent, Cause::connect), fcm, kNow).name, retryable);
  const Verdict v = judge_webpush(failure(Effect::maybe_sent, Cause::connection_lost), fcm, kNow);
  EXPECT_EQ(v.name, ambiguous);
  EXPECT_EQ(v.effect, Effect::maybe_sent);
}

}  // namespace
}  // namespace sendonce::test
