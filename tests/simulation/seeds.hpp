// Plays many seeds, in as many processes as are asked for: a seed that breaks an invariant takes
// its process along, and what is static in the code stays one seed's own.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "tests/simulation/simulation.hpp"

namespace sendonce::sim {

// What many seeds came to.
struct Totals {
  Probes probes{};
  std::map<std::string, std::uint64_t> census{};
  std::uint64_t played = 0;
  std::uint64_t failed = 0;
  std::uint64_t lives = 0;
  double simulated_hours = 0;
  bool cut_short = false;  // by a failure, or a process that died

  void add(const Outcome& outcome);
  void add(const Totals& other);
};

struct SeedRange {
  std::uint64_t from = 1;
  std::uint64_t seeds = 0;
  std::span<const std::uint64_t> more{};  // played after those

  [[nodiscard]] std::uint64_t size() const { return seeds + more.size(); }
  [[nodiscard]] std::uint64_t operator[](std::uint64_t i) const {
    return i < seeds ? from + i : more[i - seeds];
  }
};

struct PlayOptions {
  SeedRange range{};
  unsigned jobs = 1;
  bool keep_going = false;  // else every process stops at its first failure
};

// Names a seed that aborts or does not end within two minutes of the processor, on stderr, and
// leaves with EX_SOFTWARE. For the whole process.
void watch_seeds();

// One seed, named if something ends the process meanwhile.
[[nodiscard]] Outcome play(std::uint64_t seed, bool trace);
// Prints what is broken, and the command that repeats it. False: something is.
bool report(std::uint64_t seed, const Outcome& outcome);

// Shows how far it is, on a terminal often, else now and then.
[[nodiscard]] Totals play_all(const PlayOptions& options);

}  // namespace sendonce::sim
