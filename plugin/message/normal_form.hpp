// One spelling for one destination (docs/formats.md, "Normal forms"): what goes into delivery keys.
// The forms of APNs and FCM tokens belong to their providers. A change of any form changes keys:
// raise kNormalFormVersion with it.
#pragma once

#include <cstdint>

#include "plugin/core/error.hpp"
#include "plugin/core/secret.hpp"
#include "plugin/message/notification.hpp"

namespace sendonce {

inline constexpr std::uint8_t kNormalFormVersion = 1;

// All of them: invalid, with a text that says what the form is and does not quote the destination.

// E.164 (ITU-T E.164 6.2.1): '+', then 7 to 15 digits, the first not 0; nothing else.
[[nodiscard]] Result<Destination> normal_phone(const Destination& phone);

// RFC 5321 4.1.2 without quoted local parts and address literals. The domain becomes lower case and
// must be given in A-labels; the local part stays as it is, because only its host may interpret it.
[[nodiscard]] Result<Destination> normal_email(const Destination& address);

// An https URL (RFC 3986) with a host, without user, password and fragment, as given. For Web Push
// endpoints (RFC 8030 5) and webhooks.
[[nodiscard]] Result<Destination> normal_url(const Destination& url);

// 1 to 4096 visible ASCII characters, as given: what a push service means by them is its own.
[[nodiscard]] Result<Destination> normal_token(const Destination& token);

// For a provider of any make: a phone number, an e-mail address, a token, else a URL.
[[nodiscard]] Result<Destination> normal_destination(Channel channel,
                                                     const Destination& destination);

}  // namespace sendonce
