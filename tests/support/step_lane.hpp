// A ledger's lane that is stepped by hand, as the fakes of fakes.hpp are.
#pragma once

#include <utility>
#include <vector>

#include "ledger/ledger_lane.hpp"
#include "plugin/core/clock.hpp"

namespace sendonce::test {

// A ledger behind the lane without a thread: commits when the engine submits.
class StepLane final : public LedgerLane {
 public:
  StepLane(Ledger& ledger, const Clock& clock) : ledger_(ledger), clock_(clock) {}

  void submit(std::vector<TicketedRequest>&& batch) override {
    Result<std::vector<TicketedReply>> replies = fail(Errc::exhausted, "full");
    if (!full) replies = ledger_.commit(batch, clock_.wall());
    for (const TicketedRequest& r : batch)
      if (!replies) replies_.push_back({r.ticket, std::unexpected(replies.error())});
    if (!replies) return;
    for (TicketedReply& r : *replies) replies_.push_back({r.ticket, std::move(r.reply)});
  }
  void take(std::vector<LaneReply>& replies) override {
    for (LaneReply& r : replies_) replies.push_back(std::move(r));
    replies_.clear();
  }
  [[nodiscard]] LedgerStats stats() const override { return ledger_.stats(); }

  bool full = false;  // nothing can be written

 private:
  Ledger& ledger_;
  const Clock& clock_;
  std::vector<LaneReply> replies_{};
};

}  // namespace sendonce::test
