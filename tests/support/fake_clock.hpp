// A clock that is stepped by hand.
#pragma once

#include "plugin/core/clock.hpp"

namespace sendonce::test {

class FakeClock final : public Clock {
 public:
  [[nodiscard]] WallTime wall() const override { return wall_; }
  [[nodiscard]] MonoTime mono() const override { return mono_; }
  void advance(Duration d) {
    wall_ += d;
    mono_ += d;
  }
  void step_wall(Duration d) { wall_ += d; }

 private:
  WallTime wall_{std::chrono::hours(24 * 365 * 56)};
  MonoTime mono_{std::chrono::hours(1)};
};

}  // namespace sendonce::test
