// What the engine is given: the ports it works with, and its own settings.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "ledger/ledger_lane.hpp"
#include "plugin/broker/broker.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/log.hpp"
#include "plugin/pipeline/attempt_watch.hpp"
#include "plugin/pipeline/device_reports.hpp"
#include "plugin/pipeline/room.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

struct EngineDeps {  // borrowed; all outlive the engine
  const Clock& clock;
  Log& log;
  Broker& broker;
  LedgerLane& ledger;
  Transport& transport;
  AttemptWatch* attempts = nullptr;  // none: nobody watches
};

struct EngineOptions {
  std::string ledger_id{};
  std::string secret{};  // the ledger's, for keyed hashes
  std::uint64_t seed = 0;
  Duration hold_max = std::chrono::seconds(30);  // longer waits go back to the broker
  Duration nak_max = std::chrono::hours(1);
  OutboxLimits outbox{};
  std::optional<DeviceReportLane> reports{};
};

}  // namespace sendonce
