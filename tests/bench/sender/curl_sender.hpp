// libcurl's own HTTP/2, many requests on one connection of a multi handle: what P3 of
// docs/performance.md is measured against.
#pragma once

#include <cstdint>

#include "plugin/cli/bench/h2load.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"

namespace sendonce::bench {

// In this process. All are borrowed for the call.
[[nodiscard]] Result<cli::LoadRun> run_curl_sender(const cli::H2load& load, const Clock& clock,
                                                   std::uint64_t requests, std::uint32_t streams);

}  // namespace sendonce::bench
