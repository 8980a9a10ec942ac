// The ledger's bench on a small ledger: its figures mean nothing here, that it does what it says it
// measures does.
#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include "plugin/cli/bench/ledger_lane.hpp"
#include "plugin/cli/bench/ledger_load.hpp"
#include "plugin/cli/bench/ledger_own.hpp"
#include "plugin/cli/bench/ratio.hpp"
#include "tests/support/temp_dir.hpp"

namespace sendonce::cli {
namespace {

std::unique_ptr<OwnStore> store_in(const test::TempDir& directory) {
  auto store = OwnStore::make(directory.path().string());
  if (!store) ADD_FAILURE() << store.error().text;
  return store ? std::move(*store) : nullptr;
}

TEST(BenchLedger, FillsToTheNumberAndFindsItsKeysAgain) {
  const test::TempDir directory;
  const auto store = store_in(directory);
  ASSERT_NE(store, nullptr);
  ASSERT_TRUE(store->preload(2500));
  EXPECT_EQ(store->rows(), 2500U);
  EXPECT_EQ(store->ledger().stats().open_rows, 0U);
  ASSERT_TRUE(store->preload(2000)) << "there already";
  EXPECT_EQ(store->rows(), 2500U);
  ASSERT_TRUE(store->reopen());
  const std::vector<std::uint64_t> numbers{0, 1999, 2000, 2499};
  const auto known = store->duplicates(numbers);
  EXPECT_TRUE(known) << known.error().text;
  EXPECT_FALSE(store->duplicates(std::vector<std::uint64_t>{2500})) << "it was never claimed";
}

TEST(BenchLedger, MeasuresPairsAndClaims) {
  const test::TempDir directory;
  const auto clock = make_system_clock();
  Contender contender{.store = store_in(directory), .next = 0};
  ASSERT_NE(contender.store, nullptr);
  const LoadOptions load{.batch = 10, .seconds = 0.05};
  for (const Work work : {Work::pairs, Work::claims, Work::pairs}) {
    const auto figure = run_load(contender, work, load, *clock);
    ASSERT_TRUE(figure) << figure.error().text;
    EXPECT_GT(figure->cpu_us, 0);
  }
  auto& store = static_cast<OwnStore&>(*contender.store);
  EXPECT_EQ(store.rows(), contender.next);
  EXPECT_GT(store.ledger().stats().open_rows, 0U) << "what is claimed only stays open";
}

TEST(BenchLedger, ExpiresWhatHasEndedAndNothingElse) {
  const test::TempDir directory;
  const auto store = store_in(directory);
  ASSERT_NE(store, nullptr);
  ASSERT_TRUE(store->preload(300));
  EXPECT_EQ(store->expire(100).value_or(1), 0U) << "not yet";
  ASSERT_TRUE(store->advance(300, std::chrono::hours(73)));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(store->expire(100).value_or(0), 100U);
  EXPECT_EQ(store->rows(), 1U);
}

TEST(BenchLedger, ClaimsThroughTheThread) {
  const test::TempDir directory;
  const auto store = store_in(directory);
  ASSERT_NE(store, nullptr);
  std::uint64_t next = 0;
  const auto closed = closed_loop(*store, next, 4, 0.05);
  ASSERT_TRUE(closed) << closed.error().text;
  EXPECT_GT(closed->rate, 0);
  const auto open = open_loop(*store, next, 1000, 0.2);
  ASSERT_TRUE(open) << open.error().text;
  EXPECT_LE(open->p50_us, open->p99_us);
  EXPECT_EQ(store->rows(), next) << "each claim that was handed over is durable";
}

TEST(Ratio, IsGradedFromTheSideOfItsGoal) {
  const Ratio less{.id = "P19", .what = "", .value = 0.3, .goal = 0.3, .floor = 0.6};
  EXPECT_FALSE(more_is_better(less));
  EXPECT_EQ(grade(less), "goal");
  const Ratio more{.id = "P8", .what = "pairs", .value = 2.5, .goal = 3, .floor = 2};
  EXPECT_TRUE(more_is_better(more));
  EXPECT_EQ(grade(more), "floor");
  EXPECT_EQ(grade({.id = "P8", .what = "", .value = 1.9, .goal = 3, .floor = 2}), "missed");
  EXPECT_EQ(grade({.id = "P19", .what = "", .value = 0.61, .goal = 0.3, .floor = 0.6}), "missed");
  EXPECT_NE(ratio_lines({less}).find("goal <= 0.30, floor 0.60"), std::string::npos);
}

}  // namespace
}  // namespace sendonce::cli
