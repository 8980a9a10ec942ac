#include "plugin/pipeline/failover.hpp"

#include "plugin/core/assert.hpp"

namespace sendonce {

bool another_may_do(const Verdict& verdict, Effect carried) {
  if (carried != Effect::not_sent || verdict.effect != Effect::not_sent) return false;
  switch (verdict.fault) {
    case Fault::auth:
    case Fault::config:  // a sender that is not allowed here, an account without credit
    case Fault::provider:
      return true;
    case Fault::throttle:  // of one destination: another provider would only evade it
      return verdict.scope == FaultScope::provider || verdict.scope == FaultScope::part;
    case Fault::device:
    case Fault::mismatch:
    case Fault::request:
    case Fault::none:
      return false;
  }
  SO_ASSERT(false);
}

}  // namespace sendonce
