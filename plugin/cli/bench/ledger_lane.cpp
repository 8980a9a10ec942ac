#include "plugin/cli/bench/ledger_lane.hpp"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <sys/prctl.h>

#include "ledger/ledger_thread.hpp"

namespace sendonce::cli {
namespace {

constexpr Duration kPatience = std::chrono::seconds(10);

// The driver's end of a ledger thread.
class Lane {
 public:
  Lane(OwnStore& store, const Clock& clock, Duration linger)
      : store_(store),
        clock_(clock),
        thread_(store.ledger(), clock,
                {.linger = linger,
                 .wake = [this] { notify(false); },
                 .fatal = [this](const Error&) { notify(true); }}) {}

  // One key each; `due` is what its latency counts from.
  void submit(std::uint64_t number, MonoTime due) {
    due_.push_back(due);
    std::vector<TicketedRequest> one;
    one.push_back({.ticket = Ticket(due_.size() - 1), .request = store_.claim(number)});
    thread_.submit(std::move(one));
  }

  // Waits for replies and takes them; how many.
  Result<std::size_t> take(Duration patience) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, patience, [this] { return woken_ || lost_; });
      woken_ = false;
      if (lost_) return fail(Errc::internal, "bench: the ledger is lost");
    }
    replies_.clear();
    thread_.take(replies_);
    const MonoTime now = clock_.mono();
    for (const LaneReply& reply : replies_) {
      if (!reply.reply || !std::holds_alternative<Claimed>(std::get<ClaimReply>(*reply.reply)))
        return fail(Errc::internal, "bench: a new key was not claimed");
      const Duration took = now - due_[reply.ticket.get()];
      took_us_.push_back(std::chrono::duration<double, std::micro>(took).count());
    }
    return replies_.size();
  }

  [[nodiscard]] LaneFigure figure(double seconds) {
    LaneFigure f{.rate = static_cast<double>(took_us_.size()) / seconds};
    if (took_us_.empty()) return f;
    std::ranges::sort(took_us_);
    f.p50_us = took_us_[took_us_.size() / 2];
    f.p99_us = took_us_[took_us_.size() * 99 / 100];
    return f;
  }

 private:
  void notify(bool lost) {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    lost_ = lost_ || lost;
    changed_.notify_one();
  }

  OwnStore& store_;
  const Clock& clock_;
  std::mutex mutex_{};
  std::condition_variable changed_{};
  bool woken_ = false;
  bool lost_ = false;
  std::vector<MonoTime> due_{};
  std::vector<LaneReply> replies_{};
  std::vector<double> took_us_{};
  LedgerThread thread_;  // last: it calls notify()
};

}  // namespace

Result<LaneFigure> closed_loop(OwnStore& store, std::uint64_t& next, std::size_t producers,
                               double seconds) {
  const auto clock = make_system_clock();
  Lane lane(store, *clock, LedgerThreadOptions{}.linger);
  const MonoTime start = clock->mono();
  for (std::size_t i = 0; i < producers; ++i) lane.submit(next++, start);
  std::chrono::duration<double> elapsed{};
  for (;;) {
    SO_TRY(const std::size_t answered, lane.take(kPatience));
    elapsed = clock->mono() - start;
    if (elapsed.count() >= seconds) break;
    const MonoTime now = clock->mono();
    for (std::size_t i = 0; i < answered; ++i) lane.submit(next++, now);
  }
  return lane.figure(elapsed.count());
}

Result<LaneFigure> open_loop(OwnStore& store, std::uint64_t& next, double rate, double seconds) {
  // Else the kernel may wake us up to 50 us late, half of the interval.
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  const auto clock = make_system_clock();
  Lane lane(store, *clock, Duration::zero());
  const auto interval =
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(1) / rate);
  const auto length = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  const MonoTime start = clock->mono();
  MonoTime due = start;
  for (;;) {
    const MonoTime now = clock->mono();
    for (; due <= now; due += interval) lane.submit(next++, due);
    if (now - start >= length) break;
    SO_TRY(const std::size_t answered, lane.take(std::max(due - clock->mono(), Duration(1))));
    static_cast<void>(answered);
  }
  ::prctl(PR_SET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL);  // as it was
  return lane.figure(seconds);
}

}  // namespace sendonce::cli
