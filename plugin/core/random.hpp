// The only source of chance: seeded, so that a simulation replays.
#pragma once

#include <cstdint>

#include "plugin/core/clock.hpp"

namespace sendonce {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next();                  // splitmix64
  std::uint64_t below(std::uint64_t n);  // in [0, n); n > 0
  Duration jitter(Duration max);         // in [0, max]
  bool chance(double probability) { return unit() < probability; }
  double unit();  // in [0, 1)

 private:
  std::uint64_t state_;
};

// From the operating system, to seed a Random in production.
[[nodiscard]] std::uint64_t system_seed();

}  // namespace sendonce
