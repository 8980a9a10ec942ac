#include "plugin/pipeline/outbox_publisher.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plugin/pipeline/tickets.hpp"
#include "tests/support/fakes.hpp"

namespace sendonce::test {
namespace {

struct OutboxTest : testing::Test {
  FakeBroker broker{};
  std::unique_ptr<Log> log = make_null_log();
  FakeClock clock{};
  OutboxPublisher outbox{broker, *log, "ledger"};
  LedgerStats stats{.outbox_entries = 2, .outbox_last = OutboxSeq(2)};

  std::vector<TicketedRequest> poll() {
    std::vector<TicketedRequest> requests;
    outbox.poll(stats, clock.mono(), requests);
    return requests;
  }
  void read_both() {
    const auto requests = poll();
    ASSERT_EQ(requests.size(), 1U);
    ASSERT_TRUE(std::holds_alternative<OutboxRead>(requests[0].request));
    outbox.on_page({.entries = {{.seq = OutboxSeq(1), .subject = "a", .body = "[]"},
                                {.seq = OutboxSeq(2), .subject = "b", .body = "[]"}}});
  }
  void confirm_both() {
    for (const std::uint64_t seq : {1U, 2U}) outbox.on_confirmed(OutboxSeq(seq), {}, clock.mono());
  }
};

const OutboxRemove* removal(const std::vector<TicketedRequest>& requests) {
  return requests.size() == 1 ? std::get_if<OutboxRemove>(&requests[0].request) : nullptr;
}

TEST_F(OutboxTest, RemovesWhatIsConfirmed) {
  read_both();
  ASSERT_EQ(broker.published.size(), 2U);
  EXPECT_EQ(broker.published[0].second.message_id, "ledger.1");
  EXPECT_TRUE(poll().empty());
  confirm_both();
  const auto requests = poll();
  ASSERT_NE(removal(requests), nullptr);
  EXPECT_EQ(removal(requests)->entries.size(), 2U);
  outbox.on_removed();
  EXPECT_TRUE(poll().empty());
}

// A full disk: an entry that stayed for ever would stop its class after ten minutes.
TEST_F(OutboxTest, RemovesAgainWhatTheLedgerRefusedToRemove) {
  read_both();
  confirm_both();
  const auto requests = poll();
  ASSERT_NE(removal(requests), nullptr);
  outbox.on_ledger_error(requests[0].ticket, clock.mono());
  EXPECT_TRUE(poll().empty()) << "asks a full disk again without a pause";
  clock.advance(std::chrono::seconds(1));
  const auto again = poll();
  ASSERT_NE(removal(again), nullptr);
  EXPECT_EQ(removal(again)->entries.size(), 2U);
  EXPECT_EQ(broker.published.size(), 2U) << "published once more";
}

TEST_F(OutboxTest, ReadsAgainWhatTheLedgerRefusedToRead) {
  const auto requests = poll();
  ASSERT_EQ(requests.size(), 1U);
  outbox.on_ledger_error(requests[0].ticket, clock.mono());
  clock.advance(std::chrono::seconds(1));
  read_both();
}

}  // namespace
}  // namespace sendonce::test
