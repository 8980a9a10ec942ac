// What the ledger remembers of a destination that is not simply active (docs/guarantees.md, law 8).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/ids.hpp"

namespace sendonce {

enum class DeviceState : std::uint8_t {
  invalid = 1,   // its provider says so
  mismatch = 2,  // the sender's mistake: kept, and marked
  suspect = 3,   // noted only
  revoked = 4,   // its person, or the application, wants nothing
  active = 5,    // it was one of the others; what was reported earlier counts no more
};
[[nodiscard]] std::string_view name(DeviceState state);
[[nodiscard]] std::optional<DeviceState> device_state_from(std::string_view text);

struct DeviceRow {
  DeviceState state = DeviceState::invalid;
  WallTime
      since{};  // by the provider or the application; else when the call began, or a person said so
  std::optional<WallTime> registered_at{};  // of the registration that was refused
  friend bool operator==(const DeviceRow&, const DeviceRow&) = default;
};

// A stored device, 24 bytes with a CRC-32C. Decoding is total.
inline constexpr std::size_t kDeviceRowSize = 24;
[[nodiscard]] std::string encode_device(const DeviceRow& device);
[[nodiscard]] Result<DeviceRow> decode_device(std::string_view bytes);

}  // namespace sendonce
