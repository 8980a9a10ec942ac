#include "ledger/outbox_codec.hpp"

#include <chrono>

#include <gtest/gtest.h>

namespace sendonce::test {
namespace {

TEST(OutboxCodec, RoundTripsAndRefusesDamage) {
  const OutboxEntry entry{.seq = OutboxSeq(7),
                          .created = WallTime(std::chrono::seconds(5)),
                          .subject = "sendonce.outcome.orders.accepted",
                          .body = R"([{"id":"1"}])"};
  const std::string good = encode_outbox(entry);
  const auto decoded = decode_outbox(OutboxSeq(7), good);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->seq, entry.seq);
  EXPECT_EQ(decoded->created, entry.created);
  EXPECT_EQ(decoded->subject, entry.subject);
  EXPECT_EQ(decoded->body, entry.body);
  EXPECT_EQ(outbox_created(good).value_or(WallTime{}), entry.created);
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(decode_outbox(OutboxSeq(7), good.substr(0, size)).has_value());
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(decode_outbox(OutboxSeq(7), bytes).has_value()) << bit;
  }
}

}  // namespace
}  // namespace sendonce::test
