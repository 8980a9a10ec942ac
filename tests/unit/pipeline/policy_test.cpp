#include "plugin/pipeline/policy.hpp"

#include <gtest/gtest.h>

namespace sendonce::test {
namespace {

using std::chrono::hours, std::chrono::minutes, std::chrono::seconds;

const RetryConfig kRetry{
    .first = seconds(2), .factor = 2.0, .cap = minutes(1), .attempts = 3, .horizon = hours(1)};

AttemptContext context(AmbiguityPolicy policy, std::uint32_t attempts = 0,
                       Effect carried = Effect::not_sent) {
  return {.carried = carried, .attempts = attempts, .until_deadline = hours(2), .policy = policy};
}

Verdict verdict(VerdictClass name, Effect effect, Fault fault,
                FaultScope scope = FaultScope::delivery) {
  return {.name = name, .effect = effect, .fault = fault, .scope = scope, .reason = "r"};
}

class Policy : public ::testing::Test {
 protected:
  Random random{1};
  Decision of(const Verdict& v, const AttemptContext& c) { return decide(v, c, kRetry, random); }
};

TEST_F(Policy, SentIsAccepted) {
  EXPECT_EQ(of(verdict(VerdictClass::accepted, Effect::sent, Fault::none),
               context(AmbiguityPolicy::give_up))
                .state,
            State::accepted);
}

TEST_F(Policy, DoubtIsDecidedByTheClassWhateverTheStatus) {
  for (const VerdictClass name : {VerdictClass::ambiguous, VerdictClass::retryable}) {
    const Verdict doubt = verdict(name, Effect::maybe_sent, Fault::provider);
    EXPECT_EQ(of(doubt, context(AmbiguityPolicy::give_up)).state, State::unknown);
    EXPECT_EQ(of(doubt, context(AmbiguityPolicy::resend)).state, State::waiting);
    EXPECT_EQ(of(doubt, context(AmbiguityPolicy::resend_with_key)).state, State::waiting);
  }
}

TEST_F(Policy, MissingReceiptMakesResendGiveUp) {
  Verdict doubt = verdict(VerdictClass::ambiguous, Effect::maybe_sent, Fault::provider);
  doubt.receipt_missing = true;
  EXPECT_EQ(of(doubt, context(AmbiguityPolicy::resend)).state, State::unknown);
}

TEST_F(Policy, InDoubtNothingIsResentAfterTheDeadline) {
  Verdict doubt = verdict(VerdictClass::ambiguous, Effect::maybe_sent, Fault::provider);
  doubt.retry_after = minutes(5);
  AttemptContext c = context(AmbiguityPolicy::resend);
  c.until_deadline = minutes(1);
  EXPECT_EQ(of(doubt, c).state, State::unknown);
}

TEST_F(Policy, DeviceFaultsFailWithoutDeadLetter) {
  for (const Fault fault : {Fault::device, Fault::mismatch}) {
    const Decision d = of(verdict(VerdictClass::token_terminal, Effect::not_sent, fault),
                          context(AmbiguityPolicy::resend));
    EXPECT_EQ(d.state, State::failed);
    EXPECT_FALSE(d.dead_letter);
  }
}

TEST_F(Policy, RefusalAfterDoubtEndsUnknownNeverFailed) {
  for (const Fault fault : {Fault::device, Fault::mismatch, Fault::request}) {
    const Decision d = of(verdict(VerdictClass::payload_error, Effect::not_sent, fault),
                          context(AmbiguityPolicy::resend, 1, Effect::maybe_sent));
    EXPECT_EQ(d.state, State::unknown);
    EXPECT_FALSE(d.dead_letter);
  }
}

TEST_F(Policy, PayloadErrorIsDeadLettered) {
  const Decision d = of(verdict(VerdictClass::payload_error, Effect::not_sent, Fault::request),
                        context(AmbiguityPolicy::give_up));
  EXPECT_EQ(d.state, State::failed);
  EXPECT_TRUE(d.dead_letter);
}

TEST_F(Policy, OperatorFaultsAndThrottlesAreNotCounted) {
  const AttemptContext worn_out = context(AmbiguityPolicy::give_up, 99);
  EXPECT_EQ(
      of(verdict(VerdictClass::provider_auth, Effect::not_sent, Fault::auth, FaultScope::provider),
         worn_out)
          .state,
      State::waiting);
  EXPECT_EQ(
      of(verdict(VerdictClass::config_error, Effect::not_sent, Fault::config, FaultScope::provider),
         worn_out)
          .state,
      State::waiting);
  const Decision throttled =
      of(verdict(VerdictClass::throttled, Effect::not_sent, Fault::throttle), worn_out);
  EXPECT_EQ(throttled.state, State::waiting);
  EXPECT_FALSE(throttled.counted);
}

TEST_F(Policy, ConfigFaultOfOneDeliveryIsCountedAndEnds) {
  const Verdict v = verdict(VerdictClass::config_error, Effect::not_sent, Fault::config);
  EXPECT_TRUE(of(v, context(AmbiguityPolicy::give_up)).counted);
  const Decision last = of(v, context(AmbiguityPolicy::give_up, 2));
  EXPECT_EQ(last.state, State::failed);
  EXPECT_TRUE(last.dead_letter);
}

TEST_F(Policy, RetriesEndFailedOrUnknown) {
  const Verdict v = verdict(VerdictClass::retryable, Effect::not_sent, Fault::provider);
  EXPECT_EQ(of(v, context(AmbiguityPolicy::give_up, 1)).state, State::waiting);
  const Decision failed = of(v, context(AmbiguityPolicy::give_up, 2));
  EXPECT_EQ(failed.state, State::failed);
  EXPECT_TRUE(failed.dead_letter);
  const Decision doubted = of(v, context(AmbiguityPolicy::resend, 2, Effect::maybe_sent));
  EXPECT_EQ(doubted.state, State::unknown);
  EXPECT_FALSE(doubted.dead_letter);
}

TEST_F(Policy, WhatTheTransportProvesUnsentIsNeverCounted) {
  AttemptContext c = context(AmbiguityPolicy::give_up, 50);
  c.provider_answered = false;
  const Decision d = of(verdict(VerdictClass::retryable, Effect::not_sent, Fault::provider), c);
  EXPECT_EQ(d.state, State::waiting);
  EXPECT_FALSE(d.counted);
}

TEST_F(Policy, BackoffIsNeverShorterThanRetryAfter) {
  for (std::uint32_t attempts = 0; attempts < 70; ++attempts) {
    const Duration d = backoff(kRetry, attempts, seconds(5), random);
    EXPECT_GE(d, Duration(seconds(5)));
    EXPECT_LE(d, Duration(minutes(1)));
  }
}

TEST_F(Policy, CarriedDoubtIsJudgedBeforeACall) {
  const Claimed clean{.carried = Effect::not_sent};
  const Claimed doubt{.carried = Effect::maybe_sent, .attempts = 1};
  const Claimed no_receipt{.carried = Effect::maybe_sent, .attempts = 1, .receipt_missing = true};
  const Claimed worn_out{.carried = Effect::maybe_sent, .attempts = 3};
  EXPECT_TRUE(judge_claim(clean, AmbiguityPolicy::give_up, kRetry).proceed);
  EXPECT_FALSE(judge_claim(doubt, AmbiguityPolicy::give_up, kRetry).proceed);
  EXPECT_TRUE(judge_claim(doubt, AmbiguityPolicy::resend, kRetry).proceed);
  EXPECT_FALSE(judge_claim(no_receipt, AmbiguityPolicy::resend, kRetry).proceed);
  EXPECT_TRUE(judge_claim(no_receipt, AmbiguityPolicy::resend_with_key, kRetry).proceed);
  EXPECT_FALSE(judge_claim(worn_out, AmbiguityPolicy::resend, kRetry).proceed);
}

// Where nobody can be asked, a class that wants to look first must not send blindly instead.
TEST_F(Policy, LookupWithoutAnybodyToAskNeverResends) {
  const Verdict doubt = verdict(VerdictClass::ambiguous, Effect::maybe_sent, Fault::provider);
  EXPECT_EQ(of(doubt, context(AmbiguityPolicy::lookup)).state, State::unknown);
  const Claimed carried{.carried = Effect::maybe_sent, .attempts = 1};
  EXPECT_FALSE(judge_claim(carried, AmbiguityPolicy::lookup, kRetry).proceed);
}

TEST_F(Policy, LookupWaitsTheLagWhateverTheDeadlineAndTheAttempts) {
  Verdict doubt = verdict(VerdictClass::ambiguous, Effect::maybe_sent, Fault::provider);
  AttemptContext c = context(AmbiguityPolicy::lookup, 99);
  c.lag = seconds(30);
  c.until_deadline = seconds(1);
  const Decision d = of(doubt, c);
  EXPECT_EQ(d.state, State::waiting);
  EXPECT_EQ(d.delay, Duration(seconds(30)));
  EXPECT_TRUE(d.counted);
  doubt.retry_after = minutes(2);
  EXPECT_EQ(of(doubt, c).delay, Duration(minutes(2)));
}

TEST_F(Policy, CollapseTemplates) {
  Notification n;
  n.event_id = "e";
  n.recipient = "u";
  n.template_id = "t";
  EXPECT_EQ(expand_collapse("{template}:{recipient}", n), "t:u");
  EXPECT_EQ(expand_collapse("x-{event_id}-y", n), "x-e-y");
  EXPECT_EQ(expand_collapse("{channel}", n), "push");
  EXPECT_EQ(expand_collapse("", n), "");
}

}  // namespace
}  // namespace sendonce::test
