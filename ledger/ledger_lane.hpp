// The asynchronous lane to a ledger, as the engine sees it: hand over requests, collect replies.
//
// Every submitted ticket is answered exactly once, after the transaction that holds its effect is
// durable. Requests of one submit() stay in order; requests for one key take effect in the order in
// which they were submitted.
//
// An error reply means: not done, nothing was changed, and it may be submitted again. Its code is
// always `exhausted` (map or disk full). Claims that are not taken while the ledger is short of
// room are answered `Stopped`, not with an error. A ledger that is lost for good answers nothing
// more; the owner of the lane is told (LedgerThreadOptions::fatal) and ends the module.
#pragma once

#include <vector>

#include "ledger/ledger.hpp"
#include "plugin/core/error.hpp"

namespace sendonce {

struct LaneReply {
  Ticket ticket{};
  Result<LedgerReply> reply{};  // error: exhausted (not done, may be sent again)
};

class LedgerLane {
 public:
  virtual ~LedgerLane() = default;

  // Never blocks. Called by one thread, which is the one that calls take(). Leaves `batch` empty,
  // with the memory of an earlier one where the lane has any.
  virtual void submit(std::vector<TicketedRequest>&& batch) = 0;

  // Appends what has been answered since the last call. Never blocks. An empty vector's memory
  // may go to the lane.
  virtual void take(std::vector<LaneReply>& replies) = 0;

  // As of the last commit. Any thread.
  [[nodiscard]] virtual LedgerStats stats() const = 0;
};

}  // namespace sendonce
