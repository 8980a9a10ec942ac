#include "plugin/module/engine_thread.hpp"

#include <utility>

#include "plugin/core/thread.hpp"

namespace sendonce {
namespace {

constexpr Duration kPollWait = std::chrono::seconds(1);
constexpr Duration kReportEvery = std::chrono::milliseconds(250);

}  // namespace

void EngineThread::start() {
  SO_ASSERT(!thread_.joinable());
  running_ = true;
  publish_report();
  beat_ = clock_.mono().time_since_epoch().count();
  thread_ = start_thread("so-engine", [this] { loop(); });
}

void EngineThread::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    running_ = false;
  }
  transport_.wake();
  thread_.join();
}

void EngineThread::loop() {
  for (;;) {
    engine_.poll(kPollWait);
    const MonoTime now = clock_.mono();
    beat_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    run_jobs();
    hand_out_answers();
    const bool drained = engine_.drained();
    if (now - reported_ >= kReportEvery || drained != drained_) publish_report();
    const std::lock_guard lock(mutex_);
    if (!running_) return;
  }
}

void EngineThread::run_jobs() {
  std::vector<Job> jobs;
  {
    const std::lock_guard lock(mutex_);
    jobs.swap(jobs_);
  }
  if (jobs.empty()) return;
  for (const Job& job : jobs) job.work(engine_);
  publish_report();
  const std::lock_guard lock(mutex_);
  jobs_done_ = jobs.back().number;
  changed_.notify_all();
}

void EngineThread::publish_report() {
  EngineReport report = engine_.report();
  const bool drained = engine_.drained();
  const std::lock_guard lock(mutex_);
  report_ = std::move(report);
  reported_ = clock_.mono();
  drained_ = drained;
  changed_.notify_all();
}

std::uint64_t EngineThread::post(std::function<void(Engine&)> job) {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = ++jobs_posted_;
    jobs_.push_back({.number = number, .work = std::move(job)});
  }
  transport_.wake();
  return number;
}

Result<void> EngineThread::run(std::function<void(Engine&)> job, Duration within) {
  const std::uint64_t number = post(std::move(job));
  std::unique_lock lock(mutex_);
  const auto done = [&] { return jobs_done_ >= number; };
  if (changed_.wait_for(lock, within, done)) return {};
  // What it refers to lives no longer than this call.
  if (std::erase_if(jobs_, [&](const Job& j) { return j.number == number; }) > 0)
    return fail(Errc::unavailable, "the engine did not get to it in time: nothing was done");
  changed_.wait(lock, done);
  return {};
}

bool EngineThread::done_within(std::uint64_t number, Duration within) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, within, [&] { return jobs_done_ >= number; });
}

void EngineThread::refresh(Duration within) {
  (void)done_within(post([](Engine&) {}), within);
}

// A question that was given up may still be answered, so the answer has its place here.
std::vector<HeldReport> EngineThread::held(LookupHash event, Duration within) {
  const std::uint64_t number = post([this, event](Engine& engine) {
    std::vector<HeldReport> found = engine.held(event);
    const std::lock_guard lock(mutex_);
    held_ = std::move(found);
  });
  if (!done_within(number, within)) return {};
  const std::lock_guard lock(mutex_);
  return std::exchange(held_, {});
}

Result<LedgerReply> EngineThread::ask(LedgerRequest request, Duration within) {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = ++last_asked_;
    asked_.emplace(number, std::nullopt);
  }
  static_cast<void>(post([number, request](Engine& engine) { engine.ask(number, request); }));
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, within, [&] { return asked_.at(number).has_value(); });
  std::optional<Result<LedgerReply>> reply = std::move(asked_.at(number));
  asked_.erase(number);
  if (reply) return *std::move(reply);
  return fail(Errc::unavailable, "the ledger did not answer in time: ask again");
}

void EngineThread::hand_out_answers() {
  std::vector<Engine::Asked> answers = engine_.take_asked();
  if (answers.empty()) return;
  const std::lock_guard lock(mutex_);
  for (Engine::Asked& a : answers)
    if (const auto waits = asked_.find(a.number); waits != asked_.end())
      waits->second = std::move(a.reply);
  changed_.notify_all();
}

EngineReport EngineThread::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

bool EngineThread::makes_progress(Duration within) const {
  const MonoTime beat{Duration(beat_.load(std::memory_order_relaxed))};
  return clock_.mono() - beat <= within;
}

bool EngineThread::wait_drained(Duration timeout) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, timeout, [&] { return drained_; });
}

}  // namespace sendonce
