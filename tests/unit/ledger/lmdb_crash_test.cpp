// A child process commits and is killed at any moment; what it was told is durable must be there,
// whole batches at a time, and the rebuilt index must find it.
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger/lmdb/open.hpp"
#include "plugin/core/random.hpp"
#include "tests/contract/ledger_rig.hpp"

namespace sendonce::test {
namespace {

constexpr std::uint64_t kBatch = 20;
constexpr int kRounds = 40;

LedgerOptions options_for(const std::string& directory, LedgerDurability durability) {
  LedgerOptions options;
  options.directory = directory;
  options.scopes = {"orders"};
  options.map_bytes = std::uint64_t{64} << 20U;
  options.reserve_bytes = std::uint64_t{1} << 20U;
  options.durability = durability;
  options.check_file_system = false;
  return options;
}

// Batch n claims the keys of n and accepts those of n - 1.
std::vector<TicketedRequest> batch_of(std::uint64_t n, const std::vector<Fence>& previous) {
  std::vector<TicketedRequest> batch;
  for (std::uint64_t i = 0; i < kBatch; ++i)
    batch.push_back({.ticket = Ticket(i), .request = claim_of(n * kBatch + i)});
  for (std::uint64_t i = 0; i < previous.size(); ++i)
    batch.push_back(
        {.ticket = Ticket(kBatch + i),
         .request = settle_of((n - 1) * kBatch + i, previous[i], State::accepted, Effect::sent)});
  return batch;
}

[[noreturn]] void commit_until_killed(const LedgerOptions& options, std::uint64_t n, int report) {
  auto ledger = open_ledger(options);
  if (!ledger) ::_exit(1);
  for (std::vector<Fence> fences;; ++n) {
    const auto replies = (*ledger)->commit(batch_of(n, fences), kNoon);
    if (!replies) ::_exit(2);
    fences.clear();
    for (std::uint64_t i = 0; i < kBatch; ++i) {
      const auto* claim = std::get_if<ClaimReply>(&replies->at(i).reply);
      const auto* claimed = claim == nullptr ? nullptr : std::get_if<Claimed>(claim);
      if (claimed == nullptr) ::_exit(3);
      fences.push_back(claimed->fence);
    }
    if (::write(report, &n, sizeof n) != sizeof n) ::_exit(4);
  }
}

// Runs a child for a random while; the last batch it reported, if any.
std::optional<std::uint64_t> run_and_kill(const LedgerOptions& options, std::uint64_t first,
                                          Random& random) {
  int report[2];
  EXPECT_EQ(::pipe(report), 0);
  const pid_t child = ::fork();
  if (child == 0) commit_until_killed(options, first, report[1]);
  ::close(report[1]);
  std::optional<std::uint64_t> last;
  std::uint64_t n = 0;
  // After a random number of reports, at a random distance from the last.
  const std::uint64_t reports = random.below(12);
  while ((!last || *last - first < reports) && ::read(report[0], &n, sizeof n) == sizeof n)
    last = n;
  volatile std::uint64_t spin = random.below(400'000);
  while (spin > 0) spin = spin - 1;
  EXPECT_EQ(::kill(child, SIGKILL), 0);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << WEXITSTATUS(status);
  while (::read(report[0], &n, sizeof n) == sizeof n) last = n;
  ::close(report[0]);
  return last;
}

std::optional<Row> find(Ledger& ledger, std::uint64_t number) {
  return row_of(run(ledger, Ticket(1), Find{.scope = {}, .key = key_of(number)}, kNoon));
}

// How many batches from `first` on are there; each is there as a whole or not at all.
std::uint64_t whole_batches(Ledger& ledger, std::uint64_t first) {
  std::uint64_t n = first;
  for (;; ++n) {
    std::uint64_t there = 0;
    for (std::uint64_t i = 0; i < kBatch; ++i)
      there += static_cast<std::uint64_t>(find(ledger, n * kBatch + i).has_value());
    EXPECT_TRUE(there == 0 || there == kBatch) << "a torn batch " << n;
    if (there == 0) return n - first;
  }
}

void kill_again_and_again(LedgerDurability durability) {
  const LedgerDir dir;
  const LedgerOptions options = options_for(dir.path(), durability);
  ASSERT_TRUE(create_ledger(options).has_value());
  Random random(7);
  std::uint64_t first = 0;
  for (int round = 0; round < kRounds && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const auto last = run_and_kill(options, first, random);
    auto ledger = open_ledger(options);
    ASSERT_TRUE(ledger.has_value()) << ledger.error().text;
    const std::uint64_t reported = last ? *last - first + 1 : 0;
    const std::uint64_t there = whole_batches(**ledger, first);
    ASSERT_GE(there, reported);
    ASSERT_LE(there, reported + 1);  // one may have been durable and not yet reported
    for (std::uint64_t n = first; n < first + there; ++n) {
      const auto row = find(**ledger, n * kBatch);
      ASSERT_TRUE(row.has_value());
      EXPECT_EQ(row->state, n + 1 < first + there ? State::accepted : State::claimed);
    }
    first += there;
    EXPECT_EQ((*ledger)->stats().rows, first * kBatch);
    EXPECT_EQ((*ledger)->incarnation().get(), static_cast<std::uint32_t>(2 * round + 2));
  }
  EXPECT_GT(first, 0U);
}

TEST(LmdbCrash, KilledAtAnyMomentNothingReportedIsLost) {
  kill_again_and_again(LedgerDurability::commit);
}

TEST(LmdbCrash, DurabilityProcessSurvivesTheProcessToo) {
  kill_again_and_again(LedgerDurability::process);
}

}  // namespace
}  // namespace sendonce::test
