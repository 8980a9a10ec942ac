// What people, and the application, decide: requests to the ledger (ledger.hpp) that no message
// makes, and their replies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ledger/audit.hpp"
#include "ledger/device.hpp"
#include "ledger/row.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/ids.hpp"

namespace sendonce {

// What a person decides about a row that has ended (docs/operations.md, "Deciding"). Nothing is
// sent by it: a row that is to be sent again waits for a message that claims it.
struct Resolve {
  enum class As : std::uint8_t {
    accepted,  // of an unknown row: it was sent
    failed,    // of an unknown row: it was not, or nobody cares any more
    resend,    // of an unknown row: the next message with its key may send it once more
    replay,    // the same, of a row that failed unsent; with `force` of any that has ended
    drop,      // its dead letter is thrown away; the row stays as it ended
  };
  ScopeIndex scope{};
  Key key{};
  As as = As::accepted;
  bool force = false;
  Duration expires{};                   // resend, replay: no attempt starts later than that
  WallTime not_after{WallTime::max()};  // nor than this
  Duration retention{};
  std::string text{};                 // who and why: stored with the row and told in its event
  std::optional<AuditEntry> audit{};  // kept with what came of it, in the same transaction
};

// What a person, or the application, says of a device.
struct SetDevice {
  DeviceHash hash{};
  std::string kind{};  // provider kind, for the subject of the event
  std::string provider{};
  DeviceState state = DeviceState::active;
  std::string text{};  // who and why
  std::optional<AuditEntry> audit{};
  // Of a report of the application: since when it is so. Reports come more than once, and late:
  // one that is older than what is known changes nothing. Without it, a person has the last word.
  std::optional<WallTime> reported{};
  // The report does not say since when: `reported` is when it was stored, and newer in each repeat.
  bool undated = false;
  std::string traceparent{};  // of the report's message; may be empty
};
struct FindDevice {
  DeviceHash hash{};
};

struct Resolved {
  std::string refused{};  // why nothing was changed; empty: it was done
  State state = State::waiting;
  Effect effect = Effect::not_sent;
  std::uint32_t revision = 0;
  WallTime deadline{};
};

struct FoundDevice {
  std::optional<DeviceRow> row{};  // of SetDevice: as it was before
  bool changed = false;            // by SetDevice
};

}  // namespace sendonce
