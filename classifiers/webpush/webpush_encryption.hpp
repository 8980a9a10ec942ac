// Message encryption for Web Push (RFC 8291): aes128gcm content coding (RFC 8188) under a key that
// the browser and a fresh key of ours agree on.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "plugin/core/error.hpp"
#include "plugin/core/secret.hpp"
#include "plugin/crypto/p256.hpp"
#include "plugin/message/notification.hpp"

namespace sendonce {

inline constexpr std::size_t kPushBodyMax = 4096;  // what every push service takes, RFC 8030 7.2
// The body has a header of 86 octets, a delimiter of 1 and a tag of 16.
inline constexpr std::size_t kPushPlaintextMax = 3993;

// The two keys of a subscription, as raw octets.
struct SubscriptionKeys {
  std::string point{};  // p256dh: 65 octets
  Credential auth{};    // 16 octets
};

// invalid: which of the two is wrong. Whether the point is on the curve shows at encryption.
[[nodiscard]] Result<SubscriptionKeys> subscription_keys(const Target& target);

// The whole body: one record, no padding. `sender` and `salt` (16 octets) must be fresh.
// invalid: the subscription's point is not on the curve, or the text is too long.
[[nodiscard]] Result<std::string> encrypt_push(std::string_view plaintext,
                                               const SubscriptionKeys& keys, const P256Key& sender,
                                               std::string_view salt);
// With a fresh key and salt.
[[nodiscard]] Result<std::string> encrypt_push(std::string_view plaintext,
                                               const SubscriptionKeys& keys);

}  // namespace sendonce
