// The answers of push services as their servers really give them, and the verdicts they deserve
// (RFC 8030 5 and 8.4, RFC 8292 4.2). The standard leaves errors open: each service has its own.
#pragma once

#include <cstdint>
#include <string_view>

#include "plugin/core/clock.hpp"
#include "plugin/core/verdict.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

enum class PushService : std::uint8_t { other, fcm, mozilla, apple, wns };

// By the host of the endpoint, in lower case.
[[nodiscard]] PushService push_service_of(std::string_view host);

// Total and pure. The standard has no receipt but the status: 201 and 202 are acceptance, and so is
// WNS' 200. Of other 2xx only a 200 or 204 that says where the message stands, and no more. 404 and
// 410 end the subscription: 410 at once, a 404 that has no code only when the credential is proven,
// since whole services have answered it by mistake. What concerns the credential or the service has
// scope `provider`: the caller knows which part of a provider it is.
[[nodiscard]] Verdict judge_webpush(const CallResult& result, PushService service, WallTime now);

}  // namespace sendonce
