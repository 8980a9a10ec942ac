// Series of measurements and whether they grow. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sendonce::truth {

struct Series {
  std::string name{};
  std::string unit{};
  double allowed = 0;        // growth over the whole time
  double allowed_share = 0;  // more of it, as a share of the mean
  std::vector<double> values{};
};

struct Trend {
  double mean = 0;
  double slope = 0;   // by least squares, a unit of time
  double growth = 0;  // slope times the time from the first to the last
  double allowed = 0;
  bool grows = false;
};

// The first `skip` samples are warming up. `times` and the values belong to each other.
[[nodiscard]] Trend trend(const Series& series, const std::vector<double>& times, std::size_t skip);

[[nodiscard]] std::string csv(const std::vector<double>& times, const std::vector<Series>& all);
// One panel a series, above each other.
[[nodiscard]] std::string svg(const std::vector<double>& times, const std::vector<Series>& all);

}  // namespace sendonce::truth
