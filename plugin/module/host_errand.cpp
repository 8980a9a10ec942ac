#include "plugin/module/host_errand.hpp"

#include "plugin/core/assert.hpp"

namespace sendonce {

Result<void> HostErrand::ask(Duration patience) {
  std::unique_lock lock(mutex_);
  if (!open_) return fail(Errc::unavailable, "not running");
  SO_ASSERT(step_ == Step::none);
  step_ = Step::wanted;
  changed_.wait_for(lock, patience, [this] { return !open_ || step_ != Step::wanted; });
  // Once it is under way its end is worth waiting for: who asked must learn what is in force.
  changed_.wait(lock, [this] { return step_ != Step::taken; });
  const bool done = step_ == Step::done;
  step_ = Step::none;
  if (done) return std::move(outcome_);
  return fail(Errc::unavailable,
              open_ ? "the host did not get to it in time: nothing was done" : "about to stop");
}

bool HostErrand::serve(const std::function<Result<void>()>& work) {
  {
    const std::lock_guard lock(mutex_);
    if (step_ != Step::wanted) return false;
    step_ = Step::taken;
  }
  // By an exception too: who asked waits for an end.
  struct Ending {
    HostErrand& errand;
    Result<void> outcome = fail(Errc::internal, "it ended by an exception");
    ~Ending() { errand.finish(std::move(outcome)); }
  } ending{*this};
  ending.outcome = work();
  return true;
}

void HostErrand::finish(Result<void>&& outcome) {
  const std::lock_guard lock(mutex_);
  outcome_ = std::move(outcome);
  step_ = Step::done;
  changed_.notify_all();
}

void HostErrand::open() {
  const std::lock_guard lock(mutex_);
  open_ = true;
}

void HostErrand::close() {
  const std::lock_guard lock(mutex_);
  open_ = false;
  changed_.notify_all();
}

}  // namespace sendonce
