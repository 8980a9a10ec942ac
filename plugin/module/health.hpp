// /livez and /readyz: is it alive, does it take messages, and by name what stands in the way.
#pragma once

#include <string>
#include <vector>

#include "config/schema.hpp"
#include "plugin/broker/broker.hpp"
#include "plugin/module/host_events.hpp"
#include "plugin/module/http/http_server.hpp"
#include "plugin/pipeline/engine_report.hpp"

namespace sendonce {

struct HealthReason {
  std::string
      name{};  // "instance", "nats", "ledger", "class.NAME", "provider.NAME", "devices", "engine"
  std::string text{};  // safe to print
};

struct HealthInput {
  const Config& config;
  const EngineReport& report;
  const InstanceState& state;
  std::vector<LaneState> lanes{};  // by ClassIndex, then that of the reports
  bool nats_connected = false;
};

// All there are, also while some class still takes messages.
[[nodiscard]] std::vector<HealthReason> reasons_against(const HealthInput& input);
// {"ok":false,"reasons":[{"name":"nats","text":"not connected"}]}; 503 unless ok.
[[nodiscard]] HttpReply health_reply(bool ok, const std::vector<HealthReason>& reasons);

}  // namespace sendonce
