#include "plugin/core/verdict.hpp"

#include "plugin/core/assert.hpp"

namespace sendonce {

Verdict in_light_of(Verdict verdict, bool proven) {
  if (verdict.needs_proof && !proven) {
    verdict.name = VerdictClass::token_mismatch;
    verdict.fault = Fault::mismatch;
    verdict.invalid_since.reset();
  }
  if (verdict.passing_if_proven && proven) {
    verdict.name = VerdictClass::retryable;
    verdict.fault = Fault::provider;
    verdict.scope = FaultScope::delivery;
  }
  verdict.needs_proof = false;
  verdict.passing_if_proven = false;
  return verdict;
}

std::string_view name(Effect effect) {
  switch (effect) {
    case Effect::not_sent:
      return "not_sent";
    case Effect::maybe_sent:
      return "maybe_sent";
    case Effect::sent:
      return "sent";
  }
  SO_ASSERT(false);
}

std::string_view name(Fault fault) {
  switch (fault) {
    case Fault::none:
      return "none";
    case Fault::device:
      return "device";
    case Fault::mismatch:
      return "mismatch";
    case Fault::auth:
      return "auth";
    case Fault::request:
      return "request";
    case Fault::config:
      return "config";
    case Fault::throttle:
      return "throttle";
    case Fault::provider:
      return "provider";
  }
  SO_ASSERT(false);
}

std::string_view name(FaultScope scope) {
  switch (scope) {
    case FaultScope::delivery:
      return "delivery";
    case FaultScope::device:
      return "device";
    case FaultScope::part:
      return "part";
    case FaultScope::provider:
      return "provider";
  }
  SO_ASSERT(false);
}

std::string_view name(VerdictClass verdict) {
  switch (verdict) {
    case VerdictClass::accepted:
      return "accepted";
    case VerdictClass::retryable:
      return "retryable";
    case VerdictClass::throttled:
      return "throttled";
    case VerdictClass::token_terminal:
      return "token_terminal";
    case VerdictClass::token_mismatch:
      return "token_mismatch";
    case VerdictClass::provider_auth:
      return "provider_auth";
    case VerdictClass::payload_error:
      return "payload_error";
    case VerdictClass::config_error:
      return "config_error";
    case VerdictClass::ambiguous:
      return "ambiguous";
  }
  SO_ASSERT(false);
}

}  // namespace sendonce
