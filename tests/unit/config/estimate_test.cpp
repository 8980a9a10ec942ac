#include "config/estimate.hpp"

#include <gtest/gtest.h>

namespace sendonce::test {
namespace {

using namespace std::chrono_literals;

TEST(Estimate, FollowsRateAndRetention) {
  ClassConfig c;
  c.name = "tx";
  c.retention = 10 * 24h;
  const ClassEstimate e = estimate(c, 100);
  EXPECT_EQ(e.name, "tx");
  EXPECT_EQ(e.rows, 86'400'000U);
  EXPECT_EQ(e.file_bytes, e.rows * kRowBytes);
  EXPECT_EQ(e.index_bytes, e.rows * kIndexBytesPerRow);
  EXPECT_EQ(e.start_warm, 12'960ms);
  EXPECT_EQ(e.start_cold, 60'480ms);
}

TEST(Estimate, StaysInBounds) {
  ClassConfig c;
  c.retention = 3650 * 24h;
  EXPECT_EQ(estimate(c, 1e18).rows, 1'000'000'000'000U);
  EXPECT_GT(estimate(c, 1e18).start_cold, 0s);
  EXPECT_EQ(estimate(c, 0).rows, 0U);
}

TEST(Estimate, AClassHasItsOwnRate) {
  Config config;
  config.classes.resize(2);
  config.classes[0].retention = 1h;
  config.classes[1].retention = 1h;
  config.classes[1].rate_per_second = 2;
  const auto estimates = estimate(config, 5);
  EXPECT_EQ(estimates.at(0).rows, 18'000U);
  EXPECT_EQ(estimates.at(1).rows, 7'200U);
}

}  // namespace
}  // namespace sendonce::test
