// Every documented answer of FCM and the verdict it deserves.
// https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode
#pragma once

#include <cstddef>

#include "plugin/core/clock.hpp"
#include "plugin/core/verdict.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

// Total and pure. Accepted needs a 2xx with `name`. A token ends only by the detail FcmError
// UNREGISTERED with 404, or by a 400 that names the token; a 404 without that detail is a wrong
// project or a front end's page.
[[nodiscard]] Verdict judge_fcm(const CallResult& result, WallTime now);

// The protocol before v1, switched off in 2024, still met in tests and behind proxies. `index` is
// the position of the token in the request.
[[nodiscard]] Verdict judge_fcm_legacy(const CallResult& result, std::size_t index, WallTime now);

}  // namespace sendonce
