// What the engine tells about itself (Engine::report): a copy, for status and metrics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ledger/ledger.hpp"
#include "plugin/pipeline/counters.hpp"
#include "plugin/pipeline/device_reports.hpp"
#include "plugin/pipeline/holds.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

struct ClassReport {
  ClassCounters counters{};
  std::size_t held = 0;
  std::optional<WallTime> oldest_held{};  // when the oldest of them was stored
  std::string not_ready{};                // why it does not take messages; empty: it does
  std::string paused{};                   // by whom and why; empty: it is not
};

struct ProviderReport {
  ProviderCounters counters{};
  std::vector<std::pair<std::string, Hold>> holds{};
  bool invalidations_held = false;
  std::string paused{};
  std::size_t queued = 0;
  std::optional<WallTime> credential_ends{};  // of the one at hand, see Provider
  std::optional<Duration> clock_lead{};       // of the provider's clock over ours
  PoolState pool{};
};

// A delivery of a message in hand; it may have no row yet.
struct HeldReport {
  ClassIndex message_class{};
  StreamSeq sequence{};
  std::uint16_t target = 0;
  ProviderIndex provider{};
  std::string doing{};   // what happens to it
  std::string reason{};  // why it waits; may be empty
};

struct DeviceReportsReport {
  DeviceReportCounters counters{};
  std::string not_ready{};  // why none is taken; empty: they are
};

struct EngineReport {
  std::vector<ClassReport> classes{};
  std::vector<ProviderReport> providers{};
  LedgerStats ledger{};
  std::optional<DeviceReportsReport> device_reports{};  // when there is a lane for them
  std::uint64_t events_published = 0;
  bool draining = false;
};

}  // namespace sendonce
