// The state of an instance in the Prometheus text format (docs/operations.md, "Metrics"). Labels
// are names of the configuration and words of ours: their number is known when it is loaded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/schema.hpp"
#include "plugin/broker/broker.hpp"
#include "plugin/module/expiry.hpp"
#include "plugin/pipeline/engine_report.hpp"

namespace sendonce {

struct MetricsInput {
  const Config& config;
  const EngineReport& report;
  std::vector<LaneState> lanes{};  // by ClassIndex
  std::vector<FileEnd> file_ends{};
  bool ready = false;
  bool nats_connected = false;
  std::uint64_t nats_connects = 0;
  std::uint64_t reloads_applied = 0;
  std::uint64_t reloads_refused = 0;
  WallTime started{};
  WallTime now{};
};

[[nodiscard]] std::string render_metrics(const MetricsInput& input);

}  // namespace sendonce
