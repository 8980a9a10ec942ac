// The state of an instance as JSON (docs/formats.md, "Status"): what `sendonce status` shows and
// what the admin socket and the C interface answer. Stable: members are only added.
#pragma once

#include <string>
#include <vector>

#include "config/reload.hpp"
#include "config/schema.hpp"
#include "plugin/broker/broker.hpp"
#include "plugin/module/host_events.hpp"
#include "plugin/pipeline/engine.hpp"

namespace sendonce {

struct StatusInput {
  const Config& config;
  InstanceState state{};
  WallTime started{};
  WallTime now{};
  std::string ledger_id{};
  std::vector<LaneState> lanes{};  // of the classes
};

// Without a report: before the start or after the stop.
[[nodiscard]] std::string render_status(const StatusInput& input, const EngineReport* report);

// What a reload has changed: `{"changes":[{"field","before","after"}]}`.
[[nodiscard]] std::string changes_json(const std::vector<Change>& changes);

[[nodiscard]] std::string_view state_name(std::int32_t state);

}  // namespace sendonce
