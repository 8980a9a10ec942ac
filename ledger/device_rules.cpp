#include "ledger/device_rules.hpp"

namespace sendonce {
namespace {

bool is_dead(DeviceState state) {
  return state == DeviceState::invalid || state == DeviceState::revoked;
}

// Whether a report tells something new.
bool is_news(const std::optional<DeviceRow>& found, const SetDevice& report, WallTime since) {
  const DeviceState state = report.state;
  if (!found) return state != DeviceState::active;
  if (since < found->since) return false;
  // Revoked once more, after a registration that came in between. Without a time of its own it may
  // be a repeat from before that.
  if (state == found->state)
    return state == DeviceState::revoked && since > found->since && !report.undated;
  return state != DeviceState::suspect || !is_dead(found->state);
}

}  // namespace

std::optional<DeviceRow> decide_set_device(const std::optional<DeviceRow>& found,
                                           const SetDevice& request, WallTime now) {
  const WallTime since = request.reported.value_or(now);
  if (request.reported && !is_news(found, request, since)) return std::nullopt;
  return DeviceRow{.state = request.state, .since = since, .registered_at = std::nullopt};
}

}  // namespace sendonce
