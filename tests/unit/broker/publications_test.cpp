#include "plugin/broker/nats/publications.hpp"

#include <gtest/gtest.h>

namespace sendonce {
namespace {

using std::chrono::seconds;

class PublicationsTest : public ::testing::Test {
 protected:
  std::vector<Confirmation> taken() {
    std::vector<Confirmation> out;
    publications.take(out);
    return out;
  }
  MonoTime now{seconds(100)};
  Publications publications{seconds(5)};
};

TEST_F(PublicationsTest, EachTicketIsConfirmedExactlyOnce) {
  publications.add(Ticket(1), "a", now);
  publications.add(Ticket(2), "a", now);
  publications.on_answer(Ticket(1), R"({"stream":"S","seq":1})");
  publications.on_answer(Ticket(1), R"({"stream":"S","seq":1})");
  publications.on_no_responders(Ticket(1));
  publications.on_answer(Ticket(9), R"({"stream":"S","seq":1})");
  auto first = taken();
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].ticket, Ticket(1));
  EXPECT_TRUE(first[0].result);
  publications.expire(now + seconds(5));
  auto second = taken();
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].ticket, Ticket(2));
  EXPECT_EQ(second[0].result.error().code, Errc::unavailable);
  publications.on_answer(Ticket(2), R"({"stream":"S","seq":1})");  // too late
  EXPECT_TRUE(taken().empty());
  EXPECT_EQ(publications.next_expiry(), MonoTime::max());
}

TEST_F(PublicationsTest, NothingExpiresEarly) {
  publications.add(Ticket(1), "a", now);
  publications.add(Ticket(2), "a", now + seconds(1));
  EXPECT_EQ(publications.next_expiry(), now + seconds(5));
  publications.expire(now + seconds(5) - Duration(1));
  EXPECT_TRUE(taken().empty());
  publications.expire(now + seconds(5));
  EXPECT_EQ(taken().size(), 1U);
  EXPECT_EQ(publications.next_expiry(), now + seconds(6));
}

TEST_F(PublicationsTest, ATicketThatIsUsedAgainHasItsWholeTime) {
  publications.add(Ticket(1), "a", now);
  publications.on_no_responders(Ticket(1));
  publications.add(Ticket(1), "a", now + seconds(4));
  EXPECT_EQ(taken().size(), 1U);
  publications.expire(now + seconds(5));
  EXPECT_TRUE(taken().empty());
  publications.expire(now + seconds(9));
  EXPECT_EQ(taken().size(), 1U);
}

TEST_F(PublicationsTest, AStopAbandonsAllAndARefusalThoseOfItsSubject) {
  publications.add(Ticket(1), "a", now);
  publications.add(Ticket(2), "b", now);
  publications.on_denied("a");
  auto denied = taken();
  ASSERT_EQ(denied.size(), 1U);
  EXPECT_EQ(denied[0].ticket, Ticket(1));
  publications.abandon("stopped");
  EXPECT_EQ(taken().size(), 1U);
  EXPECT_EQ(publications.waiting(), 0U);
}

Errc code_of(int err_code) {
  return publish_result("a", std::unexpected(ApiError{.err_code = err_code})).error().code;
}

TEST(PublishResult, OnlyWhatCanNeverBeStoredIsInvalid) {
  EXPECT_TRUE(publish_result("a", PubAck{.stream = "S", .seq = 3}));
  EXPECT_TRUE(publish_result("a", PubAck{.stream = "S", .seq = 3, .duplicate = true}));
  // "Duplicate" of something that was never stored.
  EXPECT_EQ(publish_result("a", PubAck{.stream = "S", .duplicate = true}).error().code,
            Errc::unavailable);
  for (const int never : {10054, 10109, 10110, 10113}) EXPECT_EQ(code_of(never), Errc::invalid);
  for (const int later : {10077, 10047, 10023, 10002, 10028, 10122, 10158, 10167, 10008, 10009,
                          10118, 10076, 10059, 0})
    EXPECT_EQ(code_of(later), Errc::unavailable) << later;
}

}  // namespace
}  // namespace sendonce
