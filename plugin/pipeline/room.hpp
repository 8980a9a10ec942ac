// Whether the ledger and the outbox have room for more: nothing new is taken while they have not.
// Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "ledger/ledger.hpp"
#include "plugin/core/clock.hpp"

namespace sendonce {

struct OutboxLimits {
  std::size_t entries_max = 100'000;
  Duration age_max = std::chrono::minutes(10);
};

// Empty: there is room. `outbox_error`: why the latest event was not confirmed; may be empty.
[[nodiscard]] std::string why_no_room(const LedgerStats& stats, const OutboxLimits& limits,
                                      std::string_view outbox_error, WallTime now);

}  // namespace sendonce
