// What a device becomes by the word of a person or of the application: pure functions, shared by
// every ledger. What providers say of devices is judged in rules.hpp.
#pragma once

#include <optional>

#include "ledger/decisions.hpp"
#include "ledger/device.hpp"
#include "plugin/core/clock.hpp"

namespace sendonce {

// The row to store, with an event; empty: nothing changes.
//
// A person is always right. A report of the application changes nothing when it is older than what
// is known, nor does the same state again, unless it is revoked since a later time that the report
// names. `suspect` never takes back that a device is dead: only `active`, or a newer registration,
// does.
[[nodiscard]] std::optional<DeviceRow> decide_set_device(const std::optional<DeviceRow>& found,
                                                         const SetDevice& request, WallTime now);

}  // namespace sendonce
