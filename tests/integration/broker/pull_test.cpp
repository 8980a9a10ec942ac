#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/integration/broker/rig.hpp"
#include "tests/support/eventually.hpp"

namespace sendonce::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class PullTest : public ::testing::Test {
 protected:
  void SetUp() override {
    rig.make_stream();
    rig.make_consumer();
  }
  void start(std::size_t credit) {
    rig.start_broker();
    ASSERT_TRUE(rig.ready()) << rig.lane().reason;
    rig.broker->credit(kClass, credit);
  }
  Rig rig;
};

TEST_F(PullTest, PullsAndAcksThousands) {
  constexpr std::size_t kMessages = 5000;
  for (std::size_t i = 0; i < kMessages; ++i)
    rig.publish("notify.otp.login", "m" + std::to_string(i));
  start(1000);
  std::set<std::string> bodies;
  std::vector<Message> batch;
  const auto all = [&] {
    batch.clear();
    rig.broker->take(batch);
    for (const Message& message : batch) {
      bodies.insert(message.body);
      EXPECT_TRUE(rig.broker->ack(message));
    }
    rig.broker->credit(kClass, 1000);
    return bodies.size() == kMessages;
  };
  EXPECT_TRUE(eventually(all, seconds(30)));
  EXPECT_TRUE(eventually([&] { return rig.stored() == 0; }));
  EXPECT_EQ(rig.consumer().ack_pending, 0U);
  EXPECT_EQ(rig.broker->counters().replies_sent, kMessages);
}

TEST_F(PullTest, AMessageHasAllItsParts) {
  rig.publish("notify.otp.login", "body", {{"Kind", "a"}, {"Kind", "b"}, {"Other", "c"}});
  start(10);
  ASSERT_TRUE(eventually([&] { return rig.take(1); }));
  const Message& message = rig.taken.front();
  EXPECT_EQ(message.subject, "notify.otp.login");
  EXPECT_EQ(message.body, "body");
  EXPECT_EQ(message.seq, StreamSeq(1));
  EXPECT_EQ(message.delivered, 1U);
  EXPECT_EQ(message.incarnation, rig.lane().incarnation);
  EXPECT_TRUE(message.reply.starts_with("$JS.ACK.NOTIFY.sendonce_otp."));
  const Duration age = rig.clock->wall() - message.stored_at;
  EXPECT_LT(age, seconds(60));
  EXPECT_GT(age, seconds(-60));
  std::multimap<std::string, std::string> headers(message.headers.begin(), message.headers.end());
  EXPECT_EQ(headers.count("Kind"), 2U);
  EXPECT_EQ(headers.count("Other"), 1U);
}

// cnats' synchronous subscriptions take such a message for an answer of the server and drop it.
TEST_F(PullTest, AStoredMessageThatLooksLikeAStatusIsAMessage) {
  rig.publish("notify.otp.a", "", {{"Status", "503"}});
  rig.publish("notify.otp.b", "", {{"Status", "409"}, {"Description", "Consumer Deleted"}});
  start(10);
  EXPECT_TRUE(eventually([&] { return rig.take(2); }));
  EXPECT_TRUE(rig.lane().ready);
}

TEST_F(PullTest, NothingComesWithoutCreditAndNoMoreThanTheCredit) {
  for (int i = 0; i < 20; ++i) rig.publish("notify.otp.x", "m");
  start(0);
  EXPECT_TRUE(eventually([&] { return rig.consumer().pending == 20; }));
  EXPECT_EQ(rig.consumer().waiting, 0U);
  EXPECT_FALSE(rig.take(1));
  rig.broker->credit(kClass, 7);
  EXPECT_TRUE(eventually([&] { return rig.take(7); }));
  rig.broker->credit(kClass, 0);
  EXPECT_TRUE(eventually([&] { return rig.consumer().waiting == 0; }));
  EXPECT_EQ(rig.consumer().ack_pending, 7U);
  EXPECT_FALSE(rig.take(8));
}

TEST_F(PullTest, ANakBringsTheMessageBackAfterItsDelay) {
  rig.publish("notify.otp.x", "m");
  start(10);
  ASSERT_TRUE(eventually([&] { return rig.take(1); }));
  const MonoTime before = rig.clock->mono();
  ASSERT_TRUE(rig.broker->nak(rig.taken[0], milliseconds(400)));
  ASSERT_TRUE(eventually([&] { return rig.take(2); }));
  EXPECT_GE(rig.clock->mono() - before, milliseconds(390));
  EXPECT_EQ(rig.taken[1].delivered, 2U);
  EXPECT_EQ(rig.taken[1].seq, rig.taken[0].seq);
  ASSERT_TRUE(rig.broker->nak(rig.taken[1], Duration{}));
  EXPECT_TRUE(eventually([&] { return rig.take(3); }, seconds(1)));
}

TEST_F(PullTest, TerminateEndsAMessageAndAnAckOfAForeignReplyIsRefused) {
  rig.publish("notify.otp.x", "m");
  start(10);
  ASSERT_TRUE(eventually([&] { return rig.take(1); }));
  ASSERT_TRUE(rig.broker->terminate(rig.taken[0]));
  EXPECT_TRUE(eventually([&] { return rig.stored() == 0; }));
  for (const char* reply : {"$JS.ACK.OTHER.sendonce_otp.1.1.1.1.0", "notify.otp.x"})
    EXPECT_FALSE(rig.broker->ack({.reply = reply}));
}

class ShortAckWaitTest : public PullTest {
 protected:
  void SetUp() override {
    rig.make_stream();
    rig.make_consumer(kLedger, R"("ack_wait":2000000000)");
  }
};

TEST_F(ShortAckWaitTest, ProgressExtendsTheAckDeadline) {
  rig.publish("notify.otp.held", "m");
  rig.publish("notify.otp.forgotten", "m");
  start(10);
  ASSERT_TRUE(eventually([&] { return rig.take(2); }));
  const Message held = rig.taken[0];
  const MonoTime until = rig.clock->mono() + seconds(4);
  MonoTime next = rig.clock->mono();
  const auto keep = [&] {
    if (rig.clock->mono() >= next) {
      EXPECT_TRUE(rig.broker->progress(held));
      next += milliseconds(500);
    }
    rig.take(0);
    return rig.clock->mono() >= until;
  };
  ASSERT_TRUE(eventually(keep));
  std::map<std::uint64_t, int> deliveries;
  for (const Message& message : rig.taken) ++deliveries[message.seq.get()];
  EXPECT_EQ(deliveries[1], 1);
  EXPECT_GE(deliveries[2], 2);
}

TEST_F(PullTest, WhatWasNotTakenComesBackAtOnceAfterAStop) {
  for (int i = 0; i < 50; ++i) rig.publish("notify.otp.x", "m");
  start(100);
  ASSERT_TRUE(eventually([&] { return rig.consumer().ack_pending == 50; }));
  rig.broker->stop();
  start(100);
  EXPECT_TRUE(eventually([&] { return rig.take(50); }, seconds(5)));
}

TEST_F(PullTest, AMessageLargerThanMaxBytesStillComes) {
  auto options = rig.broker_options();
  options.pull.max_bytes = 4096;
  rig.publish("notify.otp.small", "m");
  rig.publish("notify.otp.large", std::string(100'000, 'x'));
  rig.publish("notify.otp.small", "m");
  rig.start_broker(options);
  ASSERT_TRUE(rig.ready());
  rig.broker->credit(kClass, 100);
  EXPECT_TRUE(eventually([&] { return rig.take(3); }));
}

}  // namespace
}  // namespace sendonce::test
