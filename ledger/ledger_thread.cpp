#include "ledger/ledger_thread.hpp"

#include <algorithm>
#include <csignal>
#include <iterator>
#include <utility>

#include <pthread.h>

namespace sendonce {
namespace {

// A commit with no more than this many requests was not under load: the next does not linger.
constexpr std::size_t kTrickle = 2;
// Lingering goes on in slices for as long as each brings something new.
constexpr int kLingerSlices = 6;
// Batches are large enough for malloc to fetch each from the kernel and give it back.
constexpr std::size_t kSparesKept = 4;

}  // namespace

LedgerThread::LedgerThread(Ledger& ledger, const Clock& clock, LedgerThreadOptions options)
    : ledger_(ledger),
      clock_(clock),
      committer_(ledger, clock),
      options_(std::move(options)),
      stats_(ledger.stats()),
      thread_([this] { run(); }) {}

LedgerThread::~LedgerThread() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
  thread_.join();
}

void LedgerThread::submit(std::vector<TicketedRequest>&& batch) {
  if (batch.empty()) return;
  bool notify = false;
  {
    const std::scoped_lock lock(mutex_);
    queued_ += batch.size();
    queue_.push_back(std::move(batch));
    batch.clear();
    if (!spare_.empty()) {
      batch = std::move(spare_.back());
      spare_.pop_back();
    }
    // A thread that lingers looks again by itself, unless there is more than it wants.
    notify = std::exchange(waiting_, false) || queued_ >= options_.batch_max;
  }
  if (notify) work_.notify_one();
}

void LedgerThread::take(std::vector<LaneReply>& replies) {
  const std::scoped_lock lock(mutex_);
  if (replies.empty()) {
    replies.swap(replies_);
  } else {
    std::ranges::move(replies_, std::back_inserter(replies));
    replies_.clear();
  }
}

LedgerStats LedgerThread::stats() const {
  const std::scoped_lock lock(mutex_);
  return stats_;
}

void LedgerThread::run() {
  // Signals are the host's business.
  sigset_t all{};
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  for (;;) {
    std::vector<TicketedRequest> batch;
    if (!next_batch(batch) || !commit(batch)) return;
    last_batch_ = batch.size();
    keep_for_reuse(std::move(batch));
  }
}

void LedgerThread::keep_for_reuse(std::vector<TicketedRequest>&& batch) {
  batch.clear();  // not under the lock: it destroys what the requests own
  const std::scoped_lock lock(mutex_);
  if (spare_.size() < kSparesKept) spare_.push_back(std::move(batch));
}

bool LedgerThread::next_batch(std::vector<TicketedRequest>& batch) {
  std::size_t size = 0;
  {
    std::unique_lock lock(mutex_);
    while (queue_.empty() && !stopping_) {
      waiting_ = true;
      work_.wait(lock);
    }
    waiting_ = false;
    if (last_batch_ > kTrickle) linger(lock);
    auto end = queue_.begin();
    while (end != queue_.end() && size < options_.batch_max) size += (end++)->size();
    taken_.assign(std::move_iterator(queue_.begin()), std::move_iterator(end));
    queue_.erase(queue_.begin(), end);
    queued_ -= size;
  }
  for (std::vector<TicketedRequest>& part : taken_) {
    if (batch.empty()) {
      batch = std::move(part);
      batch.reserve(size);
    } else {
      std::ranges::move(part, std::back_inserter(batch));
      keep_for_reuse(std::move(part));
    }
  }
  taken_.clear();
  return !batch.empty();
}

void LedgerThread::linger(std::unique_lock<std::mutex>& lock) {
  if (options_.linger <= Duration::zero()) return;
  const Duration slice = options_.linger / kLingerSlices;
  for (int i = 0; i < kLingerSlices; ++i) {
    const std::size_t before = queued_;
    if (stopping_ || before >= options_.batch_max) return;
    work_.wait_for(lock, slice);
    if (queued_ == before) return;
  }
}

// False: the ledger is lost, and `fatal` has been told.
bool LedgerThread::commit(const std::vector<TicketedRequest>& batch) {
  answered_.clear();
  const MonoTime begun = clock_.mono();
  if (const auto done = committer_.commit(batch, answered_); !done) {
    if (options_.fatal) options_.fatal(done.error());
    return false;
  }
  commits_.observe(clock_.mono() - begun);
  hand_back();
  return true;
}

void LedgerThread::hand_back() {
  {
    const std::scoped_lock lock(mutex_);
    stats_ = ledger_.stats();
    stats_.commits = commits_;
    if (replies_.empty()) {
      replies_.swap(answered_);
    } else {
      std::ranges::move(answered_, std::back_inserter(replies_));
    }
  }
  if (options_.wake) options_.wake();
}

}  // namespace sendonce
