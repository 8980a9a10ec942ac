// What the engine keeps of each class and provider. Pure state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "classifiers/provider.hpp"
#include "config/schema.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/pipeline/clock_watch.hpp"
#include "plugin/pipeline/counters.hpp"
#include "plugin/pipeline/device_pace.hpp"
#include "plugin/pipeline/dispatcher.hpp"
#include "plugin/pipeline/holds.hpp"
#include "plugin/pipeline/hygiene.hpp"
#include "plugin/pipeline/limiter.hpp"
#include "plugin/pipeline/policy.hpp"

namespace sendonce {

// A provider as the engine uses it. `provider` is borrowed and outlives the engine (or its reload).
struct ProviderSlot {
  ProviderConfig config{};
  Provider* provider = nullptr;
};

struct ClassState {
  ClassCounters counters{};
  Limiter limiter{};
  std::size_t credit = 0;
  std::priority_queue<MonoTime, std::vector<MonoTime>, std::greater<>> handed_back{};
  std::uint32_t incarnation = 0;
  std::string not_ready{};
  std::string paused{};                   // by a person; why
  bool copies_fail = false;               // the latest copy of a dead letter was not confirmed
  std::optional<WallTime> oldest_held{};  // when it was stored; looked at once a second
};

struct ProviderState {
  ProviderSlot slot{};
  Dispatcher queue;
  Holds holds;
  Hygiene hygiene{};
  ClockWatch clock{};
  Limiter limiter{};
  DevicePace pace{};
  ProviderCounters counters{};
  std::size_t reserved = 0;  // claims under way that will want room
  std::map<std::string, std::size_t, std::less<>> reserved_at{};  // the same by origin
  MonoTime credential_retry{};
  std::uint32_t credential_failures = 0;
  bool credential_asked = false;
  bool credential_of_another = false;  // asked for by the provider before a reload
  std::string app_scope{};
  std::string paused{};                                           // by a person; why
  std::optional<MonoTime> unreachable_since{};                    // looked at once a second
  MonoTime trial{};                                               // the latest while it is away
  bool on_trial = false;                                          // the next delivery tries it
  std::map<std::string, MonoTime, std::less<>> unreachable_at{};  // the same by origin
};

}  // namespace sendonce
