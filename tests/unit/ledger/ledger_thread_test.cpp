#include "ledger/ledger_thread.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>

#include <gtest/gtest.h>

#include "ledger/lmdb/open.hpp"
#include "ledger/memory/memory_ledger.hpp"
#include "plugin/core/clock.hpp"
#include "tests/contract/ledger_rig.hpp"

namespace sendonce::test {
namespace {

using std::chrono::seconds;

class FixedClock final : public Clock {
 public:
  [[nodiscard]] WallTime wall() const override { return kNoon; }
  [[nodiscard]] MonoTime mono() const override { return MonoTime{}; }
};

// A ledger whose commits can be held up and made to fail.
class Gate {
 public:
  void close() {
    const std::scoped_lock lock(mutex_);
    open_ = false;
  }
  void open() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void fail(CommitStage stage, Errc code, int times) {
    const std::scoped_lock lock(mutex_);
    faults_.insert(faults_.end(), static_cast<std::size_t>(times), {stage, code});
  }
  CommitFault fault() {
    return [this](CommitStage stage) -> std::optional<Errc> {
      std::unique_lock lock(mutex_);
      if (stage == CommitStage::write) {
        ++commits_;
        changed_.notify_all();
        changed_.wait(lock, [this] { return open_; });
      }
      if (faults_.empty() || stage != faults_.front().first) return std::nullopt;
      const Errc code = faults_.front().second;
      faults_.pop_front();
      return code;
    };
  }
  void wait_for_commits(int n) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, seconds(20), [&] { return commits_ >= n; }));
  }
  int commits() {
    const std::scoped_lock lock(mutex_);
    return commits_;
  }

 private:
  std::mutex mutex_{};
  std::condition_variable changed_{};
  bool open_ = true;
  int commits_ = 0;
  std::deque<std::pair<CommitStage, Errc>> faults_{};
};

class LedgerThreadTest : public testing::Test {
 protected:
  void start(std::size_t batch_max = 4000) {
    lane_ = std::make_unique<LedgerThread>(
        ledger_, clock_,
        LedgerThreadOptions{.linger = std::chrono::milliseconds(3),
                            .batch_max = batch_max,
                            .wake = [this] { wake(false); },
                            .fatal = [this](const Error&) { wake(true); }});
  }
  void wake(bool fatal) {
    const std::scoped_lock lock(mutex_);
    ++wakes_;
    fatal_ = fatal_ || fatal;
    woken_.notify_all();
  }
  void submit(std::uint64_t first, std::uint64_t count) {
    std::vector<TicketedRequest> batch;
    for (std::uint64_t i = first; i < first + count; ++i)
      batch.push_back({.ticket = Ticket(i), .request = claim_of(i)});
    lane_->submit(std::move(batch));
  }
  // Collects until `count` replies are there.
  std::vector<LaneReply> collect(std::size_t count) {
    std::vector<LaneReply> replies;
    while (replies.size() < count) {
      std::unique_lock lock(mutex_);
      const bool woken = woken_.wait_for(lock, seconds(20), [&] { return wakes_ > seen_; });
      EXPECT_TRUE(woken) << replies.size() << " of " << count << " replies";
      if (!woken) break;
      seen_ = wakes_;
      lock.unlock();
      lane_->take(replies);
    }
    return replies;
  }
  bool wait_fatal() {
    std::unique_lock lock(mutex_);
    return woken_.wait_for(lock, seconds(20), [&] { return fatal_; });
  }

  FixedClock clock_{};
  Gate gate_{};
  MemoryDisk disk_{};
  MemoryLedger ledger_{disk_, {.scopes = 1, .id = "memory", .fault = gate_.fault(), .rows_max = 0}};
  std::mutex mutex_{};
  std::condition_variable woken_{};
  int wakes_ = 0;
  int seen_ = 0;
  bool fatal_ = false;
  std::unique_ptr<LedgerThread> lane_{};
};

TEST_F(LedgerThreadTest, AnswersEachTicketOnce) {
  start();
  std::set<std::uint64_t> tickets;
  for (std::uint64_t i = 0; i < 50; ++i) submit(i * 20, 20);
  for (const LaneReply& reply : collect(1000)) {
    ASSERT_TRUE(reply.reply.has_value());
    EXPECT_TRUE(tickets.insert(reply.ticket.get()).second);
  }
  EXPECT_EQ(tickets.size(), 1000U);
  std::vector<LaneReply> none;
  lane_->take(none);
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(lane_->stats().rows, 1000U);
  const LedgerStats stats = lane_->stats();
  const auto& commits = stats.commits.counts();
  EXPECT_GE(std::accumulate(commits.begin(), commits.end(), std::uint64_t{0}), 1U);
}

TEST_F(LedgerThreadTest, TakesTogetherWhatQueuesDuringACommit) {
  gate_.close();
  start();
  submit(0, 1);
  gate_.wait_for_commits(1);
  for (std::uint64_t i = 1; i <= 30; ++i) submit(i, 1);
  gate_.open();
  EXPECT_EQ(collect(31).size(), 31U);
  EXPECT_EQ(gate_.commits(), 2);
}

TEST_F(LedgerThreadTest, CommitsNoMoreThanItsLimitAtOnce) {
  gate_.close();
  start(50);
  submit(0, 1);
  gate_.wait_for_commits(1);
  for (std::uint64_t i = 0; i < 10; ++i) submit(100 + i * 20, 20);
  gate_.open();
  EXPECT_EQ(collect(201).size(), 201U);
  EXPECT_EQ(gate_.commits(), 1 + 4);  // 60, 60, 60, 20
}

TEST_F(LedgerThreadTest, CommitsWhatWasSubmittedBeforeItEnds) {
  start();
  submit(0, 500);
  lane_.reset();
  EXPECT_EQ(ledger_.stats().rows, 500U);
}

