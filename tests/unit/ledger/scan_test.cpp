// A search of the rows ends where it is told to, and keeps no recovery waiting.
#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "ledger/lmdb/open.hpp"
#include "tests/contract/ledger_rig.hpp"

namespace sendonce::test {
namespace {

class ScanTest : public testing::Test {
 protected:
  void SetUp() override {
    LedgerOptions options;
    options.directory = dir_.path() + "/ledger";
    options.scopes = {"orders"};
    options.map_bytes = std::uint64_t{64} << 20U;
    options.reserve_bytes = std::uint64_t{1} << 20U;
    options.check_file_system = false;
    ASSERT_TRUE(create_ledger(options).has_value());
    auto opened = open_ledger(options);
    ASSERT_TRUE(opened.has_value()) << opened.error().text;
    ledger_ = std::move(*opened);
    std::vector<TicketedRequest> batch;
    for (std::uint64_t i = 0; i < 2500; ++i)
      batch.push_back({.ticket = Ticket(i), .request = claim_of(i)});
    ASSERT_TRUE(ledger_->commit(batch, kNoon).has_value());
  }
  std::size_t visited(const ScanGoesOn& goes_on) {
    std::size_t rows = 0;
    const auto scanned = ledger_->scan(
        {},
        [&](std::string_view, const Row&) {
          ++rows;
          return true;
        },
        goes_on);
    EXPECT_TRUE(scanned.has_value());
    return rows;
  }

  LedgerDir dir_{};
  std::unique_ptr<LmdbLedger> ledger_{};
};

TEST_F(ScanTest, EndsBetweenTransactions) {
  EXPECT_EQ(visited({}), 2500U);
  EXPECT_EQ(visited([] { return false; }), 0U);
  int asked = 0;
  EXPECT_EQ(visited([&] { return ++asked < 2; }), 1000U) << "a thousand matches each";
}

TEST_F(ScanTest, MakesRoomForARecovery) {
  std::atomic<bool> made_room{false};
  std::thread searching([&] {
    while (!made_room) {
      const auto scanned = ledger_->scan({}, [](std::string_view, const Row&) { return true; });
      if (scanned) continue;
      EXPECT_EQ(scanned.error().code, Errc::unavailable);
      made_room = true;
    }
  });
  while (!made_room) ASSERT_TRUE(ledger_->recover().has_value());
  searching.join();
  EXPECT_EQ(visited({}), 2500U) << "and the next one reads everything";
}

}  // namespace
}  // namespace sendonce::test
