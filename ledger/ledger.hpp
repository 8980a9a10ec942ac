// The ledger port: who may send a key now, and what became of it.
//
// commit() takes a batch of requests and applies all of them in one durable transaction, in order:
// each request sees what the earlier ones of the same batch have done. When commit() returns, the
// replies survive a crash of process and host. An error means that no reply holds:
//   exhausted    the batch was refused and changed nothing (map full, disk full); later may do
//   unavailable  nobody knows what is on disk: call recover(), then send the same batch again.
//                Claims and settlements may be repeated safely (same ticket, same fence).
//   corrupt      stop
// One thread calls commit() and recover(). The rules themselves are pure functions (rules.hpp),
// shared by every implementation; tests/contract runs one suite against all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ledger/binding.hpp"
#include "ledger/decisions.hpp"
#include "ledger/row.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/histogram.hpp"
#include "plugin/core/ids.hpp"

namespace sendonce {

// ---- requests ------------------------------------------------------------------------------

// The rules about devices need what the claim is about.
struct DeviceClaim {
  DeviceHash hash{};
  std::optional<WallTime> registered_at{};
  Reuse reuse = Reuse::allow;
  std::string_view kind{};  // of its provider, unless reuse is allowed; storage that stays
};

struct ClaimRequest {
  ScopeIndex scope{};
  Key key{};
  std::optional<Key> previous_key{};  // under `key_previous`: a hit on either answers
  Nid nid{};
  LookupHash event{};
  LookupHash recipient{};
  LookupHash campaign{};
  Fingerprint fingerprint{};
  Duration lease{};
  Duration retention{};
  WallTime stored_at{};  // of the message; also what law 13's second clock is fed with
  WallTime deadline{};   // min(expires_at, stored_at + the class's `expires`)
  std::string message_class{};
  std::string provider{};
  std::string ref{};
  std::optional<DeviceClaim> device{};
  // For the outcome event of a suppressed target; not stored in the row.
  std::string event_id{};
  std::string traceparent{};  // of the message; may be empty
  // Not empty: no attempt can ever be made (the payload is at fault, and this says why). The claim
  // ends the row: failed with its dead letter due, or unknown when an earlier attempt may have
  // sent.
  std::string refused{};
  RequestHash request{};  // of the call that would follow; kept while nothing may have been sent
  // The class looks when in doubt: for so long after its deadline a row in doubt can be claimed to
  // ask what became of it. Zero: nobody can be asked.
  Duration look_for{0};
};

// The engine's decision about an attempt (or about a claim that it will not follow up).
struct Settlement {
  ScopeIndex scope{};
  Key key{};
  Fence fence{};
  State state = State::waiting;  // waiting or an ending; never claimed
  Verdict verdict{};
  WallTime next_at{};  // with waiting
  bool counted = false;
  bool attempted = true;     // false: the claim was given back, or ended without a call
  bool dead_letter = false;  // with failed: the payload's copy is owed
  Duration retention{};
  bool exceptional_only = false;  // events = "exceptions": an accepted outcome makes no event
  std::string event_id{};
  std::string traceparent{};  // of the message, for the event; may be empty
  // With a fault of its device, or a mismatch, that passed the rules of pipeline/hygiene.hpp.
  struct DeviceChange {
    DeviceHash hash{};
    std::string kind{};    // provider kind, for the subject
    std::string change{};  // invalid | mismatch
    std::optional<WallTime> registered_at{};
    WallTime called{};  // when the call began: the answer is about registrations of before
  };
  std::optional<DeviceChange> device{};
  std::optional<Bind> bind{};  // whose the device is, if this says that a send was accepted
};

// The copy of a dead letter has been confirmed by its stream.
struct DeadLetterDone {
  ScopeIndex scope{};
  Key key{};
};

struct OutboxRead {
  OutboxSeq after{};  // entries with a greater sequence
  std::size_t max_entries = 64;
};

struct OutboxRemove {  // confirmed by the outcome stream
  std::vector<OutboxSeq> entries{};
};

// Ends rows whose time has come although their message never came back (law 9), marks dead letters
// that can no longer be copied as lost, and deletes rows that have outlived their retention.
struct Sweep {
  std::size_t max_rows = 1000;
};

struct Find {
  ScopeIndex scope{};
  Key key{};
};

using LedgerRequest =
    std::variant<ClaimRequest, Settlement, DeadLetterDone, OutboxRead, OutboxRemove, Sweep, Find,
                 Resolve, SetDevice, FindDevice, NoteAudit, AuditRead>;

struct TicketedRequest {
  Ticket ticket{};
  LedgerRequest request{};
};

// ---- replies -------------------------------------------------------------------------------

struct Claimed {
  Fence fence{};
  Effect carried = Effect::not_sent;   // what earlier attempts may have caused
  std::uint16_t attempts = 0;          // counted so far, a stale claim included
  bool taken_over = false;             // from a claim that was never settled
  RequestHash request{};               // of the first call that may have been sent
  bool receipt_missing = false;        // an earlier 2xx came without its receipt (law 6)
  WallTime deadline{WallTime::max()};  // the row's; a later duplicate has a later one of its own
  WallTime created{};                  // of the row: no call came before
  std::string provider{};              // with a doubt: by whom it may have been sent, if known
  bool reused = false;                 // the device is bound to another recipient
};
struct Busy {
  WallTime until{};
};
struct Waiting {
  WallTime until{};
};
struct Done {
  State state = State::accepted;
  Effect effect = Effect::not_sent;
  std::uint32_t revision = 0;
  bool suppressed_now = false;  // this very claim ended the row (dead device, expired)
};
struct Conflict {};  // same key, other content (law 10)
struct DeadLetterDue {
  std::string reason{};
  bool ended_now = false;  // this very claim ended the row
};
struct Stopped {};  // no new claims: the map or the disk runs full; ask again later
using ClaimReply = std::variant<Claimed, Busy, Waiting, Done, Conflict, DeadLetterDue, Stopped>;

struct Settled {
  bool fenced = false;           // an older fence: its knowledge was kept, nothing else
  State state = State::waiting;  // as the row now stands
  Effect effect = Effect::not_sent;
  WallTime next_at{};
  bool dead_letter_due = false;
};

struct OutboxEntry {
  OutboxSeq seq{};
  WallTime created{};
  std::string subject{};
  std::string body{};  // a CloudEvents batch
};
struct OutboxPage {
  std::vector<OutboxEntry> entries{};
};

struct Swept {
  std::size_t ended = 0;
  std::size_t expired = 0;
  std::size_t lost_dead_letters = 0;
  std::optional<WallTime> next_due{};  // when the next row is due, as far as known
};

struct Removed {};  // of OutboxRemove and DeadLetterDone
struct Found {
  std::unique_ptr<Row> row{};  // null: none. Apart, since a row would make every reply large
};

using LedgerReply = std::variant<ClaimReply, Settled, Removed, OutboxPage, Swept, Found, Resolved,
                                 FoundDevice, AuditNoted, AuditPage>;

struct TicketedReply {
  Ticket ticket{};
  LedgerReply reply{};
};

// ---- state that health and limits need -----------------------------------------------------

struct LedgerStats {
  std::uint64_t rows = 0;
  std::uint64_t open_rows = 0;  // not ended
  std::uint64_t outbox_entries = 0;
  std::optional<WallTime> outbox_oldest{};
  OutboxSeq outbox_last{};
  std::uint64_t used_bytes = 0;
  std::uint64_t map_bytes = 0;
  bool claims_stopped = false;  // 85 % of the map, or the disk runs low
  DurationHistogram commits{};  // of a lane that waits for them
};

class Ledger {
 public:
  virtual ~Ledger() = default;

  // `now` is the wall clock of the caller. Blocks for one or two disk flushes.
  [[nodiscard]] virtual Result<std::vector<TicketedReply>> commit(
      std::span<const TicketedRequest> batch, WallTime now) = 0;

  // After `unavailable`: closes, reopens and rebuilds. Fails `corrupt` or `unavailable` for good.
  [[nodiscard]] virtual Result<void> recover() = 0;

  [[nodiscard]] virtual const LedgerStats& stats() const = 0;  // as of the last commit
  [[nodiscard]] virtual Incarnation incarnation() const = 0;
  [[nodiscard]] virtual const std::string& id() const = 0;  // random, made by create
};

}  // namespace sendonce
