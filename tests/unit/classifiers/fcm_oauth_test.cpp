#include "classifiers/fcm/fcm_oauth.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "classifiers/json_tree.hpp"
#include "plugin/core/text.hpp"
#include "plugin/crypto/verify.hpp"
#include "tests/unit/classifiers/fixtures.hpp"

namespace sendonce::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

FcmOauth oauth(const std::string& endpoint = {}) {
  return FcmOauth::make(parse_service_account(Credential(service_account_json())).value(), endpoint)
      .value();
}

CallResult token(const char* text = "ya29.one", int life = 3599) {
  return answer(200, std::string(R"({"access_token":")") + text + R"(","expires_in":)" +
                         std::to_string(life) + R"(,"token_type":"Bearer"})");
}

// Fetches a token that is due.
void fetch(FcmOauth& of, WallTime now, const char* text = "ya29.one") {
  ASSERT_TRUE(of.needs_auth(now));
  ASSERT_EQ(of.accept(token(text), now).name, VerdictClass::accepted);
}

TEST(FcmOauth, asks_with_a_signed_assertion) {
  FcmOauth of = oauth();
  EXPECT_FALSE(of.ready(kNow));
  const auto request = of.needs_auth(kNow);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->method, "POST");
  EXPECT_EQ(request->url, "https://oauth2.googleapis.com/token");
  EXPECT_EQ(request->headers.find("content-type"), "application/x-www-form-urlencoded");
  const std::string begin =
      "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=";
  ASSERT_THAT(request->body, StartsWith(begin));
  const std::string jws = request->body.substr(begin.size());
  const auto verifier = VerifyingKey::from_pem(SignatureAlgorithm::rs256, Credential(kRs256Key));
  EXPECT_TRUE(verifier->verify_jws(jws));
  const std::size_t first = jws.find('.');
  EXPECT_EQ(unbase64url(jws.substr(0, first)), R"({"alg":"RS256","typ":"JWT","kid":"k1"})");
  EXPECT_EQ(unbase64url(jws.substr(first + 1, jws.rfind('.') - first - 1)),
            R"({"iss":"push@demo-1.iam.gserviceaccount.com",)"
            R"("scope":"https://www.googleapis.com/auth/firebase.messaging",)"
            R"("aud":"https://oauth2.googleapis.com/token","iat":1795953600,"exp":1795957200})");
}

// Whoever asks may find no room for the call: what was not fetched is still due.
TEST(FcmOauth, is_asked_again_when_the_call_never_came) {
  FcmOauth of = oauth();
  ASSERT_TRUE(of.needs_auth(kNow));
  EXPECT_TRUE(of.needs_auth(kNow + seconds(1)));
}

TEST(FcmOauth, another_endpoint_keeps_the_audience) {
  FcmOauth of = oauth("http://127.0.0.1:9/token");
  const auto request = of.needs_auth(kNow);
  EXPECT_EQ(request->url, "http://127.0.0.1:9/token");
  const std::size_t dot = request->body.find('.');
  EXPECT_THAT(*unbase64url(request->body.substr(dot + 1, request->body.rfind('.') - dot - 1)),
              HasSubstr(R"("aud":"https://oauth2.googleapis.com/token")"));
}

TEST(FcmOauth, the_old_token_serves_until_the_new_one_is_there) {
  FcmOauth of = oauth();
  fetch(of, kNow);
  EXPECT_TRUE(of.ready(kNow));
  EXPECT_FALSE(of.needs_auth(kNow + minutes(54)));
  EXPECT_TRUE(of.needs_auth(kNow + minutes(55)));
  EXPECT_TRUE(of.ready(kNow + minutes(56)));
  EXPECT_EQ(of.authorization(), "Bearer ya29.one");
  EXPECT_EQ(of.accept(answer(503), kNow + minutes(56)).name, VerdictClass::retryable);
  EXPECT_TRUE(of.ready(kNow + minutes(57)));
  fetch(of, kNow + minutes(58), "ya29.two");
  EXPECT_EQ(of.authorization(), "Bearer ya29.two");
}

TEST(FcmOauth, a_token_at_its_end_is_not_used) {
  FcmOauth of = oauth();
  fetch(of, kNow);
  EXPECT_TRUE(of.ready(kNow + seconds(3599 - 31)));
  EXPECT_FALSE(of.ready(kNow + seconds(3599 - 30)));
}

TEST(FcmOauth, failures_wait_longer_each_time_up_to_a_minute) {
  FcmOauth of = oauth();
  WallTime now = kNow;
  for (const int wait : {5, 10, 20, 40, 60, 60, 60}) {
    ASSERT_TRUE(of.needs_auth(now));
    ASSERT_EQ(of.accept(failure(Effect::not_sent, Cause::connect), now).name,
              VerdictClass::retryable);
    EXPECT_FALSE(of.needs_auth(now + seconds(wait) - std::chrono::milliseconds(1))) << wait;
    now += seconds(wait);
  }
  fetch(of, now);
  EXPECT_TRUE(of.needs_auth(now + hours(1)));
}

TEST(FcmOauth, retry_after_is_obeyed) {
  FcmOauth of = oauth();
  ASSERT_TRUE(of.needs_auth(kNow));
  const Verdict v = of.accept(answer(503, "", {{"retry-after", "90"}}), kNow);
  EXPECT_EQ(v.retry_after, seconds(90));
  EXPECT_FALSE(of.needs_auth(kNow + seconds(89)));
  EXPECT_TRUE(of.needs_auth(kNow + seconds(90)));
}

// Found by the simulator: no token for as long as the clock had been ahead, up to an hour.
TEST(FcmOauth, a_clock_set_back_does_not_stretch_the_wait) {
  FcmOauth of = oauth();
  ASSERT_TRUE(of.needs_auth(kNow));
  static_cast<void>(of.accept(failure(Effect::not_sent, Cause::connect), kNow));
  EXPECT_FALSE(of.needs_auth(kNow + seconds(4)));
  EXPECT_TRUE(of.needs_auth(kNow - minutes(40)));
}

TEST(FcmOauth, a_refused_token_is_fetched_anew_once) {
  FcmOauth of = oauth();
  fetch(of, kNow);
  of.refused(kNow + minutes(1));
  fetch(of, kNow + minutes(1), "ya29.two");
  of.refused(kNow + minutes(2));  // the account, or an answer that was still underway
  EXPECT_FALSE(of.needs_auth(kNow + minutes(2)));
  fetch(of, kNow + minutes(57), "ya29.three");
  of.refused(kNow + minutes(58));
  EXPECT_TRUE(of.needs_auth(kNow + minutes(58)));
}

// Found by the simulator: a token that came after a refusal, and was revoked long after, was kept
// to its end.
TEST(FcmOauth, a_successor_refused_later_is_fetched_anew_and_not_by_every_answer) {
  FcmOauth of = oauth();
  fetch(of, kNow);
  of.refused(kNow + minutes(1));
  fetch(of, kNow + minutes(1), "ya29.two");
  of.refused(kNow + minutes(4));
  ASSERT_TRUE(of.needs_auth(kNow + minutes(4)));
  fetch(of, kNow + minutes(4), "ya29.three");
  for (int s = 0; s < 120; ++s) of.refused(kNow + minutes(4) + seconds(s));
  EXPECT_FALSE(of.needs_auth(kNow + minutes(6)));
  of.refused(kNow + minutes(6));
  EXPECT_TRUE(of.needs_auth(kNow + minutes(6)));
}

TEST(FcmOauth, a_clock_set_back_does_not_make_a_successor_new_for_long) {
  FcmOauth of = oauth();
  fetch(of, kNow);
  of.refused(kNow);
  fetch(of, kNow, "ya29.two");
  of.refused(kNow - minutes(50));
  EXPECT_TRUE(of.needs_auth(kNow - minutes(50)));
}

TEST(FcmOauth, a_clock_set_back_fetches_anew) {
  FcmOauth of = oauth();
  fetch(of, kNow);
  EXPECT_TRUE(of.needs_auth(kNow - hours(48)));
}

TEST(FcmOauth, answers_of_the_token_endpoint) {
  struct Case {
    CallResult result;
    VerdictClass want;
    const char* reason;
  };
  using enum VerdictClass;
  const char* grant = R"({"error":"invalid_grant","error_description":)";
  for (const Case& c : std::vector<Case>{
           {answer(400, grant + std::string("\"Invalid JWT Signature.\"}")), provider_auth,
            "revoked or not the one of client_email"},
           {answer(400, grant + std::string("\"Invalid JWT: Token must be a short-lived token (60 "
                                            "minutes) and in a reasonable timeframe.\"}")),
            provider_auth, "clock"},
           {answer(400, grant + std::string("\"Invalid JWT: Token must be a short-li")),
            provider_auth, "invalid_grant"},
           {answer(400, R"({"error":"invalid_scope"})"), provider_auth, "invalid_scope"},
           {answer(401, R"({"error":"invalid_client"})"), provider_auth, "invalid_client"},
           {answer(403), provider_auth, "http_403"},
           {answer(404, "<html>"), config_error, "http_404"},
           {answer(405), config_error, "http_405"},
           {answer(403, "<html>"), config_error, "http_403"},
           {answer(302), config_error, "http_302"},
           {answer(408), retryable, "http_408"},
           {answer(429), throttled, "http_429"},
           {answer(500), retryable, "http_500"},
           {answer(200), retryable, "without receipt"},
           {answer(200, R"({"access_token":"a b","expires_in":1})"), retryable, "without receipt"},
           {answer(200, R"({"access_token":"a","expires_in":-1})"), retryable, "without receipt"},
           {failure(Effect::maybe_sent, Cause::timed_out), retryable, "timed_out"},
           {failure(Effect::not_sent, Cause::tls), config_error, "tls"}}) {
    const Verdict v = judge_oauth(c.result, kNow);
    EXPECT_EQ(v.name, c.want) << v.reason;
    EXPECT_EQ(v.effect, Effect::not_sent) << v.reason;
    EXPECT_EQ(v.scope, FaultScope::provider) << v.reason;
    EXPECT_FALSE(v.receipt_missing);
    EXPECT_THAT(v.reason, HasSubstr(c.reason));
    EXPECT_THAT(v.reason, StartsWith("token endpoint: "));
  }
}

TEST(FcmOauth, a_token_without_expires_in_lives_an_hour) {
  FcmOauth of = oauth();
  ASSERT_TRUE(of.needs_auth(kNow));
  EXPECT_EQ(of.accept(answer(200, R"({"access_token":"t"})"), kNow).name, VerdictClass::accepted);
  EXPECT_TRUE(of.ready(kNow + minutes(59)));
  EXPECT_FALSE(of.ready(kNow + minutes(60)));
}

}  // namespace
}  // namespace sendonce::test
