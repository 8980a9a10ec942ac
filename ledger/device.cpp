#include "ledger/device.hpp"

#include <array>

#include "ledger/bytes.hpp"
#include "ledger/crc32c.hpp"
#include "plugin/core/assert.hpp"

namespace sendonce {
namespace {

constexpr std::uint8_t kVersion = 1;
// Of a record that version 1 cannot read: its state is active.
constexpr std::uint8_t kVersionActive = 2;
constexpr std::array kStates{DeviceState::invalid, DeviceState::mismatch, DeviceState::suspect,
                             DeviceState::revoked, DeviceState::active};

WallTime wall_time(std::uint64_t count) {
  return WallTime(Duration(static_cast<Duration::rep>(count)));
}

}  // namespace

std::string_view name(DeviceState state) {
  switch (state) {
    case DeviceState::invalid:
      return "invalid";
    case DeviceState::mismatch:
      return "mismatch";
    case DeviceState::suspect:
      return "suspect";
    case DeviceState::revoked:
      return "revoked";
    case DeviceState::active:
      return "active";
  }
  SO_ASSERT(false);
}

std::optional<DeviceState> device_state_from(std::string_view text) {
  for (const DeviceState state : kStates) {
    if (name(state) == text) return state;
  }
  return std::nullopt;
}

// 0 crc32c of [4, 24)   4 version   5 state   6 has registered_at   7 zero   8 since
// 16 registered_at; times are nanoseconds since the Unix epoch.
std::string encode_device(const DeviceRow& device) {
  std::string bytes(kDeviceRowSize, '\0');
  store(bytes.data() + 4, device.state == DeviceState::active ? kVersionActive : kVersion);
  store(bytes.data() + 5, static_cast<std::uint8_t>(device.state));
  store(bytes.data() + 6, static_cast<std::uint8_t>(device.registered_at.has_value()));
  store(bytes.data() + 8, static_cast<std::uint64_t>(device.since.time_since_epoch().count()));
  if (device.registered_at)
    store(bytes.data() + 16,
          static_cast<std::uint64_t>(device.registered_at->time_since_epoch().count()));
  store(bytes.data(), crc32c(std::string_view(bytes).substr(4)));
  return bytes;
}

Result<DeviceRow> decode_device(std::string_view bytes) {
  if (bytes.size() != kDeviceRowSize || crc32c(bytes.substr(4)) != load<std::uint32_t>(bytes, 0))
    return fail(Errc::corrupt, "ledger device: checksum does not match");
  const auto version = load<std::uint8_t>(bytes, 4);
  if (version != kVersion && version != kVersionActive)
    return fail(Errc::invalid, "ledger device: written by a newer version of sendonce");
  const auto state = load<std::uint8_t>(bytes, 5);
  const auto registered = load<std::uint8_t>(bytes, 6);
  const bool active = state == static_cast<std::uint8_t>(DeviceState::active);
  if (state < 1 || state > kStates.size() || registered > 1 || active != (version > kVersion))
    return fail(Errc::corrupt, "ledger device: value out of range");
  DeviceRow device{.state = static_cast<DeviceState>(state),
                   .since = wall_time(load<std::uint64_t>(bytes, 8)),
                   .registered_at = std::nullopt};
  if (registered == 1) device.registered_at = wall_time(load<std::uint64_t>(bytes, 16));
  return device;
}

}  // namespace sendonce
