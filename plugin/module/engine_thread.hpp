// The engine's thread in production: steps it, runs what others have for it in between, and keeps a
// copy of its report for them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "plugin/core/clock.hpp"
#include "plugin/pipeline/engine.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

class EngineThread {
 public:
  // All are borrowed and outlive it. Clock for liveness only.
  EngineThread(Engine& engine, Transport& transport, const Clock& clock)
      : engine_(engine), transport_(transport), clock_(clock) {}
  ~EngineThread() { stop(); }
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  void start();
  void stop();  // joins; no drain

  // Runs `job` on the engine thread, between two cycles, and waits for its end. unavailable: the
  // engine did not get to it within `within`; then it is not run at all. Any thread.
  [[nodiscard]] Result<void> run(std::function<void(Engine&)> job, Duration within);
  // Engine::held, as of now; nothing, when the engine does not answer in time. One thread.
  [[nodiscard]] std::vector<HeldReport> held(LookupHash event, Duration within);
  // A person's request to the ledger. unavailable: no answer in time; it may still be carried out,
  // and asking again does no harm. Any thread.
  [[nodiscard]] Result<LedgerReply> ask(LedgerRequest request, Duration within);
  // As of at most a second ago; after refresh(), as of now, unless the engine is stuck.
  [[nodiscard]] EngineReport report() const;
  void refresh(Duration within);
  // It has gone through a cycle within the last `within`.
  [[nodiscard]] bool makes_progress(Duration within) const;
  // Waits until drained() or the time is up.
  [[nodiscard]] bool wait_drained(Duration timeout);

 private:
  void loop();
  [[nodiscard]] bool done_within(std::uint64_t number, Duration within);
  [[nodiscard]] std::uint64_t post(std::function<void(Engine&)> job);
  void run_jobs();
  void publish_report();
  void hand_out_answers();

  Engine& engine_;
  Transport& transport_;
  const Clock& clock_;
  mutable std::mutex mutex_{};
  std::condition_variable changed_{};
  struct Job {
    std::uint64_t number = 0;
    std::function<void(Engine&)> work{};
  };
  std::vector<Job> jobs_{};
  std::uint64_t jobs_done_ = 0;  // the number of the latest
  std::uint64_t jobs_posted_ = 0;
  EngineReport report_{};
  std::vector<HeldReport> held_{};                                       // of the latest question
  std::map<std::uint64_t, std::optional<Result<LedgerReply>>> asked_{};  // who waits for an answer
  std::uint64_t last_asked_ = 0;
  MonoTime reported_{};
  bool drained_ = false;
  bool running_ = false;
  std::atomic<std::int64_t> beat_{0};  // mono time of the last cycle
  std::thread thread_{};
};

}  // namespace sendonce
