// A delivery as the ledger remembers it. No payload, no raw destination.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/core/clock.hpp"
#include "plugin/core/ids.hpp"
#include "plugin/core/verdict.hpp"

namespace sendonce {

enum class State : std::uint8_t {
  claimed = 1,
  waiting = 2,
  accepted = 3,
  failed = 4,
  unknown = 5,
  suppressed = 6,
};
[[nodiscard]] constexpr bool has_ended(State s) {
  return s >= State::accepted;
}
[[nodiscard]] std::string_view name(State state);

// Whether the message's copy for the dead-letter stream is still owed.
enum class DeadLetter : std::uint8_t { none = 0, due = 1, done = 2, lost = 3 };
[[nodiscard]] std::string_view name(DeadLetter dead_letter);

// What one attempt brought to light.
struct Receipt {
  WallTime at{};
  Fence fence{};
  VerdictClass verdict = VerdictClass::ambiguous;
  Effect effect = Effect::maybe_sent;
  std::string message_id{};
  friend bool operator==(const Receipt&, const Receipt&) = default;
};

struct Row {
  Key key{};
  Nid nid{};
  LookupHash event{};
  LookupHash recipient{};
  LookupHash campaign{};
  State state = State::claimed;
  Effect effect = Effect::not_sent;
  Fault fault = Fault::none;
  DeadLetter dead_letter = DeadLetter::none;
  std::uint16_t attempts = 0;  // counted ones
  std::uint32_t revision = 0;  // grows with every event about the row
  Fence fence{};               // of the latest claim
  Incarnation incarnation{};   // that claimed last
  Ticket ticket{};             // of the latest claim, within its incarnation
  WallTime created{};          // stored time of the first message
  WallTime lease_end{};        // while claimed
  WallTime next_at{};          // while waiting
  WallTime deadline{};
  WallTime ended{};       // once ended
  WallTime keep_until{};  // once ended
  // Until then somebody can be asked what became of it, should it be in doubt; none: nobody can.
  WallTime look_until{};
  Fingerprint fingerprint{};
  // Of the first call that may have been sent, or of the one that is claimed; all zero when the
  // policy needs none.
  RequestHash request{};
  std::string message_class{};
  std::string provider{};
  std::string ref{};
  std::string reason{};             // short and safe to print
  std::vector<Receipt> receipts{};  // the latest kReceiptsKept
  friend bool operator==(const Row&, const Row&) = default;
};

inline constexpr std::size_t kReceiptsKept = 16;

}  // namespace sendonce
