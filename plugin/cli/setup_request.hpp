// The streams and consumers that a configuration needs, for who makes them and for who looks.
#pragma once

#include <optional>
#include <string>

#include "config/schema.hpp"
#include "plugin/broker/nats/setup_plan.hpp"
#include "plugin/cli/commands.hpp"

namespace sendonce::cli {

[[nodiscard]] SetupRequest setup_request(const Config& config, std::string ledger_id,
                                         const SetupOptions& options,
                                         const std::optional<StartFrom>& from = {});

}  // namespace sendonce::cli
