#include "ledger/device_rules.hpp"

namespace sendonce {
namespace {

bool is_dead(DeviceState state) {
  return state == DeviceState::invalid || state == DeviceState::revoked;
}

// Whether a report tells something new.
bool is_news(const std::optional<DeviceRow>& found, DeviceState state, WallTime since) {
  if (!found) return state != DeviceState::active;
  if (since < found->since) return false;
  // Revoked once more, after a registration that came in between.
  if (state == found->state) return state == DeviceState::revoked && since > found->since;
  return state != DeviceState::suspect || !is_dead(found->state);
}

}  // namespace

std::optional<DeviceRow> decide_set_device(const std::optional<DeviceRow>& found,
                                           const SetDevice& request, WallTime now) {
  const WallTime since = request.reported.value_or(now);
  if (request.reported && !is_news(found, request.state, since)) return std::nullopt;
  return DeviceRow{.state = request.state, .since = since, .registered_at = std::nullopt};
}

}  // namespace sendonce
