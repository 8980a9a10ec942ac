// Failover along a route, for SMS and e-mail: to another provider only what was provably not sent,
// and only where another provider may do better. Pure.
#pragma once

#include "plugin/core/verdict.hpp"

namespace sendonce {

// `carried`: what earlier attempts may have caused. Never after one that may have sent.
[[nodiscard]] bool another_may_do(const Verdict& verdict, Effect carried);

}  // namespace sendonce
