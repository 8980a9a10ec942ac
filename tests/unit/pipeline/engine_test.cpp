#include "plugin/pipeline/engine.hpp"

#include "tests/unit/pipeline/engine_fixture.hpp"

namespace sendonce::test {
namespace {

TEST_F(EngineTest, OneMessageBecomesOneCallAndIsAckedAfterItsOutcome) {
  arrive(message(1, token("aa")));
  ASSERT_EQ(transport.open.size(), 1U);
  EXPECT_TRUE(broker.acked.empty());
  transport.answer_status(200);
  step();
  EXPECT_EQ(broker.acked, std::vector<std::string>{"reply.1"});
  EXPECT_EQ(broker.published_on("sendonce.outcome.otp.accepted"), 1U);
  EXPECT_EQ(counters().accepted, 1U);
}

TEST_F(EngineTest, ADuplicateIsAckedWithoutACall) {
  arrive(message(1, token("aa")));
  transport.answer_status(200);
  step();
  arrive(message(2, token("aa")));
  EXPECT_EQ(transport.submitted, 1U);
  EXPECT_EQ(broker.acked.size(), 2U);
  EXPECT_EQ(counters().duplicates_suppressed, 1U);
}

TEST_F(EngineTest, ADuplicateOfARunningCallWaitsForItsEnd) {
  arrive(message(1, token("aa")));
  arrive(message(2, token("aa")));
  EXPECT_EQ(transport.submitted, 1U);
  EXPECT_TRUE(broker.acked.empty());
  transport.answer_status(200);
  wait(seconds(1));
  EXPECT_EQ(transport.submitted, 1U);
  EXPECT_EQ(broker.acked.size(), 2U);
}

TEST_F(EngineTest, ARedeliveryOfAHeldMessageIsTheSameMessage) {
  arrive(message(1, token("aa")));
  Message again = message(1, token("aa"));
  again.stored_at = WallTime(clock.wall() - milliseconds(4));
  Message first = message(3, token("bb"), "e3");
  broker.arriving.push_back(first);
  first.reply = "reply.3b";
  first.delivered = 2;
  broker.arriving.push_back(first);
  step();
  EXPECT_EQ(transport.submitted, 2U);
  transport.answer_status(200);
  transport.answer_status(200);
  step();
  EXPECT_EQ(broker.acked, (std::vector<std::string>{"reply.1", "reply.3b"}));
}

TEST_F(EngineTest, AMessageIsAckedOnlyWhenAllItsTargetsHaveEnded) {
  arrive(message(1, token("aa") + "," + token("bb")));
  ASSERT_EQ(transport.open.size(), 2U);
  transport.answer_status(200);
  step();
  EXPECT_TRUE(broker.acked.empty());
  transport.answer_status(503);
  step();
  EXPECT_TRUE(broker.acked.empty());
  wait(seconds(3));
  ASSERT_EQ(transport.open.size(), 1U) << "only the failed target is retried";
  transport.answer_status(200);
  step();
  EXPECT_EQ(broker.acked.size(), 1U);
  EXPECT_EQ(transport.submitted, 3U);
}

TEST_F(EngineTest, GiveUpEndsUnknownAfterDoubtAndNeverCallsAgain) {
  arrive(message(1, token("aa")));
  transport.answer_status(500);
  wait(seconds(30));
  EXPECT_EQ(transport.submitted, 1U);
  EXPECT_EQ(counters().unknown, 1U);
  EXPECT_EQ(broker.acked.size(), 1U);
  arrive(message(2, token("aa")));
  EXPECT_EQ(transport.submitted, 1U);
}

TEST_F(EngineTest, ResendRepeatsAfterDoubtUntilExhausted) {
  start(AmbiguityPolicy::resend);
  arrive(message(1, token("aa")));
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(transport.open.size(), 1U) << i;
    transport.answer_status(500);
    wait(seconds(12));
  }
  EXPECT_EQ(transport.submitted, 3U);
  EXPECT_EQ(counters().unknown, 1U);
}

TEST_F(EngineTest, AnAnswerWithoutReceiptIsNeverResent) {
  start(AmbiguityPolicy::resend);
  arrive(message(1, token("aa")));
  transport.answer_status(202);
  wait(seconds(20));
  EXPECT_EQ(transport.submitted, 1U);
  EXPECT_EQ(counters().unknown, 1U);
}

TEST_F(EngineTest, AClaimOfADeadIncarnationCountsAsMaybeSent) {
  arrive(message(1, token("aa")));
  ASSERT_EQ(transport.open.size(), 1U);
  transport.open.clear();
  restart(AmbiguityPolicy::give_up);
  arrive(message(1, token("aa")));
  EXPECT_EQ(transport.submitted, 1U);
  EXPECT_EQ(counters().unknown, 1U);
  EXPECT_EQ(broker.acked.size(), 1U);
}

TEST_F(EngineTest, AClaimOfADeadIncarnationIsRepeatedUnderResend) {
  start(AmbiguityPolicy::resend);
  arrive(message(1, token("aa")));
  transport.open.clear();
  restart(AmbiguityPolicy::resend);
  arrive(message(1, token("aa")));
  ASSERT_EQ(transport.open.size(), 1U);
  EXPECT_EQ(counters().taken_over, 1U);
  EXPECT_EQ(counters().repeats_in_doubt, 1U);
  transport.answer_status(200);
  step();
  EXPECT_EQ(counters().accepted, 1U);
}

TEST_F(EngineTest, DeadTokenFailsAndIsAnnouncedOnce) {
  arrive(message(1, token("aa")));
  transport.answer_status(410);
  step();
  EXPECT_EQ(counters().failed, 1U);
  EXPECT_EQ(broker.published_on("sendonce.device.apns.invalid"), 1U);
  EXPECT_EQ(broker.published_on("sendonce.dlq"), 0U);
  arrive(message(2, token("aa"), "e2"));
  EXPECT_EQ(transport.submitted, 1U) << "a token known dead is suppressed";
  EXPECT_EQ(counters().suppressed, 1U);
  EXPECT_EQ(broker.acked.size(), 2U);
}

TEST_F(EngineTest, PayloadErrorIsCopiedToTheDeadLettersBeforeTheAck) {
  broker.confirm_at_once = false;
  arrive(message(1, token("aa")));
  transport.answer_status(400);
  step();
  ASSERT_EQ(broker.published_on("sendonce.dlq.otp"), 1U);
  EXPECT_TRUE(broker.acked.empty()) << "the copy is not confirmed";
  for (const auto& [ticket, p] : broker.published) broker.confirmations.push_back({ticket, {}});
  step();
  EXPECT_EQ(broker.acked.size(), 1U);
  EXPECT_EQ(counters().dead_letters, 1U);
}

TEST_F(EngineTest, AnUnconfirmedCopyIsPublishedAgainUnderTheSameId) {
  broker.confirm_at_once = false;
  arrive(message(1, token("aa")));
  transport.answer_status(400);
  step();
  std::vector<std::string> ids;
  const auto fail_all = [&] {
    for (const auto& [ticket, p] : broker.published) {
      if (!p.subject.starts_with("sendonce.dlq")) continue;
      ids.push_back(p.message_id);
      broker.confirmations.push_back({ticket, fail(Errc::unavailable, "time-out")});
    }
    broker.published.clear();
  };
  fail_all();
  wait(seconds(2));
  fail_all();
  EXPECT_TRUE(broker.acked.empty());
  ASSERT_EQ(ids.size(), 2U);
  EXPECT_EQ(ids[0], ids[1]);
}

TEST_F(EngineTest, ACrashBeforeTheCopyIsConfirmedOwesItStill) {
  broker.confirm_at_once = false;
  arrive(message(1, token("aa")));
  transport.answer_status(400);
  step();
  broker.published.clear();
  restart(AmbiguityPolicy::give_up);
  broker.confirm_at_once = true;
  arrive(message(1, token("aa")));
  EXPECT_EQ(broker.published_on("sendonce.dlq.otp"), 1U);
  EXPECT_EQ(broker.acked.size(), 1U);
  EXPECT_EQ(transport.submitted, 1U);
}

TEST_F(EngineTest, ARefusedPayloadTakesNoCall) {
  provider.refuse_payload = "payload: 5000 bytes, at most 4096";
  arrive(message(1, token("aa")));
  EXPECT_EQ(transport.submitted, 0U);
  EXPECT_EQ(broker.published_on("sendonce.dlq.otp"), 1U);
  EXPECT_EQ(broker.published_on("sendonce.outcome.otp.failed"), 1U);
  EXPECT_EQ(broker.acked.size(), 1U);
}

TEST_F(EngineTest, OneBadDestinationDoesNotStopTheOthers) {
  arrive(message(1, token("bad") + "," + token("aa")));
  ASSERT_EQ(transport.open.size(), 1U);
  transport.answer_status(200);
  step();
  EXPECT_EQ(counters().accepted, 1U);
  EXPECT_EQ(broker.published_on("sendonce.dlq.otp"), 1U);
  EXPECT_EQ(broker.acked.size(), 1U);
}

TEST_F(EngineTest, PoisonIsDeadLetteredThenTerminatedAndTheNextFlows) {
  Message poison = message(1, token("aa"));
  poison.body = "{not json";
  arrive(poison);
  EXPECT_EQ(broker.terminated, std::vector<std::string>{"reply.1"});
  EXPECT_EQ(broker.published_on("sendonce.dlq.otp"), 1U);
  EXPECT_EQ(transport.submitted, 0U);
  arrive(message(2, token("aa")));
  EXPECT_EQ(transport.submitted, 1U);
}

TEST_F(EngineTest, UnknownProviderIsPoison) {
  arrive(message(1, R"({"provider":"nobody","token":"aa"})"));
  EXPECT_EQ(broker.terminated.size(), 1U);
}

TEST_F(EngineTest, SameKeyOtherContentIsAConflict) {
  arrive(message(1, token("aa"), "e1", "first"));
  transport.answer_status(200);
  step();
  arrive(message(2, token("aa"), "e1", "second"));
  EXPECT_EQ(transport.submitted, 1U);
  EXPECT_EQ(counters().conflicts, 1U);
  EXPECT_EQ(broker.published_on("sendonce.dlq.otp"), 1U);
  EXPECT_EQ(broker.acked.size(), 2U);
}

TEST_F(EngineTest, RepliesOfAnotherIncarnationAreNeverSent) {
  arrive(message(1, token("aa")));
  broker.lane_state.incarnation = 2;
  wait(seconds(2));
  transport.answer_status(200);
  step();
  EXPECT_TRUE(broker.acked.empty());
  EXPECT_EQ(counters().accepted, 1U);
  EXPECT_EQ(counters().forgotten, 1U);
}

TEST_F(EngineTest, AnAckThatCannotBeBufferedIsKept) {
  arrive(message(1, token("aa")));
  broker.refuse_replies = true;
  transport.answer_status(200);
  step();
  EXPECT_TRUE(broker.acked.empty());
  broker.refuse_replies = false;
  step();
  EXPECT_EQ(broker.acked.size(), 1U);
}

TEST_F(EngineTest, AReplyThatIsNoneIsNotTriedForEver) {
  arrive(message(1, token("aa")));
  broker.refuse_replies = true;
  broker.refusal = Errc::invalid;
  transport.answer_status(200);
  step();
  broker.refuse_replies = false;
  step();
  EXPECT_TRUE(broker.acked.empty());
  engine->drain();
  step();
  EXPECT_TRUE(engine->drained());
}

TEST_F(EngineTest, CreditStopsWhenInFlightIsReached) {
  provider.is_ready = false;
  for (std::uint64_t i = 1; i <= 70; ++i)
    broker.arriving.push_back(message(i, token("aa"), "e" + std::to_string(i)));
  step();
  EXPECT_EQ(broker.credits[0], 0U);
}

TEST_F(EngineTest, RoomBoundsClaims) {
  transport.room = 3;
  for (std::uint64_t i = 1; i <= 10; ++i)
    broker.arriving.push_back(message(i, token("aa"), "e" + std::to_string(i)));
  step();
  EXPECT_EQ(transport.open.size(), 3U);
  EXPECT_EQ(counters().claimed, 3U) << "a claim is taken only with room in hand";
}

TEST_F(EngineTest, DrainHandsBackWhatHasNotStartedAndFinishesCalls) {
  transport.room = 1;
  arrive(message(1, token("aa"), "e1"));
  arrive(message(2, token("bb"), "e2"));
  engine->drain();
  step();
  ASSERT_EQ(broker.naked.size(), 1U);
  EXPECT_EQ(broker.naked[0].first, "reply.2");
  EXPECT_EQ(broker.naked[0].second, Duration::zero());
  EXPECT_FALSE(engine->drained());
  transport.answer_status(200);
  step();
  EXPECT_TRUE(engine->drained());
  EXPECT_EQ(broker.acked.size(), 1U);
}

TEST_F(EngineTest, AMessageAfterItsDeadlineIsNeverSent) {
  Message m = message(1, token("aa"));
  m.stored_at = clock.wall() - minutes(11);
  arrive(std::move(m));
  wait(seconds(2));
  EXPECT_EQ(transport.submitted, 0U);
  EXPECT_EQ(counters().suppressed, 1U);
}

// Law 12. A later duplicate has a later deadline of its own; the row keeps that of the first
// message.
TEST_F(EngineTest, ADuplicateDoesNotMoveTheDeadlineOfTheCall) {
  const WallTime deadline = clock.wall() + minutes(10);
  arrive(message(1, token("aa")));
  transport.answer_status(503);
  step();
  restart(AmbiguityPolicy::give_up);
  wait(minutes(5));
  arrive(message(2, token("aa")));
  ASSERT_FALSE(transport.open.empty());
  EXPECT_LE(transport.open.back().request.not_after_wall, deadline);
}

}  // namespace
}  // namespace sendonce::test
