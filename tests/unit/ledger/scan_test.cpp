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
  std::unique_ptr<LmdbLedger> ledger_ = filled_ledger(dir_, 2500);
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
