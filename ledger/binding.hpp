// Whose a device is: the recipient of the first send to it that was accepted. Kept only where a
// provider's `reuse` asks for it (docs/adr/0052).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/ids.hpp"

namespace sendonce {

// What is done about a device that is bound to another recipient.
enum class Reuse : std::uint8_t {
  allow,   // nothing is looked up or kept
  report,  // an event; it is sent all the same
  refuse,  // an event; the delivery ends as failed
};

// Why a delivery to a device of another recipient failed.
inline constexpr std::string_view kTokenReused = "token_reused";

struct DeviceBinding {
  LookupHash recipient{};
  WallTime since{};   // of the registration, else when a send was first accepted
  WallTime used{};    // about when it was last of use
  LookupHash told{};  // the latest other recipient that an event has told of; none: 0
  friend bool operator==(const DeviceBinding&, const DeviceBinding&) = default;
};

// One that nothing was accepted for is forgotten after this time, or up to a quarter earlier:
// `used` is not written with every send.
inline constexpr Duration kBindingKept = std::chrono::hours(24 * 180);

// A stored binding, 40 bytes with a CRC-32C. Decoding is total.
inline constexpr std::size_t kBindingSize = 40;
[[nodiscard]] std::string encode_binding(const DeviceBinding& binding);
[[nodiscard]] Result<DeviceBinding> decode_binding(std::string_view bytes);

// Of a send that was accepted.
struct Bind {
  DeviceHash hash{};
  LookupHash recipient{};
  std::optional<WallTime> registered_at{};
};

// A device of another recipient, and no newer registration says that it has changed hands.
[[nodiscard]] bool is_reuse(const DeviceBinding& binding, LookupHash recipient,
                            std::optional<WallTime> registered_at);
// The binding to store; empty: it stays as it is.
[[nodiscard]] std::optional<DeviceBinding> decide_bind(const std::optional<DeviceBinding>& found,
                                                       const Bind& bind, WallTime now);

}  // namespace sendonce
