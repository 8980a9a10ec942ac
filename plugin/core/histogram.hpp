// How often something took how long, in fixed buckets: a few additions for whoever measures, a copy
// for whoever asks. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

#include "plugin/core/clock.hpp"

namespace sendonce {

class DurationHistogram {
 public:
  // Upper bounds in seconds, inclusive, from a disk flush to the retries of an afternoon.
  static constexpr std::array kBounds{0.00025, 0.001, 0.0025, 0.005,  0.01,  0.025, 0.05,
                                      0.1,     0.25,  0.5,    1.0,    2.5,   5.0,   10.0,
                                      30.0,    60.0,  300.0,  1800.0, 7200.0};
  static constexpr std::size_t kBuckets = kBounds.size() + 1;  // the last has no bound

  // A negative duration (two clocks that disagree) counts as none.
  void observe(Duration taken) noexcept {
    const double seconds = std::max(std::chrono::duration<double>(taken).count(), 0.0);
    const auto* bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
    ++counts_[static_cast<std::size_t>(bound - kBounds.begin())];
    sum_ += seconds;
  }
  // Of each bucket by itself, not of it and those below.
  [[nodiscard]] const std::array<std::uint64_t, kBuckets>& counts() const noexcept {
    return counts_;
  }
  [[nodiscard]] double sum_seconds() const noexcept { return sum_; }

 private:
  std::array<std::uint64_t, kBuckets> counts_{};
  double sum_ = 0;
};

}  // namespace sendonce
