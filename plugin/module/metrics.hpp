// The engine's report in the Prometheus text format (docs/operations.md lists the metrics).
#pragma once

#include <string>

#include "config/schema.hpp"
#include "plugin/pipeline/engine.hpp"

namespace sendonce {

[[nodiscard]] std::string render_metrics(const Config& config, const EngineReport& report,
                                         bool nats_connected);
// {"text":"..."}: how the admin socket carries it.
[[nodiscard]] std::string metrics_as_json(const std::string& text);

}  // namespace sendonce
