#include "classifiers/answer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/classifiers/fixtures.hpp"

namespace sendonce::test {
namespace {

using ::testing::HasSubstr;

std::optional<Duration> wait_of(const char* value) {
  return retry_after(answer(503, "", {{"retry-after", value}}).headers, kNow);
}

TEST(RetryAfter, seconds_and_dates) {
  EXPECT_EQ(wait_of("120"), seconds(120));
  EXPECT_EQ(wait_of("0"), seconds(1));
  EXPECT_EQ(wait_of("Sun, 29 Nov 2026 12:02:00 GMT"), seconds(120));
  EXPECT_EQ(wait_of("999999999999"), hours(24 * 7));
}

TEST(RetryAfter, nonsense_is_none) {
  for (const char* text :
       {"", "-1", "soon", "1.5", "Sun, 29 Nov 2026 11:59:00 GMT", "99999999999999999999999"})
    EXPECT_FALSE(wait_of(text)) << text;
  EXPECT_FALSE(retry_after(Headers{}, kNow));
}

TEST(RetryAfter, more_than_an_hour_holds_the_provider_but_not_for_one_device) {
  Verdict v = judged(VerdictClass::retryable, FaultScope::delivery, "x");
  set_retry_after(v, hours(1));
  EXPECT_EQ(v.scope, FaultScope::delivery);
  set_retry_after(v, hours(2));
  EXPECT_EQ(v.scope, FaultScope::provider);
  EXPECT_EQ(v.retry_after, hours(2));
  Verdict device = judged(VerdictClass::throttled, FaultScope::device, "x");
  set_retry_after(device, hours(2));
  EXPECT_EQ(device.scope, FaultScope::device);
  EXPECT_EQ(device.retry_after, hours(1));
}

TEST(JudgeFailure, keeps_the_effect_that_was_proven) {
  for (const Cause cause :
       {Cause::connect, Cause::refused, Cause::reset, Cause::connection_lost, Cause::timed_out,
        Cause::oversized, Cause::cancelled, Cause::not_started}) {
    const Verdict no = judge_failure(failure(Effect::not_sent, cause));
    EXPECT_EQ(no.name, VerdictClass::retryable) << name(cause);
    EXPECT_EQ(no.effect, Effect::not_sent);
    const Verdict maybe = judge_failure(failure(Effect::maybe_sent, cause));
    EXPECT_EQ(maybe.name, VerdictClass::ambiguous) << name(cause);
    EXPECT_EQ(maybe.effect, Effect::maybe_sent);
    EXPECT_EQ(maybe.reason, name(cause));
  }
}

TEST(JudgeFailure, certificates_are_configuration_or_credential) {
  const Verdict tls = judge_failure(failure(Effect::not_sent, Cause::tls));
  EXPECT_EQ(tls.name, VerdictClass::config_error);
  EXPECT_EQ(tls.scope, FaultScope::provider);
  const Verdict auth = judge_failure(failure(Effect::maybe_sent, Cause::client_auth));
  EXPECT_EQ(auth.name, VerdictClass::provider_auth);
  EXPECT_EQ(auth.effect, Effect::maybe_sent);
}

TEST(JudgeFailure, what_we_did_ourselves_is_not_the_providers_fault) {
  EXPECT_EQ(judge_failure(failure(Effect::not_sent, Cause::not_started)).fault, Fault::none);
  EXPECT_EQ(judge_failure(failure(Effect::not_sent, Cause::cancelled)).fault, Fault::none);
  EXPECT_EQ(judge_failure(failure(Effect::not_sent, Cause::connect)).fault, Fault::provider);
}

TEST(JudgeFailure, enhance_your_calm_slows_down_and_may_have_sent) {
  CallFailure f = failure(Effect::maybe_sent, Cause::reset);
  f.h2_error = 11;
  const Verdict v = judge_failure(f);
  EXPECT_EQ(v.name, VerdictClass::throttled);
  EXPECT_EQ(v.effect, Effect::maybe_sent);
  EXPECT_EQ(v.scope, FaultScope::provider);
  EXPECT_TRUE(v.reconnect);
}

TEST(JudgeFailure, a_cut_2xx_is_remembered) {
  CallFailure f = failure(Effect::maybe_sent, Cause::connection_lost);
  f.partial = answer(200);
  EXPECT_TRUE(judge_failure(f).receipt_missing);
  f.partial = answer(500);
  EXPECT_FALSE(judge_failure(f).receipt_missing);
}

// Even a transport that errs cannot make a failure a success.
TEST(JudgeFailure, a_failure_is_never_sent) {
  EXPECT_EQ(judge_failure(failure(Effect::sent, Cause::reset)).effect, Effect::maybe_sent);
}

TEST(JudgeStatus, by_status_alone) {
  struct Case {
    int status;
    const char* body;
    VerdictClass want;
    Effect effect;
  };
  using enum VerdictClass;
  constexpr Effect kNo = Effect::not_sent;
  constexpr Effect kMaybe = Effect::maybe_sent;
  for (const Case& c :
       std::vector<Case>{{200, "", ambiguous, kMaybe},    {301, "", config_error, kNo},
                         {400, "{}", payload_error, kNo}, {400, "<p>", config_error, kNo},
                         {400, "", config_error, kNo},    {401, "", provider_auth, kNo},
                         {403, "{}", provider_auth, kNo}, {403, "<html>", config_error, kNo},
                         {404, "{}", config_error, kNo},  {405, "", config_error, kNo},
                         {407, "", config_error, kNo},    {408, "", ambiguous, kMaybe},
                         {410, "{}", config_error, kNo},  {413, "", payload_error, kNo},
                         {421, "", retryable, kNo},       {425, "", retryable, kNo},
                         {422, "{}", payload_error, kNo}, {429, "", throttled, kNo},
                         {500, "", retryable, kMaybe},    {503, "<html>", retryable, kMaybe},
                         {599, "", retryable, kMaybe},    {0, "", ambiguous, kMaybe},
                         {700, "", ambiguous, kMaybe}}) {
    const Verdict v = judge_status(answer(c.status, c.body), kNow);
    EXPECT_EQ(v.name, c.want) << c.status << c.body;
    EXPECT_EQ(v.effect, c.effect) << c.status << c.body;
  }
  EXPECT_TRUE(judge_status(answer(404, "<html>"), kNow).passing_if_proven);
  EXPECT_FALSE(judge_status(answer(404, "{}"), kNow).passing_if_proven);
  EXPECT_EQ(judge_status(answer(429), kNow).retry_after, minutes(1));
}

TEST(Clock, a_difference_of_more_than_5_minutes_is_remarked) {
  const auto remark = [](const char* date) {
    return clock_remark(answer(403, "", {{"date", date}}).headers, kNow);
  };
  EXPECT_EQ(remark("Sun, 29 Nov 2026 12:04:00 GMT"), "");
  EXPECT_THAT(remark("Sun, 29 Nov 2026 11:00:00 GMT"), HasSubstr("3600 s ahead of"));
  EXPECT_THAT(remark("Sun, 29 Nov 2026 12:10:00 GMT"), HasSubstr("600 s behind"));
  EXPECT_EQ(remark("yesterday"), "");
  EXPECT_EQ(clock_remark(Headers{}, kNow), "");
}

TEST(Texts, codes_and_receipts_are_safe_to_print) {
  EXPECT_EQ(safe_code("BadTopic"), "BadTopic");
  EXPECT_EQ(safe_code("a b"), "unreadable code");
  EXPECT_EQ(safe_code(""), "unreadable code");
  EXPECT_EQ(safe_code(std::string(65, 'a')), "unreadable code");
  EXPECT_TRUE(is_receipt("projects/p/messages/0:1%2"));
  EXPECT_FALSE(is_receipt(""));
  EXPECT_FALSE(is_receipt("a b"));
  EXPECT_FALSE(is_receipt(std::string(257, 'a')));
}

TEST(Texts, pages_and_json) {
  EXPECT_TRUE(is_html("\n <!DOCTYPE html>"));
  EXPECT_TRUE(is_html("\xEF\xBB\xBF<HTML>"));
  EXPECT_FALSE(is_html("{}"));
  EXPECT_FALSE(is_html(""));
  EXPECT_TRUE(looks_like_json(" {\"cut"));
  EXPECT_FALSE(looks_like_json("not"));
}

}  // namespace
}  // namespace sendonce::test
