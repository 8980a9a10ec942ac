// When something may go to one device (token, number, address) again: it has a rate of its own, and
// rests for as long as its provider says when that throttles it alone. Others are not delayed.
// Pure state, bounded: what is forgotten for want of room may go at once.
#pragma once

#include <cstddef>
#include <unordered_map>

#include "plugin/core/clock.hpp"
#include "plugin/core/ids.hpp"
#include "plugin/pipeline/limiter.hpp"

namespace sendonce {

class DevicePace {
 public:
  static constexpr std::size_t kDevicesMax = 100'000;

  // 0 per second: no rate.
  explicit DevicePace(double per_second = 0) : per_second_(per_second) {}

  void set_rate(double per_second);
  // The time from which on something may go there; not after `now`: at once.
  [[nodiscard]] MonoTime next(const DeviceHash& device, MonoTime now);
  // Something goes there.
  void take(const DeviceHash& device, MonoTime now);
  // Its provider has asked for a pause.
  void rest(const DeviceHash& device, MonoTime until, MonoTime now);
  [[nodiscard]] std::size_t size() const { return devices_.size(); }

 private:
  struct Device {
    Limiter limiter;
    MonoTime rests_until{};
  };
  // Null: there is no room.
  [[nodiscard]] Device* entry(const DeviceHash& device, MonoTime now);
  void forget_the_rested(MonoTime now);

  double per_second_;
  std::unordered_map<DeviceHash, Device> devices_{};
  MonoTime swept_{};
};

}  // namespace sendonce
