// The lane to the ledger without its thread: production's committer, stepped by simulated time.
// While a commit is on its way to the disk, requests queue; the next takes all of them.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "ledger/committer.hpp"
#include "ledger/ledger_lane.hpp"
#include "tests/simulation/laws.hpp"
#include "tests/simulation/network.hpp"
#include "tests/simulation/world.hpp"

namespace sendonce::sim {

struct LaneOptions {
  Duration latency = std::chrono::milliseconds(2);
  double crash_before = 0;  // of one commit
  double crash_after = 0;
};

class DiskLane final : public LedgerLane {
 public:
  // `present` gives the ledger of the process that owns it now, for one that lost it.
  DiskLane(World& world, Ledger& ledger, LawBook& book, LaneOptions options,
           std::shared_ptr<Life> life, std::function<Ledger*()> present);

  void submit(std::vector<TicketedRequest>&& batch) override;
  void take(std::vector<LaneReply>& replies) override;
  [[nodiscard]] LedgerStats stats() const override { return stats_; }

  void stop_faults() { options_.crash_before = options_.crash_after = 0; }
  // The process is gone; a commit that was on its way may have arrived or not.
  void process_died();

 private:
  void begin();
  void finish();
  void submit_late(const std::vector<TicketedRequest>& batch);

  World& world_;
  Ledger& ledger_;
  LawBook& book_;
  LaneOptions options_;
  std::shared_ptr<Life> life_;
  std::function<Ledger*()> present_;
  Committer committer_;
  std::vector<TicketedRequest> queued_{};
  std::vector<TicketedRequest> on_its_way_{};
  std::vector<LaneReply> replies_{};
  LedgerStats stats_{};
};

}  // namespace sendonce::sim
