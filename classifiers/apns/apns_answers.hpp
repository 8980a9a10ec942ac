// Every documented answer of APNs and the verdict it deserves.
// https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns
#pragma once

#include <optional>

#include "plugin/core/clock.hpp"
#include "plugin/core/verdict.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

// Total and pure. Accepted needs status 200 and the header apns-id, in a whole or a cut answer.
// Device faults:
// * BadDeviceToken may mean the other environment as well: needs_proof (in_light_of() decides).
// * 410 carries the moment from which the token was dead, in milliseconds. If the app registered it
//   later, APNs knows less than the registry: the delivery has failed all the same, for APNs sent
//   nothing, but ignore_device keeps the device as it is. Without a timestamp `now` counts; one
//   that cannot be read ends no device.
[[nodiscard]] Verdict judge_apns(const CallResult& result, std::optional<WallTime> registered_at,
                                 WallTime now);

}  // namespace sendonce
