// Claims through the ledger's thread, as the engine makes them: one driver, many at once.
#pragma once

#include <cstdint>

#include "plugin/cli/bench/ledger_own.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"

namespace sendonce::cli {

struct LaneFigure {
  double rate = 0;    // durable claims a second
  double p50_us = 0;  // from when a claim was due to when its reply was taken
  double p99_us = 0;
};

// `producers` claims are on their way, and each is followed by another once it is durable. With the
// linger of production. `next` is the first key that is not there yet, and is moved on.
[[nodiscard]] Result<LaneFigure> closed_loop(OwnStore& store, std::uint64_t& next,
                                             std::size_t producers, double seconds);
// A claim is due every 1/rate, whatever becomes of the earlier ones. Without linger.
[[nodiscard]] Result<LaneFigure> open_loop(OwnStore& store, std::uint64_t& next, double rate,
                                           double seconds);

}  // namespace sendonce::cli
