#include "tests/truth/trend.hpp"

#include <cmath>

#include <gmock/gmock.h>

namespace sendonce::truth {
namespace {

std::vector<double> times(std::size_t count) {
  std::vector<double> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(static_cast<double>(i) * 2);
  return out;
}

Series series(std::size_t count, double (*value)(double)) {
  Series s{.name = "x", .unit = "MB", .allowed = 1};
  for (const double t : times(count)) s.values.push_back(value(t));
  return s;
}

TEST(Trend, ALineIsFound) {
  const Trend t = trend(series(100, [](double x) { return 5 + 0.5 * x; }), times(100), 0);
  EXPECT_NEAR(t.slope, 0.5, 1e-9);
  EXPECT_NEAR(t.growth, 0.5 * 198, 1e-9);
  EXPECT_TRUE(t.grows);
}

TEST(Trend, NoiseIsNoGrowth) {
  const Trend t = trend(series(500, [](double x) { return 50 + std::sin(x) * 5; }), times(500), 0);
  EXPECT_FALSE(t.grows);
  EXPECT_NEAR(t.mean, 50, 0.5);
}

TEST(Trend, AWarmUpDoesNotCount) {
  const auto warm = [](double x) { return x < 40 ? x : 40.0; };
  EXPECT_TRUE(trend(series(100, warm), times(100), 0).grows);
  EXPECT_FALSE(trend(series(100, warm), times(100), 20).grows);
}

TEST(Trend, ShrinkingIsNoGrowth) {
  EXPECT_FALSE(trend(series(100, [](double x) { return 500 - x; }), times(100), 0).grows);
}

TEST(Trend, AShareOfTheMeanMayBeAllowed) {
  Series s = series(100, [](double x) { return 1000 + x / 4; });
  EXPECT_TRUE(trend(s, times(100), 0).grows);
  s.allowed_share = 0.1;
  EXPECT_FALSE(trend(s, times(100), 0).grows);
}

TEST(Trend, TooFewSamplesSayNothing) {
  EXPECT_FALSE(trend(series(3, [](double x) { return x * 100; }), times(3), 2).grows);
}

TEST(Trend, TableAndPlotHaveEverySample) {
  const std::vector<Series> all{series(3, [](double x) { return x; })};
  EXPECT_EQ(csv(times(3), all), "seconds,x (MB)\n0,0\n2,2\n4,4\n");
  const std::string plot = svg(times(3), all);
  EXPECT_THAT(plot, testing::HasSubstr("<polyline points=\""));
  EXPECT_TRUE(plot.ends_with("</svg>\n"));
}

}  // namespace
}  // namespace sendonce::truth
