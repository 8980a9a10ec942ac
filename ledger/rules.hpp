// The rules of the ledger (docs/guarantees.md): pure functions from a row, a request and the time
// to a reply and the row to store. Every ledger applies these and nothing else, so that the
// simulator's memory ledger and the LMDB ledger cannot disagree.
//
// Each function takes the row as found, uses it up, and says in `write` what has to be stored.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ledger/device.hpp"
#include "ledger/ledger.hpp"
#include "ledger/row.hpp"

namespace sendonce {

// Bounds of what a row stores; longer text is cut.
inline constexpr std::size_t kReasonMax = 120;
inline constexpr std::size_t kMessageIdMax = 160;
inline constexpr std::size_t kRefMax = 64;
inline constexpr std::size_t kNameMax = 64;

// Providers' text is not to be trusted in logs and JSON: printable ASCII, at most `max` bytes.
[[nodiscard]] std::string printable(std::string_view text, std::size_t max);

struct RuleContext {
  WallTime now{};
  Incarnation incarnation{};
  Fence next_fence{};  // used up by a decision whose reply is Claimed with this fence
};

// What a claim has to know beside its row.
struct ClaimFacts {
  std::optional<DeviceRow> device{};
  std::optional<DeviceBinding> binding{};  // looked up unless reuse is allowed
  std::optional<WallTime> adopted_at{};
  bool claims_stopped = false;
};

struct ClaimDecision {
  ClaimReply reply{};
  std::optional<Row> write{};
  bool event = false;  // the row ended: an outcome event is due
  bool fence_used = false;
  bool reused = false;  // the device belongs to another recipient, whatever is done about it
};
[[nodiscard]] ClaimDecision decide_claim(std::optional<Row>&& found, const ClaimRequest& request,
                                         Ticket ticket, const ClaimFacts& facts,
                                         const RuleContext& context);

struct SettleDecision {
  Settled reply{};
  std::optional<Row> write{};
  bool event = false;
};
[[nodiscard]] SettleDecision decide_settle(std::optional<Row>&& found, const Settlement& settlement,
                                           const RuleContext& context);

// The row with its copy marked as confirmed; empty when nothing was owed.
[[nodiscard]] std::optional<Row> decide_dead_letter_done(std::optional<Row> found);

struct SweepDecision {
  std::optional<Row> write{};
  bool event = false;
  bool ended = false;
  bool lost_dead_letter = false;
};
// `memory_now` is the clock by which memory is forgotten (law 13), never ahead of the wall clock.
[[nodiscard]] SweepDecision decide_sweep(Row row, WallTime memory_now, const RuleContext& context);

// What happens to `row` by itself and when (law 9); empty: nothing but the end of its retention, or
// it is claimed by this incarnation, which settles it.
[[nodiscard]] std::optional<WallTime> due_time(const Row& row, Incarnation incarnation);

// May the row be forgotten at `memory_now`?
[[nodiscard]] bool may_forget(State state, DeadLetter dead_letter, WallTime keep_until,
                              WallTime memory_now);

struct DeviceDecision {
  std::optional<DeviceRow> write{};  // with a device event
};
[[nodiscard]] DeviceDecision decide_device(const std::optional<DeviceRow>& found,
                                           const Settlement& settlement);

}  // namespace sendonce
