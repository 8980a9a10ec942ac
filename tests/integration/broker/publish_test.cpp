#include <string>

#include <gtest/gtest.h>

#include "tests/integration/broker/rig.hpp"
#include "tests/support/eventually.hpp"

namespace sendonce::test {
namespace {

class PublishTest : public ::testing::Test {
 protected:
  void SetUp() override {
    rig.make_stream();
    rig.make_consumer();
    rig.make_stream("OUT", "out.>", R"("max_msg_size":1000)");
    rig.start_broker();
    ASSERT_TRUE(rig.ready());
  }
  Result<void> publish(std::uint64_t ticket, Publication publication) {
    rig.broker->publish(Ticket(ticket), std::move(publication));
    const auto result = rig.confirmation(Ticket(ticket));
    if (!result) return fail(Errc::internal, "never confirmed");
    return *result;
  }
  Rig rig;
};

TEST_F(PublishTest, IsConfirmedAndStoredOnceForAMessageId) {
  const Publication publication{.subject = "out.a", .message_id = "id-1", .body = "b"};
  EXPECT_TRUE(publish(1, publication));
  EXPECT_TRUE(publish(2, publication));  // a duplicate is stored too, once
  EXPECT_EQ(rig.stored("OUT"), 1U);
}

TEST_F(PublishTest, HeadersAndBodyArriveAsTheyWere) {
  EXPECT_TRUE(publish(1, {.subject = "out.a",
                          .message_id = "id",
                          .headers = {{"Content-Type", "application/json"}},
                          .body = std::string("a\0b", 3)}));
  const std::string stored = rig.api("STREAM.MSG.GET.OUT", R"({"seq":1})");
  EXPECT_NE(stored.find("YQBi"), std::string::npos) << stored;  // base64 of the body
}

TEST_F(PublishTest, WithoutAStreamItIsUnavailableAndTheRemedyIsNamed) {
  const Result<void> result = publish(1, {.subject = "nowhere.a", .body = "b"});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::unavailable);
  EXPECT_NE(result.error().text.find("nowhere.a"), std::string::npos);
  EXPECT_NE(result.error().text.find("sendonce setup"), std::string::npos);
  EXPECT_TRUE(rig.lane().ready) << rig.lane().reason;
}

TEST_F(PublishTest, WhatCanNeverBeStoredIsInvalid) {
  const Result<void> large = publish(1, {.subject = "out.a", .body = std::string(5000, 'x')});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, Errc::invalid);
  const Result<void> huge = publish(2, {.subject = "out.a", .body = std::string(2 << 20, 'x')});
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().code, Errc::invalid);
  const Result<void> injected = publish(3, {.subject = "out.a\r\nPUB x 0\r\n", .body = "b"});
  ASSERT_FALSE(injected);
  EXPECT_EQ(injected.error().code, Errc::invalid);
  const Result<void> header = publish(4, {.subject = "out.a", .headers = {{"A", "b\r\nC: d"}}});
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().code, Errc::invalid);
  EXPECT_EQ(rig.stored("OUT"), 0U);
}

TEST_F(PublishTest, ManyAreConfirmedEachOnce) {
  constexpr std::uint64_t kMany = 2000;
  for (std::uint64_t i = 1; i <= kMany; ++i)
    rig.broker->publish(Ticket(i), {.subject = "out.a", .message_id = std::to_string(i)});
  std::vector<Confirmation> confirmed;
  EXPECT_TRUE(eventually([&] {
    rig.broker->take_confirmations(confirmed);
    return confirmed.size() >= kMany;
  }));
  ASSERT_EQ(confirmed.size(), kMany);
  std::vector<bool> seen(kMany + 1);
  for (const Confirmation& confirmation : confirmed) {
    EXPECT_TRUE(confirmation.result);
    EXPECT_FALSE(seen[confirmation.ticket.get()]);
    seen[confirmation.ticket.get()] = true;
  }
  EXPECT_EQ(rig.stored("OUT"), kMany);
}

TEST_F(PublishTest, WithoutAServerItIsUnavailableAfterTheTimeOutAndAtTheStop) {
  auto options = rig.broker_options();
  options.publish_timeout = std::chrono::milliseconds(500);
  rig.start_broker(options);
  ASSERT_TRUE(rig.ready());
  rig.server.kill();
  const Result<void> late = publish(1, {.subject = "out.a", .body = "b"});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::unavailable);
  rig.broker->publish(Ticket(2), {.subject = "out.a", .body = "b"});
  rig.broker->stop();
  const auto stopped = rig.confirmation(Ticket(2));
  ASSERT_TRUE(stopped.has_value());
  EXPECT_FALSE(*stopped);
}

TEST_F(PublishTest, AStopSendsTheAcksThatWait) {
  rig.publish("notify.otp.x", "m");
  rig.broker->credit(kClass, 1);
  ASSERT_TRUE(eventually([&] { return rig.take(1); }));
  ASSERT_TRUE(rig.broker->ack(rig.taken[0]));
  rig.broker->stop();
  EXPECT_EQ(rig.broker->counters().replies_sent, 1U);
}

}  // namespace
}  // namespace sendonce::test
