#include "plugin/broker/nats/lane.hpp"

#include <string>

#include <gtest/gtest.h>

namespace sendonce {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class LaneTest : public ::testing::Test {
 protected:
  static ConsumerExpectation expectation() {
    return {.stream = "NOTIFY",
            .durable = "sendonce_otp",
            .filter_subject = "notify.otp.>",
            .ledger_id = "ab12",
            .ack_wait = seconds(60)};
  }
  static StreamInfo stream(std::string created = "2026-01-01T00:00:00Z") {
    return {.name = "NOTIFY", .created = std::move(created)};
  }
  static ConsumerInfo consumer(std::string created = "2026-01-01T00:00:01Z") {
    return {.stream = "NOTIFY",
            .name = "sendonce_otp",
            .created = std::move(created),
            .description = "sendonce ledger=ab12",
            .filter_subject = "notify.otp.>",
            .ack_policy = "explicit",
            .ack_wait = seconds(60),
            .max_ack_pending = 1000};
  }

  Binding answer(const LaneStep& step, ApiAnswer<StreamInfo> s, ApiAnswer<ConsumerInfo> c) {
    if (step.ask_stream)
      static_cast<void>(lane.on_stream_info(now, *step.ask_stream, std::move(s)));
    return lane.on_consumer_info(now, *step.ask_consumer, std::move(c));
  }
  void bind() {
    lane.connected(now);
    const LaneStep step = lane.step(now);
    ASSERT_TRUE(step.ask_stream && step.ask_consumer && step.probe_ack);
    ASSERT_EQ(answer(step, stream(), consumer()), Binding::changed);
    ASSERT_TRUE(lane.state().ready) << lane.state().reason;
  }
  // Lets time pass until the lane asks again, and answers.
  void info(const ConsumerInfo& c) {
    now += settings.info_interval;
    const LaneStep step = lane.step(now);
    ASSERT_TRUE(step.ask_consumer);
    static_cast<void>(answer(step, stream(), c));
  }
  PullRequest pull() {
    const LaneStep step = lane.step(now);
    EXPECT_TRUE(step.pull.has_value());
    return step.pull.value_or(PullRequest{});
  }
  bool deliver(std::uint64_t consumer_seq) {
    return lane.on_message(now, AckReply{.stream = "NOTIFY",
                                         .consumer = "sendonce_otp",
                                         .stream_seq = consumer_seq,
                                         .consumer_seq = consumer_seq});
  }
  [[nodiscard]] std::string reason() const { return lane.state().reason; }

