// Two clocks, two types: mixing them does not compile. Time is read through Clock and nowhere else.
#pragma once

#include <chrono>
#include <memory>

namespace sendonce {

using Duration = std::chrono::nanoseconds;

struct WallClockTag {
  using duration = Duration;
};
struct MonoClockTag {
  using duration = Duration;
};
using WallTime = std::chrono::time_point<WallClockTag, Duration>;  // since the Unix epoch; may step
using MonoTime = std::chrono::time_point<MonoClockTag, Duration>;  // never goes back

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual WallTime wall() const = 0;  // any thread
  [[nodiscard]] virtual MonoTime mono() const = 0;  // any thread
};

// The machine's clocks (CLOCK_REALTIME, CLOCK_MONOTONIC).
[[nodiscard]] std::unique_ptr<Clock> make_system_clock();

}  // namespace sendonce
