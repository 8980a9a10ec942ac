// What waits for a held provider, and the one delivery that tries whether it is well again.
#include <gmock/gmock.h>

#include "tests/unit/pipeline/engine_fixture.hpp"

namespace sendonce::test {
namespace {

TEST_F(EngineTest, AuthFaultHoldsTheProviderAndTouchesNoToken) {
  arrive(message(1, token("aa")));
  transport.answer_status(403);
  step();
  arrive(message(2, token("bb"), "e2"));
  EXPECT_EQ(transport.submitted, 1U);
  EXPECT_TRUE(broker.acked.empty());
  EXPECT_EQ(broker.published_on("sendonce.device"), 0U);
  wait(seconds(6));
  ASSERT_EQ(transport.submitted, 2U) << "one probe";
  transport.answer_status(200);
  step();
  ASSERT_EQ(transport.open.size(), 1U) << "released";
  transport.answer_status(200);
  step();
  EXPECT_EQ(broker.acked.size(), 2U);
}

TEST_F(EngineTest, SaysWhatItHoldsOfAnEventAndWhy) {
  const KeyMaker keys{Credential(std::string(32, 's'))};
  const auto held = [&](std::string_view event) { return engine->held(keys.event_lookup(event)); };
  arrive(message(1, token("aa")));
  ASSERT_EQ(held("e1").size(), 1U);
  EXPECT_EQ(held("e1")[0].doing, "is with its provider");
  transport.answer_status(403);
  step();
  arrive(message(2, token("bb"), "e2"));
  ASSERT_EQ(held("e2").size(), 1U);
  EXPECT_EQ(held("e2")[0].sequence, StreamSeq(2));
  EXPECT_EQ(held("e2")[0].doing, "waits for its provider");
  EXPECT_FALSE(held("e2")[0].reason.empty());
  EXPECT_TRUE(held("e3").empty());
}

// Found by the simulator: a new APNs token, minted when the old one was refused, was not tried.
TEST_F(EngineTest, ACredentialThatIsRenewedAtOnceIsTriedAtOnce) {
  provider.renews_at_once = true;
  arrive(message(1, token("aa")));
  transport.answer_status(403);
  step();
  provider.renews_at_once = false;
  arrive(message(2, token("bb"), "e2"));
  ASSERT_EQ(transport.submitted, 2U) << "with the new one";
  arrive(message(3, token("cc"), "e3"));
  EXPECT_EQ(transport.submitted, 2U) << "one probe";
  transport.answer_status(403);
  step();
  wait(seconds(4));
  EXPECT_EQ(transport.submitted, 2U) << "it was no better";
}

// Found by the simulator: a late answer to the old one held what the new one had proven well.
TEST_F(EngineTest, AnAnswerToTheOldCredentialSaysNothingOfTheNewOne) {
  provider.renews_at_once = true;
  arrive(message(1, token("aa")));
  arrive(message(2, token("bb"), "e2"));
  transport.answer_status(403);
  step();
  ASSERT_EQ(transport.submitted, 3U) << "the probe, with the new one";
  std::swap(transport.open[0], transport.open[1]);
  transport.answer_status(200);
  step();
  transport.answer_status(403);  // to the second call, made with the old one
  step();
  EXPECT_EQ(provider.refusals, 1U) << "the new one has not been refused";
  ASSERT_EQ(transport.open.size(), 1U) << "at once, for nothing is held";
  transport.answer_status(200);
  step();
  EXPECT_EQ(counters().accepted, 2U);
}

// While the new one is being tried, a late answer to the old one lets nobody else try it too.
TEST_F(EngineTest, AnAnswerToTheOldCredentialMakesNoSecondProbe) {
  provider.renews_at_once = true;
  arrive(message(1, token("aa")));
  arrive(message(2, token("bb"), "e2"));
  transport.answer_status(403);
  step();
  ASSERT_EQ(transport.submitted, 3U);
  transport.answer_status(403);
  step();
  EXPECT_EQ(transport.submitted, 3U);
  transport.answer_status(200);
  step();
  transport.answer_status(200);
  step();
  EXPECT_EQ(counters().accepted, 2U);
}

// Of two providers that share a credential, one had it renewed while the other's call was out.
TEST_F(EngineTest, ACredentialThatAnotherProviderHadRenewedIsNotHeld) {
  provider.renews_at_once = true;
  ClassPolicy both = make_class(AmbiguityPolicy::give_up);
  both.routes.emplace_back(Channel::push, ProviderIndex(1));
  std::vector<ProviderSlot> slots(2, ProviderSlot{.config = {}, .provider = &provider});
  slots[0].config.name = "apns";
  slots[1].config.name = "voip";
  engine = std::make_unique<Engine>(
      EngineDeps{clock, *log, broker, *lane, transport},
      EngineOptions{.ledger_id = "L", .secret = std::string(32, 's'), .seed = 1},
      std::vector<ClassPolicy>{both}, slots);
  arrive(message(1, token("aa")));
  arrive(message(2, R"({"provider":"voip","token":"bb"})", "e2"));
  transport.answer_status(403);
  step();
  ASSERT_EQ(transport.submitted, 3U) << "the first once more, with the new one";
  transport.answer_status(403);  // to the second, made with the old one
  step();
  EXPECT_EQ(provider.refusals, 1U) << "the new one has not been refused";
  EXPECT_TRUE(engine->report().providers[1].holds.empty());
  EXPECT_EQ(transport.submitted, 4U) << "at once";
}

TEST_F(EngineTest, HeldDeliveriesEndWithTheirDeadlineWithoutDeadLetter) {
  provider.is_ready = false;
  arrive(message(1, token("aa")));
  wait(minutes(11));
  EXPECT_EQ(transport.submitted, 0U);
  EXPECT_EQ(counters().suppressed, 1U);
  EXPECT_EQ(broker.acked.size(), 1U);
  EXPECT_EQ(broker.published_on("sendonce.dlq"), 0U);
  EXPECT_EQ(broker.published_on("sendonce.outcome.otp.suppressed"), 1U);
}

// A hold has one probe out. What happens to other deliveries meanwhile gives it back to nobody.
TEST_F(EngineTest, ADeliveryThatIsNoProbeEndsNoProbe) {
  Message late = message(1, token("aa"));
  late.stored_at = clock.wall() - minutes(10) + seconds(8);
  arrive(message(2, token("bb"), "e2"));
  transport.answer_status(403);
  step();
  arrive(message(3, token("cc"), "e3"));
  arrive(std::move(late));
  wait(seconds(6));
  ASSERT_EQ(transport.open.size(), 1U) << "the probe";
  wait(seconds(20));
  EXPECT_EQ(counters().suppressed, 1U) << "its deadline has passed while it was held";
  EXPECT_EQ(transport.submitted, 2U) << "the probe is still out";
  transport.answer_status(200);
  step();
  EXPECT_EQ(transport.submitted, 3U);
}

// Found by the simulator: duplicates kept a provider held that had long been well.
TEST_F(EngineTest, ADuplicateUsesUpNoProbe) {
  arrive(message(1, token("aa")));
  transport.answer_status(200);
  step();
  Message brief = message(2, token("bb"), "e2");
  brief.stored_at = clock.wall() - minutes(10) + seconds(3);
  arrive(std::move(brief));
  transport.answer_status(403);
  step();
  arrive(message(3, token("aa")));
  arrive(message(4, token("cc"), "e4"));
  wait(seconds(6));
  EXPECT_EQ(transport.submitted, 3U) << "the probe that the duplicate did not need";
}

TEST_F(EngineTest, AProbeThatFoundNoStreamIsRepeated) {
  arrive(message(1, token("aa")));
  transport.answer_status(403);
  step();
  transport.refuse = true;
  wait(seconds(6));
  EXPECT_EQ(transport.submitted, 1U);
  transport.refuse = false;
  wait(seconds(6));
  EXPECT_EQ(transport.submitted, 2U) << "one probe";
}

// The probe is due and there is no connection to send it on: only the transport can change that.
TEST_F(EngineTest, ADueProbeWithoutRoomDoesNotSpin) {
  arrive(message(1, token("aa")));
  transport.answer_status(403);
  step();
  transport.room = 0;
  wait(seconds(6));
  engine->poll(seconds(1));
  EXPECT_GT(transport.waited, milliseconds(100));
  transport.room = 1;
  engine->poll(seconds(1));
  step();
  EXPECT_EQ(transport.submitted, 2U);
}

TEST_F(EngineTest, AProbeThatItsClaimEndedIsRepeatedByAnother) {
  arrive(message(1, token("aa")));
  ASSERT_EQ(transport.open.size(), 1U);
  transport.open.clear();
  restart(AmbiguityPolicy::give_up);
  Message refused = message(2, token("bb"), "e2");
  refused.stored_at = clock.wall() - minutes(10) + seconds(2);
  arrive(std::move(refused));
  transport.answer_status(403);
  step();
  arrive(message(1, token("aa")));
  wait(seconds(6));
  EXPECT_EQ(counters().unknown, 1U) << "it was the probe: in doubt, and the class gives up";
  arrive(message(3, token("cc"), "e3"));
  EXPECT_EQ(transport.submitted, 3U) << "the next one probes";
}

// 64 in flight: with 48 of them waiting for a held provider, nothing would be pulled for others.
TEST_F(EngineTest, AHeldProviderDoesNotFillItsClass) {
  arrive(message(1, token("aa")));
  transport.answer_status(403);
  step();
  for (std::uint64_t i = 2; i <= 60; ++i)
    arrive(message(i, token("t" + std::to_string(i)), "e" + std::to_string(i)));
  EXPECT_EQ(broker.credits[0], 0U);
  wait(seconds(2));
  EXPECT_EQ(transport.submitted, 1U);
  EXPECT_TRUE(broker.acked.empty());
  EXPECT_EQ(broker.naked.size(), 60U - 48U) << "enough to pull again, and no more";
  EXPECT_EQ(broker.credits[0], 16U);
}

// Found by the simulator: the provider was well again in time, and the message came back too late.
TEST_F(EngineTest, WhatGoesBackFromAHeldProviderComesBackWithinItsTime) {
  arrive(message(1, token("aa")));
  transport.answer_status(403);
  step();
  for (std::uint64_t i = 2; i <= 60; ++i) {
    Message brief = message(i, token("t" + std::to_string(i)), "e" + std::to_string(i));
    brief.stored_at = clock.wall() - minutes(10) + seconds(12);
    arrive(std::move(brief));
  }
  wait(seconds(2));
  ASSERT_EQ(broker.naked.size(), 60U - 48U);
  for (const auto& [reply, delay] : broker.naked) EXPECT_LE(delay, seconds(6));
}

TEST_F(EngineTest, LongWaitsGoBackToTheBroker) {
  arrive(message(1, token("aa")));
  HttpAnswer a;
  a.status = 429;
  transport.answer(std::move(a));
  step();
  wait(seconds(12));
  EXPECT_TRUE(broker.naked.empty()) << "short waits are held here";
  EXPECT_EQ(transport.submitted, 2U);
}

TEST_F(EngineTest, HeldMessagesAreReportedEveryThirdOfTheAckWait) {
  provider.is_ready = false;
  arrive(message(1, token("aa")));
  wait(seconds(65));
  EXPECT_EQ(broker.progressed.size(), 3U);
}

// Found by the simulator: it was claimed again past a hold that had been opened meanwhile.
TEST_F(EngineTest, AClaimThatTheLedgerCouldNotTakeWaitsForTheHoldToo) {
  arrive(message(1, token("aa")));
  lane->full = true;
  arrive(message(2, token("bb"), "e2"));
  lane->full = false;
  transport.answer_status(403);
  step();
  wait(seconds(4));
  EXPECT_EQ(transport.submitted, 1U);
  wait(seconds(2));
  EXPECT_EQ(transport.submitted, 2U) << "one probe";
  transport.answer_status(200);
  step();
  EXPECT_EQ(transport.submitted, 3U);
}

TEST_F(EngineTest, AClaimThatTheLedgerCouldNotTakeWaitsForThePauseToo) {
  lane->full = true;
  arrive(message(1, token("aa")));
  lane->full = false;
  engine->pause(ClassIndex(0), "for a moment");
  wait(seconds(4));
  EXPECT_EQ(transport.submitted, 0U);
  EXPECT_EQ(broker.naked.size(), 1U) << "a person may take his time";
  engine->pause(ClassIndex(0), "");
  Message again = message(1, token("aa"));
  again.delivered = 2;
  arrive(std::move(again));
  EXPECT_EQ(transport.submitted, 1U);
}

// Found by the simulator: a class waited for messages that had gone with their consumer.
TEST_F(EngineTest, WhatWasHandedBackToAConsumerThatIsGoneFillsNoClass) {
  ClassPolicy small = make_class(AmbiguityPolicy::give_up);
  small.config.max_ack_pending = 10;
  restart(small);
  engine->pause(ClassIndex(0), "for a moment");
  for (std::uint64_t i = 1; i <= 9; ++i)
    arrive(message(i, token("t" + std::to_string(i)), "e" + std::to_string(i)));
  wait(seconds(2));
  ASSERT_EQ(broker.naked.size(), 9U);
  engine->pause(ClassIndex(0), "");
  wait(seconds(2));
  EXPECT_EQ(engine->report().classes[0].not_ready, "too many messages wait for a retry");
  EXPECT_EQ(broker.credits[0], 0U);
  broker.lane_state.incarnation = 2;
  wait(seconds(2));
  EXPECT_EQ(engine->report().classes[0].not_ready, "");
  EXPECT_GT(broker.credits[0], 0U);
}

// Those that can make no call any more must not use up the one try there is.
TEST_F(EngineTest, WhatHasExpiredIsNoProbe) {
  Message short_lived = message(1, token("aa"));
  short_lived.stored_at = clock.wall() - minutes(10) + seconds(3);
  arrive(std::move(short_lived));
  transport.answer_status(403);
  wait(seconds(4));
  clock.advance(milliseconds(1900));
  step(1);  // the probe is due, and there is nobody
  ASSERT_EQ(counters().suppressed, 1U);
  for (std::uint64_t i = 2; i < 40; ++i) {
    Message late = message(i, token("aa"), "e" + std::to_string(i));
    late.stored_at = clock.wall() - minutes(11);
    broker.arriving.push_back(std::move(late));
  }
  arrive(message(50, token("bb"), "fresh"));
  EXPECT_EQ(transport.submitted, 2U) << "the fresh one is the probe";
  EXPECT_EQ(counters().suppressed, 39U) << "they needed no provider to end";
}

// One provider that cannot be reached must not keep the others of its class from their work.
TEST_F(EngineTest, AnUnreachableProviderHandsBackWhenTheClassIsCrowded) {
  transport.room = 0;
  transport.last_cause = Cause::connect;
  for (std::uint64_t i = 1; i <= 60; ++i)
    broker.arriving.push_back(message(i, token("aa"), "e" + std::to_string(i)));
  wait(seconds(3));
  EXPECT_TRUE(broker.naked.empty()) << "a connection that was just lost may be back at once";
  wait(seconds(6));
  EXPECT_GT(broker.naked.size(), 10U) << "three quarters of in_flight are 48";
  EXPECT_GT(broker.credits[0], 0U);
  EXPECT_TRUE(broker.acked.empty());
  transport.room = 100;
  transport.last_cause.reset();
  step();
  EXPECT_GT(transport.submitted, 0U);
}

TEST_F(EngineTest, AClassThatIsFullOfUnconfirmedDeadLettersSaysSo) {
  broker.confirm_at_once = false;
  for (std::uint64_t i = 1; i <= 60; ++i)
    broker.arriving.push_back(message(i, token("bad"), "e" + std::to_string(i)));
  step();
  const auto fail_copies = [&] {
    for (const auto& [ticket, p] : broker.published)
      if (p.subject.starts_with("sendonce.dlq"))
        broker.confirmations.push_back({ticket, fail(Errc::unavailable, "no stream")});
    broker.published.clear();
  };
  fail_copies();
  wait(seconds(1));
  EXPECT_THAT(engine->report().classes[0].not_ready, testing::HasSubstr("dead letters"));
  broker.confirm_at_once = true;
  wait(seconds(3));
  EXPECT_EQ(engine->report().classes[0].not_ready, "");
  EXPECT_EQ(broker.acked.size(), 60U);
}

}  // namespace
}  // namespace sendonce::test
