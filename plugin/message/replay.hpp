// A message that is meant for some of its targets only: a replay names them by their keys, and all
// others are left alone (docs/adr/0053). The envelope stays whole, since keys and fingerprints are
// made of it.
#pragma once

#include <string_view>
#include <vector>

#include "plugin/broker/broker.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/ids.hpp"

namespace sendonce {

// A delivery key, 64 hex digits. May be given several times.
inline constexpr std::string_view kReplayHeader = "Sendonce-Replay";

// In any case of letters: a client that writes it in its own way must not publish to everybody.
[[nodiscard]] bool is_replay_header(std::string_view name);

// Empty: for every target. invalid: a value that is no key; nobody can say what was meant.
[[nodiscard]] Result<std::vector<Key>> replayed_keys(const MessageHeaders& headers);

}  // namespace sendonce
