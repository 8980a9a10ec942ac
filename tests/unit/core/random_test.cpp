#include "plugin/core/random.hpp"

#include <array>
#include <set>

#include <gtest/gtest.h>

namespace sendonce {
namespace {

// The reference values of splitmix64 with seed 1234567 (Vigna, prng.di.unimi.it/splitmix64.c): a
// simulation seed must replay on every release.
TEST(Random, IsSplitmix64) {
  Random random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317U);
  EXPECT_EQ(random.next(), 3203168211198807973U);
  EXPECT_EQ(random.next(), 9817491932198370423U);
}

TEST(Random, SameSeedSameSequence) {
  Random a(42);
  Random b(42);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(a.next(), b.next());
}

TEST(Random, BelowStaysBelowAndReachesAll) {
  Random random(1);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t value = random.below(7);
    ASSERT_LT(value, 7U);
    seen.insert(value);
  }
  EXPECT_EQ(seen.size(), 7U);
  EXPECT_EQ(random.below(1), 0U);
}

TEST(RandomDeathTest, BelowZeroIsABug) {
  EXPECT_DEATH(static_cast<void>(Random(1).below(0)), "invariant broken");
}

TEST(Random, JitterIsFull) {
  Random random(3);
  const Duration max{9};
  std::set<Duration::rep> seen;
  for (int i = 0; i < 1000; ++i) {
    const Duration value = random.jitter(max);
    ASSERT_GE(value, Duration::zero());
    ASSERT_LE(value, max);
    seen.insert(value.count());
  }
  EXPECT_EQ(seen.size(), 10U);
  EXPECT_EQ(random.jitter(Duration::zero()), Duration::zero());
  EXPECT_EQ(random.jitter(Duration{-5}), Duration::zero());
  EXPECT_GE(random.jitter(Duration::max()), Duration::zero());
}

TEST(Random, UnitAndChance) {
  Random random(5);
  int hits = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double unit = random.unit();
    ASSERT_GE(unit, 0.0);
    ASSERT_LT(unit, 1.0);
    hits += random.chance(0.25) ? 1 : 0;
  }
  EXPECT_NEAR(hits, 2500, 200);
  EXPECT_FALSE(random.chance(0.0));
  EXPECT_TRUE(random.chance(1.0));
}

TEST(Random, SystemSeedsDiffer) {
  EXPECT_NE(system_seed(), system_seed());
}

}  // namespace
}  // namespace sendonce
