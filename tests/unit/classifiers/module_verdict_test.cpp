// What a module says of answers is believed as far as it can be, and never where it would be
// dangerous.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/classifiers/module_fixture.hpp"

namespace sendonce::test {
namespace {

using ::testing::HasSubstr;

TEST_F(ModuleProviderTest, WhatItSaysWithinReasonIsBelieved) {
  make();
  sendonce_verdict v = says(SENDONCE_ACCEPTED);
  v.message_id = c("msg-1");
  Believed b = judge(200, v);
  EXPECT_EQ(b.corrected, "");
  EXPECT_EQ(b.verdict.name, VerdictClass::accepted);
  EXPECT_EQ(b.verdict.effect, Effect::sent);
  EXPECT_EQ(b.verdict.message_id, "msg-1");

  v = says(SENDONCE_THROTTLED);
  v.retry_after_ms = 5000;
  v.reason = c("slow_down");
  b = judge(429, v);
  EXPECT_EQ(b.verdict.fault, Fault::throttle);
  EXPECT_EQ(b.verdict.scope, FaultScope::provider);
  EXPECT_EQ(b.verdict.retry_after, seconds(5));
  EXPECT_EQ(b.verdict.reason, "slow_down");

  b = judge(401, says(SENDONCE_PROVIDER_AUTH));
  EXPECT_EQ(b.verdict.fault, Fault::auth);
  EXPECT_EQ(b.verdict.effect, Effect::not_sent);
  EXPECT_FALSE(b.verdict.refresh_credential) << "it has none to renew";
  b = judge(400, says(SENDONCE_PAYLOAD_ERROR));
  EXPECT_EQ(b.verdict.fault, Fault::request);
  b = judge(503, says(SENDONCE_RETRYABLE));
  EXPECT_EQ(b.verdict.effect, Effect::maybe_sent);
  b = judge(503, says(SENDONCE_RETRYABLE, SENDONCE_EFFECT_NOT_SENT));
  EXPECT_EQ(b.verdict.effect, Effect::maybe_sent) << "of the status alone";
  puppet().by_contents = true;
  puppet().verdict_of_status = says(SENDONCE_RETRYABLE);
  b = judge(503, says(SENDONCE_RETRYABLE, SENDONCE_EFFECT_NOT_SENT));
  EXPECT_EQ(b.verdict.effect, Effect::not_sent) << "of what the answer says";
  puppet().by_contents = false;
  b = judge(500, says(SENDONCE_PAYLOAD_ERROR));
  EXPECT_EQ(b.verdict.effect, Effect::maybe_sent) << "it may have been carried out first";
}

TEST_F(ModuleProviderTest, ValuesThatTheInterfaceDoesNotHaveAreAmbiguous) {
  make();
  for (const std::int32_t value : {-1, 10, 99, INT32_MAX, INT32_MIN}) {
    for (int member = 0; member < 4; ++member) {
      sendonce_verdict v = says(SENDONCE_TOKEN_TERMINAL);
      (member == 0 ? v.verdict : member == 1 ? v.effect : member == 2 ? v.fault : v.scope) = value;
      for (const int status : {200, 404, 410, 422, 500}) expect_doubt(judge(status, v));
    }
  }
  for (const int status : {200, 410, 500}) expect_doubt(judge(status, says(0)));
}

TEST_F(ModuleProviderTest, NothingIsAcceptedOutsideOfA2xx) {
  make();
  sendonce_verdict v = says(SENDONCE_ACCEPTED);
  v.message_id = c("msg-1");
  for (int status = -1; status < 1000; ++status) {
    if (status >= 200 && status < 300) continue;
    const Believed b = judge(status, v);
    EXPECT_NE(b.verdict.name, VerdictClass::accepted) << status;
    EXPECT_NE(b.verdict.effect, Effect::sent) << status;
    expect_doubt(b);
  }
}

TEST_F(ModuleProviderTest, A2xxNeedsItsReceipt) {
  make();
  sendonce_verdict v = says(SENDONCE_ACCEPTED);
  const std::string endless(300, 'x');
  for (const sendonce_str id :
       {sendonce_str{}, c("a b"), c("\xff"), c("a\nb"), c(endless.c_str()),
        sendonce_str{nullptr, 8}, sendonce_str{"x", UINT64_MAX}, c("to-4917012345678")}) {
    v.message_id = id;
    const Believed b = judge(200, v);
    EXPECT_EQ(b.verdict.name, VerdictClass::ambiguous);
    EXPECT_TRUE(b.verdict.receipt_missing) << "resend acts as give-up there";
  }
  puppet().description.flags = SENDONCE_PROVIDER_NO_RECEIPT;
  make();
  EXPECT_EQ(judge(204, says(SENDONCE_ACCEPTED), "").verdict.name, VerdictClass::accepted);
}

TEST_F(ModuleProviderTest, AStatusAloneEndsNoDestination) {
  make();
  for (int status = 200; status < 600; ++status) {
    const Believed b = judge(status, says(SENDONCE_TOKEN_TERMINAL));
    if (status == 410) {
      EXPECT_EQ(b.verdict.name, VerdictClass::token_terminal);
      continue;
    }
    EXPECT_NE(b.verdict.name, VerdictClass::token_terminal) << status;
    EXPECT_NE(b.verdict.fault, Fault::device) << status;
    EXPECT_NE(b.corrected, "") << status;
  }
  EXPECT_EQ(
      judge(404, says(SENDONCE_TOKEN_TERMINAL)).corrected,
      "says TOKEN_TERMINAL because of the status 404 alone, which ends no destination: decide "
      "by a code in the body or a header");
}

TEST_F(ModuleProviderTest, AStatusAloneIsNotBelievedToHaveSentNothing) {
  make();
  sendonce_verdict v = says(SENDONCE_RETRYABLE);
  v.effect = SENDONCE_EFFECT_NOT_SENT;
  const Believed b = judge(503, v);
  EXPECT_EQ(b.verdict.effect, Effect::maybe_sent);
  EXPECT_EQ(
      b.corrected,
      "says NOT_SENT because of the status 503 alone, which counts as maybe sent: decide by a "
      "code in the body or a header");
}

TEST_F(ModuleProviderTest, ACodeInTheAnswerDoes) {
  make();
  puppet().by_contents = true;
  puppet().verdict_of_status = says(SENDONCE_PAYLOAD_ERROR);
  sendonce_verdict v = says(SENDONCE_TOKEN_TERMINAL);
  v.reason = c("unknown_number");
  v.invalid_since_ns = 1;
  Believed b = judge(422, v);
  EXPECT_EQ(b.corrected, "");
  EXPECT_EQ(b.verdict.name, VerdictClass::token_terminal);
  EXPECT_EQ(b.verdict.scope, FaultScope::device);
  EXPECT_TRUE(b.verdict.invalid_since.has_value());
  v.invalid_since_ns = INT64_MAX;
  EXPECT_FALSE(judge(422, v).verdict.invalid_since.has_value()) << "a time to come is none";
  for (const int status : {300, 408, 500, 503}) expect_doubt(judge(status, v));
  EXPECT_EQ(judge(200, v).verdict.name, VerdictClass::token_terminal);
}

TEST_F(ModuleProviderTest, A2xxIsNoRefusalByItsStatusAlone) {
  make();
  for (const std::int32_t verdict : {SENDONCE_PAYLOAD_ERROR, SENDONCE_PROVIDER_AUTH,
                                     SENDONCE_CONFIG_ERROR, SENDONCE_THROTTLED}) {
    const Believed b = judge(200, says(verdict));
    EXPECT_EQ(b.verdict.effect, Effect::maybe_sent);
    EXPECT_TRUE(b.verdict.receipt_missing);
  }
  puppet().by_contents = true;
  puppet().verdict_of_status = says(SENDONCE_AMBIGUOUS);
  EXPECT_EQ(judge(200, says(SENDONCE_PAYLOAD_ERROR)).verdict.effect, Effect::not_sent);
}

TEST_F(ModuleProviderTest, ContradictionsAreAmbiguous) {
  make();
  sendonce_verdict v = says(SENDONCE_TOKEN_TERMINAL);
  v.fault = SENDONCE_FAULT_AUTH;  // an auth error may not purge
  expect_doubt(judge(410, v));
  v = says(SENDONCE_PROVIDER_AUTH);
  v.fault = SENDONCE_FAULT_DEVICE;
  expect_doubt(judge(403, v));
  expect_doubt(judge(200, says(SENDONCE_ACCEPTED, SENDONCE_EFFECT_NOT_SENT)));
  expect_doubt(judge(200, says(SENDONCE_RETRYABLE, SENDONCE_EFFECT_SENT)));
  expect_doubt(judge(500, says(SENDONCE_AMBIGUOUS, SENDONCE_EFFECT_NOT_SENT)));
  expect_doubt(judge(410, says(SENDONCE_TOKEN_TERMINAL, SENDONCE_EFFECT_MAYBE_SENT)));
}

TEST_F(ModuleProviderTest, DelaysAreWithinAWeekAndNeverShorterThanRetryAfter) {
  make();
  sendonce_verdict v = says(SENDONCE_THROTTLED);
  v.retry_after_ms = UINT64_MAX;
  EXPECT_LE(judge(429, v).verdict.retry_after, hours(24 * 7));
  v.retry_after_ms = 1;
  EXPECT_EQ(judge(429, v).verdict.retry_after, seconds(1));
  puppet().verdict = v;
  EXPECT_EQ(judge(answer(429, "{}", {{"retry-after", "90"}})).verdict.retry_after, seconds(90));
  v.retry_after_ms = 0;
  EXPECT_EQ(judge(429, v).verdict.retry_after, minutes(1));
}

TEST_F(ModuleProviderTest, TextsThatCannotBePrintedAreDropped) {
  make();
  sendonce_verdict v = says(SENDONCE_CONFIG_ERROR);
  const std::string endless(100, 'x');
  for (const sendonce_str reason :
       {c("two words"), c("\xff\xfe"), c(endless.c_str()), c("to.4917012345678"), c("s3cr3t-token"),
        sendonce_str{nullptr, 5}, sendonce_str{"x", UINT64_MAX}}) {
    v.reason = reason;
    const Believed b = judge(404, v);
    EXPECT_EQ(b.verdict.reason, "http_404");
    EXPECT_THAT(b.corrected, HasSubstr("reason"));
    EXPECT_EQ(b.verdict.name, VerdictClass::config_error);
  }
}

TEST_F(ModuleProviderTest, ScopesAreThoseOfTheVerdict) {
  make();
  sendonce_verdict v = says(SENDONCE_TOKEN_TERMINAL);
  v.scope = SENDONCE_SCOPE_PROVIDER;
  EXPECT_EQ(judge(410, v).verdict.scope, FaultScope::device);
  v = says(SENDONCE_CONFIG_ERROR);
  v.scope = SENDONCE_SCOPE_PART;
  EXPECT_EQ(judge(404, v).verdict.scope, FaultScope::provider) << "no part is named";
  v.part = c("eu");
  EXPECT_EQ(judge(404, v).verdict.scope, FaultScope::part);
  EXPECT_EQ(judge(404, v).verdict.part, "eu");
  v.scope = SENDONCE_SCOPE_DELIVERY;
  EXPECT_EQ(judge(404, v).verdict.scope, FaultScope::delivery);
}

// The effect of a call without a whole answer is the transport's to know.
TEST_F(ModuleProviderTest, FailedCallsAreJudgedByWhatTheTransportProved) {
  make();
  for (const Cause cause : {Cause::connect, Cause::tls, Cause::client_auth, Cause::refused,
                            Cause::reset, Cause::connection_lost, Cause::timed_out,
                            Cause::cancelled, Cause::oversized, Cause::not_started}) {
    for (const Effect effect : {Effect::not_sent, Effect::maybe_sent}) {
      for (std::int32_t said = -1; said <= 10; ++said) {
        CallFailure f = failure(effect, cause);
        f.partial = answer(200, "{\"id\":\"msg-1\"}");
        puppet().verdict = says(said, said % 4);
        puppet().verdict.message_id = c("msg-1");
        const Believed b = judge(CallResult(f));
        EXPECT_EQ(b.verdict.effect, effect);
        EXPECT_NE(b.verdict.name, VerdictClass::accepted);
        EXPECT_NE(b.verdict.fault, Fault::device);
        EXPECT_NE(b.verdict.fault, Fault::mismatch);
      }
    }
  }
  EXPECT_EQ(puppet().last_cause, SENDONCE_CAUSE_NOT_STARTED);
  EXPECT_EQ(puppet().last_effect, SENDONCE_EFFECT_MAYBE_SENT);
  EXPECT_EQ(puppet().last_status, 200);
}

TEST_F(ModuleProviderTest, AThrottleBeforeTheEndOfAnAnswerIsHeeded) {
  make();
  puppet().verdict = says(SENDONCE_THROTTLED);
  puppet().verdict.retry_after_ms = 30'000;
  const Believed b = judge(CallResult(failure(Effect::maybe_sent, Cause::reset)));
  EXPECT_EQ(b.verdict.fault, Fault::throttle);
  EXPECT_EQ(b.verdict.retry_after, seconds(30));
  EXPECT_EQ(b.verdict.effect, Effect::maybe_sent);
}

}  // namespace
}  // namespace sendonce::test
