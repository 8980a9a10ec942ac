// The measuring loop of the ledger's benches, the same for every store.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "plugin/cli/bench/ledger_store.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"

namespace sendonce::cli {

enum class Work : std::uint8_t {
  pairs,   // each batch claims, and records the outcomes of the batch before the last
  claims,  // each batch claims
};

struct LoadOptions {
  std::uint64_t batch = 100;
  double seconds = 3;
};

struct LoadFigure {
  double rate = 0;           // pairs or claims a second
  double cpu_us = 0;         // of each, client and server
  double disk_bytes = 0;     // of each, written by this process
  double foreign_cores = 0;  // CPU of other processes while it ran
};

struct Contender {
  std::unique_ptr<BenchStore> store{};
  std::uint64_t next = 0;  // key that is not there yet
};

[[nodiscard]] Result<LoadFigure> run_load(Contender& contender, Work work,
                                          const LoadOptions& options, const Clock& clock);
// Member by member.
[[nodiscard]] LoadFigure medians(const std::vector<LoadFigure>& figures);

}  // namespace sendonce::cli