TEST_F(LedgerThreadTest, RecoversAndSendsTheSameAgain) {
  for (const CommitStage stage : {CommitStage::before_commit, CommitStage::after_commit}) {
    gate_.fail(stage, Errc::unavailable, 1);
    start();
    const std::uint64_t first = static_cast<std::uint64_t>(stage) * 100;
    submit(first, 10);
    for (const LaneReply& reply : collect(10)) {
      ASSERT_TRUE(reply.reply.has_value());
      EXPECT_EQ(reply_as<Claimed>(*reply.reply).carried, Effect::not_sent);
    }
    EXPECT_FALSE(fatal_);
    lane_.reset();
  }
}

TEST_F(LedgerThreadTest, ASecondFailureIsTheEnd) {
  gate_.fail(CommitStage::after_commit, Errc::unavailable, 2);
  start();
  submit(0, 10);
  EXPECT_TRUE(wait_fatal());
  submit(10, 10);  // nothing more is answered, and nothing hangs
  lane_.reset();
}

TEST_F(LedgerThreadTest, DamageIsTheEndAtOnce) {
  gate_.fail(CommitStage::write, Errc::corrupt, 1);
  start();
  submit(0, 1);
  EXPECT_TRUE(wait_fatal());
  EXPECT_EQ(gate_.commits(), 1);
}

TEST_F(LedgerThreadTest, ShortOfRoomClaimsStopAndSettlementsGoThrough) {
  std::vector<TicketedRequest> batch;
  for (std::uint64_t i = 0; i < 40; ++i) {
    const Fence fence = reply_as<Claimed>(run(ledger_, Ticket(i), claim_of(i), kNoon)).fence;
    batch.push_back(
        {.ticket = Ticket(i), .request = settle_of(i, fence, State::accepted, Effect::sent)});
    batch.push_back({.ticket = Ticket(100 + i), .request = claim_of(100 + i)});
  }
  gate_.fail(CommitStage::write, Errc::exhausted, 1);
  start();
  lane_->submit(std::move(batch));
  for (const LaneReply& reply : collect(80)) {
    ASSERT_TRUE(reply.reply.has_value());
    if (reply.ticket.get() >= 100) {
      static_cast<void>(reply_as<Stopped>(*reply.reply));
    } else {
      EXPECT_EQ(reply_as<Settled>(*reply.reply).state, State::accepted);
    }
  }
}

// Found by the simulator: told to be stopped, the delivery was handed back, and its claim stayed
// with a ticket that nobody had any more.
TEST_F(LedgerThreadTest, AClaimThatMayBeDurableIsNotSaidToBeStopped) {
  gate_.fail(CommitStage::after_commit, Errc::unavailable, 1);
  gate_.fail(CommitStage::write, Errc::exhausted, 2);
  start();
  submit(1, 1);
  auto replies = collect(1);
  ASSERT_EQ(replies.size(), 1U);
  ASSERT_FALSE(replies[0].reply);
  EXPECT_EQ(replies[0].reply.error().code, Errc::exhausted);
  submit(1, 2);  // the same again, and one that is new
  replies = collect(2);
  ASSERT_EQ(replies.size(), 2U);
  EXPECT_FALSE(replies[0].reply) << "still nobody knows";
  ASSERT_TRUE(replies[1].reply);
  EXPECT_TRUE(std::holds_alternative<Stopped>(std::get<ClaimReply>(*replies[1].reply)));
  submit(1, 1);
  replies = collect(1);
  ASSERT_TRUE(replies.at(0).reply);
  EXPECT_TRUE(std::holds_alternative<Claimed>(std::get<ClaimReply>(*replies[0].reply)));
}

TEST_F(LedgerThreadTest, WithNoRoomAtAllSettlementsAreHandedBack) {
  const Fence fence = reply_as<Claimed>(run(ledger_, Ticket(1), claim_of(1), kNoon)).fence;
  const auto settlement = [&] {
    std::vector<TicketedRequest> batch{
        {.ticket = Ticket(7), .request = settle_of(1, fence, State::accepted, Effect::sent)}};
    return batch;
  };
  gate_.fail(CommitStage::write, Errc::exhausted, 2);
  start();
  lane_->submit(settlement());
  auto replies = collect(1);
  ASSERT_EQ(replies.size(), 1U);
  ASSERT_FALSE(replies[0].reply.has_value());
  EXPECT_EQ(replies[0].reply.error().code, Errc::exhausted);
  lane_->submit(settlement());  // there is room again
  replies = collect(1);
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(reply_as<Settled>(*replies[0].reply).state, State::accepted);
}

TEST(LedgerThreadOnDisk, RunsTheLedgerOnDisk) {
  const LedgerDir dir;
  LedgerOptions options;
  options.directory = dir.path();
  options.scopes = {"orders"};
  options.map_bytes = std::uint64_t{64} << 20U;
  options.reserve_bytes = std::uint64_t{1} << 20U;
  options.check_file_system = false;
  ASSERT_TRUE(create_ledger(options).has_value());
  auto ledger = open_ledger(options);
  ASSERT_TRUE(ledger.has_value()) << ledger.error().text;
  const FixedClock clock;
  {
    LedgerThread lane(**ledger, clock, {});
    std::vector<LaneReply> replies;
    for (std::uint64_t i = 0; i < 2000; i += 50) {
      std::vector<TicketedRequest> batch;
      for (std::uint64_t k = i; k < i + 50; ++k)
        batch.push_back({.ticket = Ticket(k), .request = claim_of(k)});
      lane.submit(std::move(batch));
      lane.take(replies);
    }
  }
  EXPECT_EQ((*ledger)->stats().rows, 2000U);
}

}  // namespace
}  // namespace sendonce::test
