// What the broker makes of streams and consumers that are missing, wrong, somebody else's or new.
#include <string>

#include <gtest/gtest.h>

#include "tests/integration/broker/rig.hpp"
#include "tests/support/eventually.hpp"

namespace sendonce::test {
namespace {

using ::testing::TestWithParam;

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

class BindingTest : public ::testing::Test {
 protected:
  // Waits until the reason says so.
  bool not_ready_because(std::string_view part) {
    return eventually([&] { return !rig.lane().ready && contains(rig.lane().reason, part); });
  }
  Rig rig;
};

TEST_F(BindingTest, WithoutAStreamTheReasonNamesItAndTheRemedy) {
  rig.start_broker();
  ASSERT_TRUE(not_ready_because("does not exist")) << rig.lane().reason;
  EXPECT_TRUE(contains(rig.lane().reason, "stream NOTIFY")) << rig.lane().reason;
  EXPECT_TRUE(contains(rig.lane().reason, "sendonce setup"));
  EXPECT_TRUE(rig.lane().fatal);
  rig.make_stream();
  EXPECT_TRUE(not_ready_because("consumer sendonce_otp")) << rig.lane().reason;
  rig.make_consumer();
  EXPECT_TRUE(rig.ready());
  EXPECT_FALSE(rig.lane().fatal);
}

TEST_F(BindingTest, AForeignLedgerIsRefusedNamingBoth) {
  rig.make_stream();
  rig.make_consumer("0badcafe");
  rig.publish("notify.otp.x", "m");
  rig.start_broker();
  rig.broker->credit(kClass, 10);
  ASSERT_TRUE(not_ready_because("0badcafe")) << rig.lane().reason;
  EXPECT_TRUE(contains(rig.lane().reason, kLedger));
  EXPECT_TRUE(rig.lane().fatal);
  EXPECT_FALSE(rig.take(1));
  EXPECT_EQ(rig.consumer().waiting, 0U);  // it was never pulled from
  EXPECT_EQ(rig.broker->counters().pulls, 0U);
}

TEST_F(BindingTest, AConsumerOfNobodyIsRefused) {
  rig.make_stream();
  rig.make_consumer(kLedger, R"("description":"made by hand")");
  rig.start_broker();
  ASSERT_TRUE(not_ready_because("belongs to no ledger")) << rig.lane().reason;
  EXPECT_TRUE(contains(rig.lane().reason, kLedger));
  EXPECT_TRUE(rig.lane().fatal);
}

struct Wrong {
  const char* config;
  const char* reason;
};

class WrongConsumerTest : public TestWithParam<Wrong> {};

TEST_P(WrongConsumerTest, IsRefused) {
  Rig rig;
  rig.make_stream();
  rig.make_consumer(kLedger, GetParam().config);
  rig.start_broker();
  EXPECT_TRUE(eventually([&] { return rig.lane().fatal; })) << rig.lane().reason;
  EXPECT_FALSE(rig.lane().ready);
  EXPECT_TRUE(contains(rig.lane().reason, GetParam().reason)) << rig.lane().reason;
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongConsumerTest,
    ::testing::Values(Wrong{R"("max_deliver":5)", "max_deliver 5"},
                      Wrong{R"("max_deliver":5,"backoff":[1000000000,2000000000])",
                            "max_deliver 5"},
                      Wrong{R"("filter_subject":"notify.>")", "'notify.>'"},
                      Wrong{R"("headers_only":true)", "headers only"},
                      Wrong{R"("ack_wait":1000000000)", "ack_wait 1s"},
                      Wrong{R"("inactive_threshold":60000000000)", "inactive_threshold"}));

TEST_F(BindingTest, AConsumerDeletedWhilePullingIsNotMadeAgainButUsedAgain) {
  rig.make_stream("NOTIFY", "notify.>", R"("retention":"limits")");
  rig.make_consumer();
  rig.publish("notify.otp.first", "m");
  rig.start_broker();
  ASSERT_TRUE(rig.ready());
  rig.broker->credit(kClass, 10);
  ASSERT_TRUE(eventually([&] { return rig.take(1); }));
  const std::uint32_t before = rig.lane().incarnation;
  EXPECT_EQ(rig.taken[0].incarnation, before);
  rig.api("CONSUMER.DELETE.NOTIFY.sendonce_otp");
  ASSERT_TRUE(not_ready_because("does not exist")) << rig.lane().reason;
  EXPECT_TRUE(contains(rig.lane().reason, "sendonce setup"));
  EXPECT_FALSE(rig.lane().fatal);  // it was right before: waiting for the operator
  rig.make_consumer();
  ASSERT_TRUE(rig.ready());
  EXPECT_EQ(rig.lane().incarnation, before + 1);
  rig.broker->credit(kClass, 10);
  ASSERT_TRUE(eventually([&] { return rig.take(2); }));
  EXPECT_EQ(rig.taken[1].incarnation, before + 1);
}

TEST_F(BindingTest, AnOldAckNeverReachesARecreatedStream) {
  rig.make_stream();
  rig.make_consumer();
  rig.publish("notify.otp.old", "old");
  rig.start_broker();
  ASSERT_TRUE(rig.ready());
  rig.broker->credit(kClass, 10);
  ASSERT_TRUE(eventually([&] { return rig.take(1); }));
  rig.api("STREAM.DELETE.NOTIFY");
  ASSERT_TRUE(not_ready_because("does not exist"));
  // Given while nobody knows what will come: kept, then forgotten.
  ASSERT_TRUE(rig.broker->ack(rig.taken[0]));
  rig.make_stream();
  rig.publish("notify.otp.new", "new");
  rig.make_consumer();
  // Whoever looks at the lane meanwhile, an answer belongs to where its message came from.
  ASSERT_TRUE(eventually([&] { return rig.broker->counters().replies_forgotten >= 1; }));
  ASSERT_TRUE(rig.broker->ack(rig.taken[0]));
  ASSERT_TRUE(eventually([&] { return rig.broker->counters().replies_forgotten == 2; }));
  ASSERT_TRUE(rig.ready());
  ASSERT_TRUE(rig.broker->ack(rig.taken[0]));
  ASSERT_TRUE(eventually([&] { return rig.broker->counters().replies_forgotten == 3; }));
  rig.broker->credit(kClass, 10);
  ASSERT_TRUE(eventually([&] { return rig.take(2); }));
  EXPECT_EQ(rig.taken[1].body, "new");
  EXPECT_EQ(rig.taken[1].seq, rig.taken[0].seq);
  EXPECT_EQ(rig.stored(), 1U);
  ASSERT_TRUE(rig.broker->ack(rig.taken[1]));
  EXPECT_TRUE(eventually([&] { return rig.stored() == 0; }));
}

// Deleted and made again while no request was open, so no status tells of it: the delivery count
// that begins anew does.
TEST_F(BindingTest, ARecreationBehindOurBackIsNoticedByTheFirstMessage) {
  rig.make_stream();
  rig.make_consumer();
  for (int i = 0; i < 3; ++i) rig.publish("notify.otp.old", "old");
  auto options = rig.broker_options();
  options.pull.info_interval = std::chrono::seconds(60);
  rig.start_broker(options);
  ASSERT_TRUE(rig.ready());
  rig.broker->credit(kClass, 3);
  ASSERT_TRUE(eventually([&] { return rig.take(3); }));
  ASSERT_TRUE(eventually([&] { return rig.consumer().waiting == 0; }));
  rig.api("STREAM.DELETE.NOTIFY");
  rig.make_stream();
  rig.make_consumer();
  rig.publish("notify.otp.new", "new");
  const std::uint32_t before = rig.lane().incarnation;
  rig.broker->credit(kClass, 10);
  // Thrown away with the old incarnation, it comes again after its ack_wait.
  ASSERT_TRUE(eventually([&] { return rig.lane().incarnation == before + 1; }));
  ASSERT_TRUE(rig.broker->ack(rig.taken[0]));
  EXPECT_TRUE(rig.ready());
}

TEST_F(BindingTest, AConsumerThatIsTakenOverWhileRunningIsLeft) {
  rig.make_stream();
  rig.make_consumer();
  rig.start_broker();
  ASSERT_TRUE(rig.ready());
  rig.broker->credit(kClass, 10);
  rig.make_consumer("0badcafe");  // an update, as --adopt of another sidecar would do
  ASSERT_TRUE(not_ready_because("0badcafe"));
  EXPECT_TRUE(rig.lane().fatal);
}

TEST_F(BindingTest, ClassesDoNotMix) {
  rig.make_stream();
  rig.make_consumer();
  rig.api("CONSUMER.DURABLE.CREATE.NOTIFY.sendonce_promo",
          R"({"stream_name":"NOTIFY","config":{"durable_name":"sendonce_promo",)"
          R"("description":"sendonce ledger=5f0c1b7e","ack_policy":"explicit","max_deliver":-1,)"
          R"("ack_wait":30000000000,"filter_subject":"notify.promo.>"}})");
  auto options = rig.broker_options();
  options.lanes.push_back({.class_name = "promo",
                           .stream = "NOTIFY",
                           .durable = "sendonce_promo",
                           .subject = "notify.promo.>",
                           .ack_wait = std::chrono::seconds(2)});
  options.lanes.push_back(
      {.class_name = "none", .stream = "NOTIFY", .durable = "sendonce_none", .subject = "none.>"});
  rig.start_broker(options);
  ASSERT_TRUE(rig.ready());
  const ClassIndex promo(1);
  ASSERT_TRUE(eventually([&] { return rig.broker->lane(promo).ready; }));
  ASSERT_TRUE(eventually([&] { return rig.broker->lane(ClassIndex(2)).fatal; }));
  rig.publish("notify.otp.x", "otp");
  rig.publish("notify.promo.x", "promo");
  rig.broker->credit(kClass, 10);
  rig.broker->credit(promo, 10);
  ASSERT_TRUE(eventually([&] { return rig.take(2); }));
  for (const Message& message : rig.taken) {
    EXPECT_EQ(message.body, message.message_class == promo ? "promo" : "otp");
    EXPECT_TRUE(rig.broker->ack(message));
  }
  EXPECT_TRUE(eventually([&] { return rig.stored() == 0; }));
}

}  // namespace
}  // namespace sendonce::test
