#include "plugin/core/clock.hpp"

#include <type_traits>

#include <gtest/gtest.h>

namespace sendonce {
namespace {

// The point of two types: neither converts into the other.
static_assert(!std::is_convertible_v<WallTime, MonoTime>);
static_assert(!std::is_convertible_v<MonoTime, WallTime>);

TEST(SystemClock, MonotonicTimeNeverGoesBack) {
  const auto clock = make_system_clock();
  MonoTime last = clock->mono();
  for (int i = 0; i < 1000; ++i) {
    const MonoTime now = clock->mono();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(SystemClock, WallTimeCountsFromTheUnixEpoch) {
  using std::chrono::sys_days, std::chrono::year;
  const auto since = make_system_clock()->wall().time_since_epoch();
  EXPECT_GT(since, sys_days(year(2024) / 1 / 1).time_since_epoch());
  EXPECT_LT(since, sys_days(year(2200) / 1 / 1).time_since_epoch());
}

}  // namespace
}  // namespace sendonce
