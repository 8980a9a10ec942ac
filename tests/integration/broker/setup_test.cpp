#include "plugin/broker/nats/setup.hpp"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "tests/integration/broker/rig.hpp"
#include "tests/support/eventually.hpp"

namespace sendonce::test {
namespace {

using std::chrono::seconds;

class SetupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto connected = Publisher::connect(rig.broker_options().connection, seconds(2));
    ASSERT_TRUE(connected) << connected.error().text;
    client = *std::move(connected);
    request.ledger_id = kLedger;
    request.consumers = {{.class_name = "otp",
                          .stream = std::string(kStream),
                          .durable = std::string(kDurable),
                          .filter_subject = std::string(kSubject),
                          .ack_wait = seconds(60)}};
    request.streams = desired_streams(request.consumers, "SENDONCE_OUTCOMES", "SENDONCE_DLQ");
  }
  Result<SetupPlan> plan() { return sendonce::Setup(*client, "$JS.API").plan(request); }
  Result<void> apply() {
    SO_TRY(const SetupPlan p, plan());
    return sendonce::Setup(*client, "$JS.API").apply(request, p);
  }
  Rig rig;
  std::unique_ptr<Publisher> client;
  SetupRequest request{};
};

TEST_F(SetupTest, MakesEverythingOnceAndTheBrokerAcceptsIt) {
  const auto first = plan();
  ASSERT_TRUE(first) << first.error().text;
  EXPECT_EQ(first->calls.size(), 4U);
  const auto applied = apply();
  ASSERT_TRUE(applied) << applied.error().text;
  const auto second = plan();
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->nothing_to_do());
  auto options = rig.broker_options();
  options.lanes[0].ack_wait = seconds(60);
  rig.start_broker(options);
  EXPECT_TRUE(rig.ready()) << rig.lane().reason;
  rig.broker->publish(Ticket(1), {.subject = "sendonce.outcome.otp.accepted", .body = "x"});
  EXPECT_TRUE(rig.confirmation(Ticket(1)).value());
  rig.broker->publish(Ticket(2), {.subject = "sendonce.device.apns.invalid", .body = "x"});
  EXPECT_TRUE(rig.confirmation(Ticket(2)).value());
  rig.broker->publish(Ticket(3), {.subject = "sendonce.dlq.otp.poison", .body = "x"});
  EXPECT_TRUE(rig.confirmation(Ticket(3)).value());
  EXPECT_EQ(rig.stored("SENDONCE_OUTCOMES"), 2U);
  EXPECT_EQ(rig.stored("SENDONCE_DLQ"), 1U);
}

TEST_F(SetupTest, AddsASubjectAndRepairsDriftInPlace) {
  rig.make_stream("NOTIFY", "orders.>", R"("max_msgs":12345,"description":"of the shop")");
  const auto created = apply();
  ASSERT_TRUE(created) << created.error().text;
  const std::string stream = rig.api("STREAM.INFO.NOTIFY");
  EXPECT_NE(stream.find("12345"), std::string::npos);
  EXPECT_NE(stream.find("of the shop"), std::string::npos);
  rig.make_consumer(kLedger, R"("max_deliver":7,"ack_wait":5000000000,"sample_freq":"30%")");
  const auto drifted = plan();
  ASSERT_TRUE(drifted);
  ASSERT_EQ(drifted->calls.size(), 1U);
  const auto repaired = apply();
  ASSERT_TRUE(repaired) << repaired.error().text;
  EXPECT_EQ(rig.consumer().max_deliver, -1);
  EXPECT_EQ(rig.consumer().ack_wait, seconds(60));
  EXPECT_NE(rig.consumer().config.find("30%"), std::string::npos);
}

TEST_F(SetupTest, RemovesABackoffList) {
  ASSERT_TRUE(apply());
  rig.make_consumer(kLedger, R"("max_deliver":5,"backoff":[1000000000,2000000000])");
  ASSERT_TRUE(rig.consumer().backoff);
  const auto repaired = apply();
  ASSERT_TRUE(repaired) << repaired.error().text;
  EXPECT_FALSE(rig.consumer().backoff);
  EXPECT_EQ(rig.consumer().ack_wait, seconds(60));
}

TEST_F(SetupTest, ANewClassOnAStreamThatHoldsMessagesIsRefusedWithoutAStart) {
  rig.make_stream("NOTIFY", "notify.>", R"("retention":"limits")");
  rig.publish("notify.otp.x", "old");
  const auto refused = apply();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("--from"), std::string::npos);
  // Nothing at all was done.
  const auto still = plan();
  EXPECT_TRUE(still->refused());
  EXPECT_FALSE(client->request("$JS.API.STREAM.INFO.SENDONCE_DLQ", {}).value().find("10059") ==
               std::string::npos);
  request.consumers[0].from = StartFrom{.kind = StartFrom::Kind::now};
  ASSERT_TRUE(apply());
  rig.publish("notify.otp.x", "new");
  auto options = rig.broker_options();
  rig.start_broker(options);
  ASSERT_TRUE(rig.ready());
  rig.broker->credit(kClass, 10);
  ASSERT_TRUE(eventually([&] { return rig.take(1); }));
  EXPECT_EQ(rig.taken[0].body, "new");
}