  MonoTime now{seconds(1000)};
  PullSettings settings{};
  Lane lane{ClassIndex(0), expectation(), settings, 7};
};

TEST_F(LaneTest, NothingIsPulledBeforeTheConsumerIsKnown) {
  lane.set_credit(100);
  EXPECT_FALSE(lane.step(now).pull);
  lane.connected(now);
  EXPECT_FALSE(lane.step(now).pull);
  EXPECT_FALSE(lane.state().ready);
  EXPECT_EQ(lane.ack_fate(0), AckFate::keep);
}

TEST_F(LaneTest, AStartThatGoesWellIsNoWarning) {
  EXPECT_TRUE(lane.state().opening);
  bind();
  lane.disconnected("gone");
  EXPECT_FALSE(lane.state().opening);
  lane.connected(now);
  EXPECT_TRUE(lane.state().opening) << "the check after a reconnect";
  static_cast<void>(answer(lane.step(now), stream(), std::unexpected(ApiError{})));
  EXPECT_FALSE(lane.state().opening);
}

TEST_F(LaneTest, AsksForWhatIsWelcomeAndAgainAtTheHalf) {
  bind();
  lane.set_credit(100);
  const PullRequest first = pull();
  EXPECT_EQ(first.batch, 100U);
  EXPECT_EQ(first.expires, seconds(30));
  EXPECT_EQ(first.heartbeat, seconds(5));
  EXPECT_EQ(first.max_bytes, 8U << 20U);
  EXPECT_FALSE(lane.step(now).pull);
  for (std::uint64_t i = 1; i <= 60; ++i) EXPECT_TRUE(deliver(i));
  EXPECT_FALSE(lane.step(now).pull);  // they are not taken yet
  lane.taken(now, 0);
  EXPECT_FALSE(lane.step(now).pull);  // and now the credit is 40, with 40 asked for
  lane.set_credit(100);
  EXPECT_EQ(pull().batch, 60U);
}

TEST_F(LaneTest, NeverAsksForMoreThanTheCredit) {
  bind();
  EXPECT_FALSE(lane.step(now).pull);
  lane.set_credit(1);
  EXPECT_EQ(pull().batch, 1U);
  EXPECT_TRUE(deliver(1));
  EXPECT_FALSE(lane.step(now).pull);  // it waits to be taken
  lane.taken(now, 0);
  EXPECT_FALSE(lane.step(now).pull);  // which uses up the credit,
  now += milliseconds(99);
  EXPECT_FALSE(lane.step(now).pull);
  EXPECT_EQ(lane.next_step(), now + milliseconds(1));
  now += milliseconds(1);
  EXPECT_EQ(pull().batch, 1U);  // unless it is left as it was
}

TEST_F(LaneTest, AnExpiredRequestIsReplacedAtOnceAndAnEmptyOneAfterAPause) {
  bind();
  lane.set_credit(10);
  lane.on_status(now, pull().id, 408, "Request Timeout");
  lane.on_status(now, pull().id, 404, "No Messages");
  EXPECT_FALSE(lane.step(now).pull);
  EXPECT_LE(lane.next_step(), now + milliseconds(50));
  now += milliseconds(50);
  EXPECT_TRUE(lane.step(now).pull);
  EXPECT_TRUE(lane.state().ready);
}

TEST_F(LaneTest, StatusesOfForgottenRequestsMeanNothing) {
  bind();
  lane.set_credit(10);
  const std::uint64_t id = pull().id;
  lane.on_status(now, id + 7, 503, "");
  lane.on_status(now, id + 7, 408, "Request Timeout");
  lane.on_status(now, id + 7, 400, "Bad Request");
  EXPECT_TRUE(lane.state().ready);
  EXPECT_FALSE(lane.step(now).pull);  // the open one is still open
}

TEST_F(LaneTest, NoRespondersIsPacedAndThenNotReady) {
  bind();
  lane.set_credit(10);
  MonoTime last = now;
  int requests = 0;
  const MonoTime start = now;
  while (now < start + seconds(20)) {
    const LaneStep step = lane.step(now);
    if (step.ask_consumer) static_cast<void>(answer(step, stream(), consumer()));
    if (step.pull) {
      ++requests;
      last = now;
      lane.on_status(now, step.pull->id, 503, "");
    }
    now += milliseconds(10);
  }
  EXPECT_LT(requests, 30);  // 50 ms, doubling to 2 s
  EXPECT_GT(requests, 10);
  EXPECT_GE(last, start + seconds(15));  // it does not stop
  EXPECT_FALSE(lane.state().ready);
  EXPECT_NE(reason().find("503"), std::string::npos);
  EXPECT_FALSE(lane.state().fatal);
  now += seconds(3);
  lane.on_status(now, pull().id, 408, "Request Timeout");
  EXPECT_TRUE(lane.state().ready);
}

TEST_F(LaneTest, SilenceForgetsTheRequestsAndAsksForTheConsumer) {
  settings.info_interval = seconds(3600);
  lane = Lane(ClassIndex(0), expectation(), settings, 7);
  bind();
  lane.set_credit(10);
  const std::uint64_t first = pull().id;
  now += seconds(5);
  lane.on_status(now, first, 100, "Idle Heartbeat");
  EXPECT_FALSE(lane.step(now).pull);
  now += seconds(10) + milliseconds(499);
  EXPECT_FALSE(lane.step(now).pull);
  now += milliseconds(1);
  const LaneStep step = lane.step(now);
  EXPECT_TRUE(step.ask_consumer);
  ASSERT_TRUE(step.pull);
  EXPECT_NE(step.pull->id, first);
  EXPECT_TRUE(lane.state().ready);  // one silence is no trouble
  EXPECT_EQ(answer(step, stream(), std::unexpected(ApiError{.err_code = 10014})),
            Binding::unsettled);
  EXPECT_FALSE(lane.state().ready);
  EXPECT_FALSE(lane.state().fatal);
}

TEST_F(LaneTest, RepeatedSilenceIsNotReady) {
  bind();
  lane.set_credit(10);
  for (int i = 0; i < 4; ++i) {
    const LaneStep step = lane.step(now);
    if (step.ask_consumer) static_cast<void>(answer(step, stream(), consumer()));
    now += seconds(11);
  }
  EXPECT_NE(reason().find("has not answered"), std::string::npos) << reason();
  lane.set_credit(10);
  EXPECT_TRUE(deliver(1));
  EXPECT_TRUE(lane.state().ready);
}

TEST_F(LaneTest, LimitsOfTheConsumerAreAdoptedAndSaid) {
  bind();
  lane.set_credit(1000);
  lane.on_status(now, pull().id, 409, "Exceeded MaxRequestBatch of 64");
  EXPECT_TRUE(lane.take_notice().has_value());
  EXPECT_FALSE(lane.take_notice().has_value());
  EXPECT_EQ(pull().batch, 64U);
  lane.on_status(now, 2, 409, "Exceeded MaxRequestExpires of 4s");
  const PullRequest third = pull();
  EXPECT_EQ(third.expires, seconds(4));
  EXPECT_EQ(third.heartbeat, seconds(2));
  lane.on_status(now, third.id, 409, "Exceeded MaxRequestMaxBytes of 1000");
  EXPECT_EQ(pull().max_bytes, 1000U);
  EXPECT_TRUE(lane.state().ready);
}

TEST_F(LaneTest, SmallLimitsDoNotFloodTheServerWithRequests) {
  bind();
  lane.set_credit(1000);
  lane.on_status(now, pull().id, 409, "Exceeded MaxRequestBatch of 1");
  int requests = 0;
  while (lane.step(now).pull) ++requests;
  EXPECT_LE(requests, 8);
  EXPECT_GT(requests, 0);
}

TEST_F(LaneTest, AMessageThatDoesNotFitIsAskedForAlone) {
  bind();
  lane.set_credit(100);
  lane.on_status(now, pull().id, 409, "Message Size Exceeds MaxBytes");
  const PullRequest again = pull();
  EXPECT_EQ(again.batch, 100U);
  lane.on_status(now, again.id, 409, "Message Size Exceeds MaxBytes");
  const PullRequest alone = pull();
  EXPECT_EQ(alone.batch, 1U);
  EXPECT_EQ(alone.max_bytes, 0U);
  EXPECT_FALSE(lane.step(now).pull);
  EXPECT_TRUE(deliver(1));
  lane.taken(now, 0);
  lane.set_credit(100);
  EXPECT_EQ(pull().batch, 100U);
}

TEST_F(LaneTest, ADeletedConsumerStopsPullsAndAcksUntilItIsBack) {
  bind();
  lane.set_credit(10);
  lane.on_status(now, pull().id, 409, "Consumer Deleted");
  EXPECT_FALSE(lane.state().ready);
  EXPECT_EQ(lane.ack_fate(1), AckFate::keep);
  const LaneStep step = lane.step(now);
  EXPECT_FALSE(step.pull);
  EXPECT_EQ(answer(step, stream(), std::unexpected(ApiError{.err_code = 10014})),
            Binding::unsettled);
  EXPECT_NE(reason().find("does not exist; run `sendonce setup`"), std::string::npos);
  EXPECT_FALSE(lane.step(now).ask_consumer);  // looked for every five seconds
  now += seconds(5);
  EXPECT_EQ(answer(lane.step(now), stream(), consumer("2026-02-02T00:00:00Z")), Binding::changed);
  EXPECT_EQ(lane.incarnation(), 2U);
  EXPECT_EQ(lane.ack_fate(1), AckFate::forget);
  EXPECT_EQ(lane.ack_fate(2), AckFate::send);
}

TEST_F(LaneTest, AReconnectChecksAgainAndTheSameConsumerGoesOn) {
  bind();
  lane.set_credit(10);
  static_cast<void>(pull());
  lane.disconnected("gone");
  EXPECT_EQ(reason(), "gone");
  EXPECT_EQ(lane.ack_fate(1), AckFate::keep);
  EXPECT_EQ(lane.next_step(), MonoTime::max());
  lane.connected(now);
  const LaneStep step = lane.step(now);
  EXPECT_FALSE(step.pull);
  EXPECT_FALSE(deliver(5));  // kept until the answer is there
  EXPECT_EQ(answer(step, stream(), consumer()), Binding::same);
  EXPECT_EQ(lane.incarnation(), 1U);
  EXPECT_EQ(lane.ack_fate(1), AckFate::send);
}

// nats-server 2.9 reports a creation tens of microseconds off after its first restart.
TEST_F(LaneTest, ATimeOfCreationThatIsALittleOffIsTheSameConsumer) {
  bind();
  lane.connected(now);
  EXPECT_EQ(answer(lane.step(now), stream(), consumer("2026-01-01T00:00:01.000192Z")),
            Binding::same);
  lane.connected(now);
  EXPECT_EQ(answer(lane.step(now), stream(), consumer("2026-01-01T00:00:01.2Z")), Binding::changed);
  lane.connected(now);  // of a stream it is exact
  EXPECT_EQ(answer(lane.step(now), stream("2026-01-01T00:00:00.000001Z"),
                   consumer("2026-01-01T00:00:01.2Z")),
            Binding::changed);
  EXPECT_EQ(lane.incarnation(), 3U);
}

TEST_F(LaneTest, ADeliveryCountThatGoesBackIsLookedInto) {
  bind();
  lane.set_credit(10);
  static_cast<void>(pull());
  EXPECT_TRUE(deliver(5));
  EXPECT_TRUE(deliver(6));
  EXPECT_FALSE(deliver(1));
  EXPECT_FALSE(deliver(2));
  EXPECT_EQ(lane.ack_fate(1), AckFate::keep);
  EXPECT_EQ(answer(lane.step(now), stream(), consumer()), Binding::same);
  EXPECT_TRUE(deliver(3));  // a server that had not written its state: goes on from there
  EXPECT_FALSE(deliver(1));
  EXPECT_EQ(
      answer(lane.step(now), stream("2027-01-01T00:00:00Z"), consumer("2027-01-01T00:00:01Z")),
      Binding::changed);
  lane.dropped(1);
  EXPECT_TRUE(deliver(1));
}

TEST_F(LaneTest, AWrongConsumerIsFatalAndForgetsAcks) {
  lane.connected(now);
  ConsumerInfo wrong = consumer();
  wrong.max_deliver = 5;
  EXPECT_EQ(answer(lane.step(now), stream(), wrong), Binding::changed);
  EXPECT_TRUE(lane.state().fatal);
  EXPECT_EQ(lane.ack_fate(0), AckFate::forget);
  lane.set_credit(10);
  now += seconds(5);
  const LaneStep step = lane.step(now);
  EXPECT_FALSE(step.pull);
  static_cast<void>(answer(step, stream(), consumer()));  // repaired
  EXPECT_TRUE(lane.state().ready);
  EXPECT_FALSE(lane.state().fatal);
}

TEST_F(LaneTest, MissingIsFatalOnlyBeforeItEverWorked) {
  lane.connected(now);
  static_cast<void>(
      answer(lane.step(now), std::unexpected(ApiError{.err_code = 10059}), consumer()));
  EXPECT_TRUE(lane.state().fatal);
  EXPECT_NE(reason().find("stream NOTIFY does not exist"), std::string::npos);
}

TEST_F(LaneTest, AnUnansweredQuestionIsAskedAgain) {
  lane.connected(now);
  const LaneStep first = lane.step(now);
  ASSERT_TRUE(first.ask_consumer);
  EXPECT_EQ(lane.next_step(), now + seconds(5));
  now += seconds(5);
  const LaneStep second = lane.step(now);
  ASSERT_TRUE(second.ask_consumer);
  EXPECT_NE(reason().find("no answer"), std::string::npos);
  EXPECT_EQ(answer(first, stream(), consumer()), Binding::unsettled);  // too late to count
  EXPECT_EQ(answer(second, stream(), consumer()), Binding::changed);
}

// Somebody else may have adopted the consumer meanwhile: pulls that still work prove nothing.
TEST_F(LaneTest, AConsumerThatCannotBeReadForLongIsNeitherPulledNorAcked) {
  bind();
  lane.set_credit(100);
  const MonoTime bound_at = now;
  std::uint64_t sequence = 0;
  while (now - bound_at < seconds(29)) {
    now += milliseconds(500);
    const LaneStep step = lane.step(now);
    if (step.ask_consumer)
      static_cast<void>(answer(step, stream(), std::unexpected(ApiError{.err_code = 10008})));
    EXPECT_TRUE(deliver(++sequence));
    lane.taken(now, 0);
    lane.set_credit(100);
    ASSERT_EQ(lane.ack_fate(1), AckFate::send);
  }
  while (now - bound_at < seconds(40)) {
    now += milliseconds(500);
    const LaneStep step = lane.step(now);
    if (step.ask_consumer)
      static_cast<void>(answer(step, stream(), std::unexpected(ApiError{.err_code = 10008})));
  }
  EXPECT_EQ(lane.ack_fate(1), AckFate::keep);
  EXPECT_FALSE(lane.step(now).pull);
  EXPECT_NE(reason().find("cannot read consumer"), std::string::npos);
  now += settings.info_interval;
  EXPECT_EQ(answer(lane.step(now), stream(), consumer()), Binding::same);
  EXPECT_EQ(lane.ack_fate(1), AckFate::send);
}

TEST_F(LaneTest, WithoutAPullRequestTheConsumerIsLookedAtMoreOften) {
  bind();
  lane.set_credit(10);
  const std::uint64_t asked = pull().id;
  info(consumer());
  EXPECT_EQ(lane.next_step(), now + settings.info_interval);
  lane.set_credit(0);
  lane.on_status(now, asked, 408, "Request Timeout");
  info(consumer());
  EXPECT_LE(lane.next_step(), now + seconds(1)) << "its acks might reach another's messages";
}

TEST_F(LaneTest, ADeniedSubjectIsNotReadyUntilAWholeRoundIsQuiet) {
  bind();
  lane.set_credit(10);
  lane.on_denied(now, "may not use 'x'");
  EXPECT_FALSE(lane.state().ready);
  EXPECT_FALSE(lane.step(now).pull);
  now += seconds(5);
  LaneStep step = lane.step(now);
  EXPECT_TRUE(step.probe_ack);
  lane.on_denied(now + milliseconds(1), "may not use 'x'");
  static_cast<void>(answer(step, stream(), consumer()));
  EXPECT_EQ(reason(), "may not use 'x'");
  now += seconds(5);
  static_cast<void>(answer(lane.step(now), stream(), consumer()));
  EXPECT_FALSE(lane.state().ready);  // the refusal may be on its way
  now += seconds(5);
  static_cast<void>(answer(lane.step(now), stream(), consumer()));
  EXPECT_TRUE(lane.state().ready);
}

TEST_F(LaneTest, AConsumerThatHoldsMessagesBackRaisesAnAlarm) {
  bind();
  lane.set_credit(10);
  ConsumerInfo stuck = consumer();
  stuck.pending = 3;
  stuck.waiting = 1;
  std::uint64_t request = pull().id;
  for (int i = 0; i < 6; ++i) {
    info(stuck);
    lane.on_status(now, request, 100, "Idle Heartbeat");
    EXPECT_TRUE(lane.state().ready) << i;
  }
  info(stuck);
  EXPECT_NE(reason().find("nothing was delivered for 30s"), std::string::npos) << reason();
  EXPECT_TRUE(lane.take_notice().has_value());
  const LaneStep step = lane.step(now);
  ASSERT_TRUE(step.pull);  // a new request
  EXPECT_NE(step.pull->id, request);
  lane.on_status(now, step.pull->id, 100, "Idle Heartbeat");
  EXPECT_FALSE(lane.state().ready);  // a heartbeat is no delivery
  EXPECT_TRUE(deliver(1));
  EXPECT_TRUE(lane.state().ready);
}

TEST_F(LaneTest, AFullAckWindowIsNoStall) {
  bind();
  lane.set_credit(10);
  static_cast<void>(pull());
  ConsumerInfo full = consumer();
  full.pending = 3;
  full.waiting = 1;
  full.ack_pending = 1000;
  for (int i = 0; i < 10; ++i) {
    info(full);
    lane.on_status(now, 1, 100, "Idle Heartbeat");
  }
  EXPECT_TRUE(lane.state().ready);
  EXPECT_EQ(lane.state().ack_pending, 1000U);
  EXPECT_EQ(lane.state().pending, 3U);
}

TEST_F(LaneTest, AStoppedLaneAsksNothing) {
  bind();
  lane.set_credit(10);
  lane.stop();
  const LaneStep step = lane.step(now + seconds(60));
  EXPECT_FALSE(step.pull || step.ask_consumer || step.ask_stream || step.probe_ack);
  EXPECT_EQ(lane.next_step(), MonoTime::max());
}

// Whatever happens, the lane names a time, and stepping it then makes that time move on.
TEST_F(LaneTest, NeverSpins) {
  Random random(3);
  bind();
  for (int i = 0; i < 20'000; ++i) {
    lane.set_credit(random.below(50));
    const LaneStep step = lane.step(now);
    const LaneStep again = lane.step(now);
    EXPECT_FALSE(again.ask_consumer);
    if (!lane.wants_pull()) {
      EXPECT_GT(lane.next_step(), now);
    }
    if (step.ask_consumer && random.chance(0.8))
      static_cast<void>(answer(step, stream(), consumer()));
    if (step.pull) {
      static constexpr int kCodes[] = {100, 404, 408, 409, 503, 400};
      static constexpr const char* kTexts[] = {"Server Shutdown", "Exceeded MaxWaiting", "x"};
      lane.on_status(now, step.pull->id, kCodes[random.below(6)], kTexts[random.below(3)]);
    }
    now = std::max(now, std::min(lane.next_step(), now + random.jitter(seconds(3))));
  }
}

}  // namespace
}  // namespace sendonce
