// How one batch gets to the disk, whatever it takes: recovery when nobody knows what is there,
// small transactions when there is no room. The ledger thread and the simulator step the same code.
#pragma once

#include <set>
#include <span>
#include <vector>

#include "ledger/ledger.hpp"
#include "ledger/ledger_lane.hpp"
#include "plugin/core/clock.hpp"

namespace sendonce {

class Committer {
 public:
  // Both are borrowed; nobody else calls commit() or recover() of `ledger`.
  Committer(Ledger& ledger, const Clock& clock) : ledger_(ledger), clock_(clock) {}

  // Appends a reply for every request (ledger_lane.hpp says what an error among them means). An
  // error: the ledger is lost for good.
  [[nodiscard]] Result<void> commit(std::span<const TicketedRequest> batch,
                                    std::vector<LaneReply>& replies);

 private:
  // False: there is no room, and nothing was changed by the last try.
  Result<bool> commit_or_recover(std::span<const TicketedRequest> batch,
                                 std::vector<LaneReply>& replies);
  Result<void> commit_short_of_room(std::span<const TicketedRequest> batch,
                                    std::vector<LaneReply>& replies);

  Ledger& ledger_;
  const Clock& clock_;
  // Claims that may be durable: their commit failed with its result unknown, and there was no room
  // to send it again. Few, and gone when they are answered.
  std::set<Ticket> in_doubt_{};
};

}  // namespace sendonce