TEST_F(SetupTest, ANewClassBesideMessagesOfOthersNeedsNoStart) {
  rig.make_stream("NOTIFY", "orders.>", R"("retention":"workqueue")");
  rig.publish("orders.x", "of another");
  const auto applied = apply();
  ASSERT_TRUE(applied) << applied.error().text;
}

// The subject may have been the stream's before: what it holds of it is still there.
TEST_F(SetupTest, MessagesOfASubjectThatTheStreamHasLostCount) {
  rig.make_stream("NOTIFY", "notify.otp.>", R"("retention":"workqueue")");
  rig.publish("notify.otp.x", "old");
  rig.api("STREAM.UPDATE.NOTIFY",
          R"({"name":"NOTIFY","subjects":["orders.>"],"retention":"workqueue"})");
  const auto refused = apply();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("--from all"), std::string::npos) << refused.error().text;
}

TEST_F(SetupTest, WhatNoStreamTakesNamesTheRemedy) {
  const auto stored = client->publish({.subject = "nowhere.a", .body = "b"});
  ASSERT_FALSE(stored);
  EXPECT_EQ(stored.error().code, Errc::unavailable);
  EXPECT_NE(stored.error().text.find("nowhere.a"), std::string::npos);
  EXPECT_NE(stored.error().text.find("sendonce setup"), std::string::npos);
}

TEST_F(SetupTest, TakesOverAConsumerOnlyWhenToldTo) {
  ASSERT_TRUE(apply());
  rig.make_consumer("0badcafe");
  const auto refused = apply();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("0badcafe"), std::string::npos);
  EXPECT_EQ(ledger_in(rig.consumer().description), "0badcafe");
  request.consumers[0].adopt = true;
  const auto p = plan();
  ASSERT_TRUE(p);
  EXPECT_EQ(p->adopted, std::vector<std::string>{"otp"});
  const auto adopted = apply();
  ASSERT_TRUE(adopted) << adopted.error().text;
  EXPECT_EQ(ledger_in(rig.consumer().description), kLedger);
}

// 2.9 ignores filter_subjects without a word; what it made must be looked at.
TEST_F(SetupTest, WhatTheServerDidNotDoIsReported) {
  ASSERT_TRUE(apply());
  auto nothing = plan();
  ASSERT_TRUE(nothing);
  nothing->calls.clear();  // as if the server had ignored every request
  request.consumers[0].max_ack_pending = 7;
  const auto failed = sendonce::Setup(*client, "$JS.API").apply(request, *nothing);
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().text.find("max_ack_pending"), std::string::npos);
}

TEST_F(SetupTest, SubjectsOfAnotherStreamAreTheServersToRefuse) {
  rig.make_stream("OTHER", "notify.otp.>");
  const auto refused = apply();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("stream NOTIFY"), std::string::npos) << refused.error().text;
}

TEST_F(SetupTest, WithoutJetStreamItSaysSo) {
  NatsOptions options;
  options.jetstream = false;
  Rig plain(options);
  auto connected = Publisher::connect(plain.broker_options().connection, seconds(1));
  ASSERT_TRUE(connected);
  const auto p = sendonce::Setup(**connected, "$JS.API").plan(request);
  ASSERT_FALSE(p);
  EXPECT_FALSE(p.error().text.empty());
}

TEST_F(SetupTest, TheClientPublishesWithConfirmationAndListens) {
  rig.make_stream("OUT", "out.>");
  const auto stored = client->publish({.subject = "out.a", .message_id = "i", .body = "b"});
  ASSERT_TRUE(stored) << stored.error().text;
  EXPECT_EQ(stored->stream, "OUT");
  EXPECT_EQ(stored->seq, 1U);
  EXPECT_FALSE(stored->duplicate);
  EXPECT_TRUE(client->publish({.subject = "out.a", .message_id = "i", .body = "b"})->duplicate);
  const auto nowhere = client->publish({.subject = "nowhere", .body = "b"});
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, Errc::unavailable);

  ASSERT_TRUE(client->subscribe("out.>"));
  EXPECT_TRUE(client->next(std::chrono::milliseconds(20))->empty());
  rig.publish("out.b", "hello", {{"A", "1"}});
  const auto heard = client->next(seconds(5));
  ASSERT_TRUE(heard);
  ASSERT_EQ(heard->size(), 1U);
  EXPECT_EQ(heard->front().subject, "out.b");
  EXPECT_EQ(heard->front().body, "hello");
}

}  // namespace
}  // namespace sendonce::test
