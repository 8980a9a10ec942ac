// The lane of production: one thread that owns a ledger's commits.
//
// Batching is natural: while one commit is on its way to the disk, requests queue, and the next
// takes all of them. Under load the thread lingers for some milliseconds to take more at once,
// which halves its CPU; when single requests trickle in it does not.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "ledger/committer.hpp"
#include "ledger/ledger_lane.hpp"
#include "plugin/core/clock.hpp"

namespace sendonce {

struct LedgerThreadOptions {
  Duration linger = std::chrono::milliseconds(3);  // at most; 0: never
  std::size_t batch_max = 4000;                    // requests a commit, give or take one submit()
  // Replies are ready for take(). On the ledger thread, once a batch; must not block.
  std::function<void()> wake{};
  // The ledger is lost for good; nothing more will be answered. On the ledger thread, once.
  std::function<void(const Error&)> fatal{};
};

class LedgerThread final : public LedgerLane {
 public:
  // Starts the thread. `ledger` and `clock` outlive it, and nobody else calls commit() or recover()
  // from now on.
  LedgerThread(Ledger& ledger, const Clock& clock, LedgerThreadOptions options);
  // Commits what has been submitted, then joins.
  ~LedgerThread() override;

  void submit(std::vector<TicketedRequest>&& batch) override;
  void take(std::vector<LaneReply>& replies) override;
  [[nodiscard]] LedgerStats stats() const override;

 private:
  void run();
  // Waits for work, lingers, and takes it into `batch`. False: stop.
  [[nodiscard]] bool next_batch(std::vector<TicketedRequest>& batch);
  void linger(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] bool commit(const std::vector<TicketedRequest>& batch);
  void hand_back();
  void keep_for_reuse(std::vector<TicketedRequest>&& batch);

  Ledger& ledger_;
  const Clock& clock_;
  Committer committer_;
  const LedgerThreadOptions options_;

  mutable std::mutex mutex_{};  // guards what follows
  std::condition_variable work_{};
  std::vector<std::vector<TicketedRequest>> queue_{};
  std::size_t queued_ = 0;  // requests in it
  bool waiting_ = false;    // the thread has nothing to do
  bool stopping_ = false;
  std::vector<LaneReply> replies_{};
  std::vector<std::vector<TicketedRequest>> spare_{};  // empty, with memory, for submit()
  LedgerStats stats_{};

  // The thread's own.
  std::size_t last_batch_ = 0;
  DurationHistogram commits_{};
  std::vector<std::vector<TicketedRequest>> taken_{};
  std::vector<LaneReply> answered_{};
  std::thread thread_;
};

}  // namespace sendonce
