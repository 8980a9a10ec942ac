#include "plugin/core/histogram.hpp"

#include <numeric>

#include <gtest/gtest.h>

namespace sendonce {
namespace {

using namespace std::chrono_literals;

std::size_t bucket_of(Duration taken) {
  DurationHistogram h;
  h.observe(taken);
  const auto& counts = h.counts();
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0U), 1U);
  return static_cast<std::size_t>(std::find(counts.begin(), counts.end(), 1U) - counts.begin());
}

TEST(DurationHistogramTest, BoundsAreInclusiveAndInOrder) {
  EXPECT_TRUE(std::is_sorted(DurationHistogram::kBounds.begin(), DurationHistogram::kBounds.end()));
  EXPECT_EQ(bucket_of(0s), 0U);
  EXPECT_EQ(bucket_of(250us), 0U);
  EXPECT_EQ(bucket_of(251us), 1U);
  EXPECT_EQ(bucket_of(1s), 10U);
  EXPECT_EQ(bucket_of(7200s), DurationHistogram::kBuckets - 2);
  EXPECT_EQ(bucket_of(7201s), DurationHistogram::kBuckets - 1);
}

TEST(DurationHistogramTest, TheSumIsOfAllAndNeverShrinks) {
  DurationHistogram h;
  h.observe(500ms);
  h.observe(2s);
  EXPECT_DOUBLE_EQ(h.sum_seconds(), 2.5);
  h.observe(-1s);
  EXPECT_DOUBLE_EQ(h.sum_seconds(), 2.5);
  EXPECT_EQ(h.counts()[0], 1U) << "a clock that stepped back is no time at all";
}

}  // namespace
}  // namespace sendonce
