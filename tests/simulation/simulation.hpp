// One run: a plan is made from the seed and played; then everything heals, and within a bounded
// time everything must have ended well.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tests/simulation/world.hpp"

namespace sendonce::sim {

struct Outcome {
  std::optional<Broken> broken{};
  Probes probes{};
  std::map<std::string, std::uint64_t> census{};
  std::uint32_t lives = 0;
  Duration simulated{};
  std::uint64_t digest = 0;  // of everything that became durable: two runs of a seed agree
};

[[nodiscard]] Outcome simulate(std::uint64_t seed, bool trace);

}  // namespace sendonce::sim
