// What a module says of an answer, as far as it is believed. Pure.
//
// A module may be wrong; it may not be dangerous: nothing that it says ends a destination by a
// status alone, counts as accepted outside of a 2xx, or makes of a call that may have arrived one
// that has not. What contradicts itself is ambiguous.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "plugin/core/verdict.hpp"
#include "plugin/transport/transport.hpp"
#include "sendonce/abi/provider_answer.h"

namespace sendonce {

// A sendonce_verdict in our words. Empty: not said.
struct ModuleSaid {
  std::optional<VerdictClass> verdict{};
  std::optional<Effect> effect{};
  std::optional<Fault> fault{};
  std::optional<FaultScope> scope{};
  std::string_view nonsense{};  // the member that holds a value which the interface does not have
  std::string_view unfit{};     // the text that was dropped for its form or for what it tells
  Duration retry_after{};
  std::optional<WallTime> invalid_since{};
  std::string message_id{};
  std::string reason{};
  std::string part{};
};

// Copies it. A reason that holds one of the secrets is dropped.
[[nodiscard]] ModuleSaid read_verdict(const sendonce_verdict& from,
                                      std::span<const std::string_view> secrets);

struct Believed {
  Verdict verdict{};
  std::string corrected{};  // what was not believed; empty: nothing
};

[[nodiscard]] Believed believe(const ModuleSaid& said, const HttpAnswer& answer, bool needs_receipt,
                               WallTime now);
[[nodiscard]] Believed believe(const ModuleSaid& said, const CallFailure& failure);

// True for a verdict that only the contents of the answer can carry: then the module is asked about
// the bare status too, and when it says the same of it, without_contents() is what is believed.
[[nodiscard]] bool rests_on_contents(const Believed& believed, const HttpAnswer& answer);
[[nodiscard]] Believed without_contents(VerdictClass said, const HttpAnswer& answer, WallTime now);

// Of an exchange of credentials: nothing was sent to anybody. `stored`: a credential is at hand.
[[nodiscard]] Verdict believe_auth(const ModuleSaid& said, const HttpAnswer& answer, bool stored,
                                   WallTime now);

}  // namespace sendonce
