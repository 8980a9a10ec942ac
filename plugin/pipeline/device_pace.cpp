#include "plugin/pipeline/device_pace.hpp"

#include <algorithm>
#include <iterator>

namespace sendonce {
namespace {

constexpr Duration kSweepEvery = std::chrono::seconds(1);  // when there is no room

}  // namespace

void DevicePace::set_rate(double per_second) {
  per_second_ = per_second;
  for (auto& [hash, device] : devices_) device.limiter.set_rate(per_second);
}

MonoTime DevicePace::next(const DeviceHash& device, MonoTime now) {
  if (devices_.empty()) return now;
  const auto known = devices_.find(device);
  if (known == devices_.end()) return now;
  return std::max(known->second.rests_until, known->second.limiter.next(now));
}

void DevicePace::take(const DeviceHash& device, MonoTime now) {
  if (per_second_ <= 0) return;
  Device* d = entry(device, now);
  if (d != nullptr && d->limiter.allows(now)) d->limiter.take();
}

void DevicePace::rest(const DeviceHash& device, MonoTime until, MonoTime now) {
  Device* d = entry(device, now);
  if (d != nullptr) d->rests_until = std::max(d->rests_until, until);
}

DevicePace::Device* DevicePace::entry(const DeviceHash& device, MonoTime now) {
  if (devices_.size() >= kDevicesMax && !devices_.contains(device)) {
    forget_the_rested(now);
    if (devices_.size() >= kDevicesMax) return nullptr;
  }
  return &devices_.try_emplace(device, Device{.limiter = Limiter(per_second_)}).first->second;
}

void DevicePace::forget_the_rested(MonoTime now) {
  if (now - swept_ < kSweepEvery) return;
  swept_ = now;
  for (auto at = devices_.begin(); at != devices_.end();) {
    Device& device = at->second;
    at = device.rests_until <= now && device.limiter.full(now) ? devices_.erase(at) : std::next(at);
  }
}

}  // namespace sendonce
