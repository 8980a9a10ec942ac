// The engine over a real rule set and an in-memory ledger, with the outside world stepped by hand.
#include "plugin/pipeline/engine.hpp"

#include <memory>

#include <gtest/gtest.h>

#include "ledger/memory/memory_ledger.hpp"
#include "tests/support/fakes.hpp"

namespace sendonce::test {
namespace {

using std::chrono::hours, std::chrono::milliseconds, std::chrono::minutes, std::chrono::seconds;

ClassPolicy make_class(AmbiguityPolicy ambiguous) {
  ClassPolicy c;
  c.config.name = "otp";
  c.config.subject = "notify.otp.>";
  c.config.expires = minutes(10);
  c.config.retention = hours(48);
  c.config.in_flight = 64;
  c.config.retry = {
      .first = seconds(1), .factor = 2, .cap = seconds(10), .attempts = 3, .horizon = minutes(5)};
  c.config.ambiguous_default = ambiguous;
  const std::vector<std::string> fields{"event_id", "recipient", "channel", "template"};
  c.recipe = *make_recipe("otp", fields);
  c.routes = {{Channel::push, ProviderIndex(0)}};
  return c;
}

class EngineTest : public ::testing::Test {
 protected:
  void SetUp() override { start(AmbiguityPolicy::give_up); }

  void start(AmbiguityPolicy ambiguous) {
    disk = MemoryDisk{};
    restart(ambiguous);
  }

  // A new incarnation of the process on the same ledger.
  void restart(AmbiguityPolicy ambiguous) {
    engine.reset();
    ledger.reset();
    ledger = std::make_unique<MemoryLedger>(disk, MemoryLedgerOptions{});
    lane = std::make_unique<StepLane>(*ledger, clock);
    ProviderSlot slot;
    slot.config.name = "apns";
    slot.provider = &provider;
    engine = std::make_unique<Engine>(
        EngineDeps{clock, *log, broker, *lane, transport},
        EngineOptions{.ledger_id = "L", .secret = std::string(32, 's'), .seed = 1},
        std::vector<ClassPolicy>{make_class(ambiguous)}, std::vector<ProviderSlot>{slot});
  }

  void step(int cycles = 4) {
    for (int i = 0; i < cycles; ++i) {
      engine->poll(Duration::zero());
      clock.advance(milliseconds(1));
    }
  }
  void wait(Duration d) {
    for (Duration passed{0}; passed < d; passed += milliseconds(500)) {
      clock.advance(milliseconds(500));
      engine->poll(Duration::zero());
    }
    step();
  }

  Message message(std::uint64_t seq, const std::string& targets, const std::string& event = "e1",
                  const std::string& body = "hello") {
    Message m;
    m.seq = StreamSeq(seq);
    m.stored_at = clock.wall();
    m.incarnation = 1;
    m.subject = "notify.otp.x";
    m.reply = "reply." + std::to_string(seq);
    m.body = R"({"event_id":")" + event + R"(","recipient":"u1","channel":"push","template":"t",)" +
             R"("notification":{"title":"T","body":")" + body + R"("},"targets":[)" + targets +
             "]}";
    return m;
  }
  void arrive(Message m) {
    broker.arriving.push_back(std::move(m));
    step();
  }
  static std::string token(const std::string& t) {
    return R"({"provider":"apns","token":")" + t + R"("})";
  }
  ClassCounters counters() const { return engine->report().classes[0].counters; }

  FakeClock clock{};
  std::unique_ptr<Log> log = make_null_log();
  FakeBroker broker{};
  FakeTransport transport{};
  FakeProvider provider{};
  MemoryDisk disk{};
  std::unique_ptr<MemoryLedger> ledger{};
  std::unique_ptr<StepLane> lane{};
  std::unique_ptr<Engine> engine{};
};

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

}  // namespace
}  // namespace sendonce::test
