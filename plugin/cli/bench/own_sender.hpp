// Our HTTP/2 sender under the load of a bench: the requests that h2load sends too.
#pragma once

#include <cstdint>

#include "plugin/cli/bench/h2load.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"

namespace sendonce::cli {

struct OwnRun : LoadRun {
  double foreign_cpu = 0;  // share of one core that others used
  // As the provider counted them (P22).
  std::uint64_t connections = 0;
  std::uint64_t resets = 0;  // RST_STREAM
};

// In this process, with a transport of its own. All are borrowed for the call.
[[nodiscard]] Result<OwnRun> run_own_sender(const H2load& load, const Clock& clock,
                                            std::uint64_t requests, std::uint32_t connections,
                                            std::uint32_t streams);

}  // namespace sendonce::cli
