// Rows leave the ledger as fast as they come, whatever the order in which they end.
#include <algorithm>
#include <chrono>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "ledger/lmdb/lmdb_ledger.hpp"
#include "ledger/lmdb/open.hpp"
#include "tests/contract/ledger_rig.hpp"

namespace sendonce::test {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr std::uint64_t kRate = 100;  // a second
constexpr int kRetention = 75;        // seconds
constexpr int kSeconds = 1200;
constexpr std::uint64_t kLateOneIn = 10;  // rows that are tried again
constexpr std::uint64_t kLateBy = 29;     // seconds, at most

std::unique_ptr<LmdbLedger> make_ledger(const std::string& directory) {
  LedgerOptions options;
  options.directory = directory;
  options.scopes = {"orders"};
  options.map_bytes = std::uint64_t{256} << 20U;
  options.reserve_bytes = std::uint64_t{1} << 20U;
  options.check_file_system = false;
  options.durability = LedgerDurability::process;
  options.boot_id = "boot";
  EXPECT_TRUE(create_ledger(options).has_value());
  auto ledger = open_ledger(options);
  EXPECT_TRUE(ledger.has_value());
  return ledger ? std::move(*ledger) : nullptr;
}

std::vector<TicketedReply> commit(Ledger& ledger, const std::vector<TicketedRequest>& batch,
                                  WallTime now) {
  auto replies = ledger.commit(batch, now);
  EXPECT_TRUE(replies.has_value());
  return replies ? std::move(*replies) : std::vector<TicketedReply>{};
}

// As the engine does it: once a second, and again for as long as there was much to do.
void sweep(Ledger& ledger, WallTime now) {
  for (bool more = true; more;) {
    const auto swept = reply_as<Swept>(run(ledger, Ticket(1), Sweep{.max_rows = 1000}, now));
    more = swept.ended + swept.expired >= 1000;
  }
}

// A row that lives on before one that does not is moved to the end, and there it stands among
// younger ones a retention later, which are moved in turn. That costs room (measured: up to 1.6
// times the rows of one retention, when one in ten ends late), but it has to have an end.
TEST(LmdbExpiry, RowsThatEndLateDoNotMakeTheLedgerGrow) {
  const LedgerDir dir;
  const auto ledger = make_ledger(dir.path());
  ASSERT_NE(ledger, nullptr);
  std::map<int, std::vector<TicketedRequest>> due;  // settlements, by second
  std::uint64_t most = 0;
  for (int second = 0; second < kSeconds; ++second) {
    const WallTime now = kNoon + seconds(second);
    std::vector<TicketedRequest> claims;
    for (std::uint64_t i = 0; i < kRate; ++i) {
      ClaimRequest claim = claim_of(static_cast<std::uint64_t>(second) * kRate + i + 1);
      claim.stored_at = now;
      claim.deadline = now + hours(1);
      claim.retention = seconds(kRetention);
      claims.push_back(
          {.ticket = Ticket(static_cast<std::uint64_t>(second) * kRate + i + 1), .request = claim});
    }
    for (const TicketedReply& reply : commit(*ledger, claims, now)) {
      const std::uint64_t number = reply.ticket.get();
      Settlement settlement =
          settle_of(number, reply_as<Claimed>(reply.reply).fence, State::accepted, Effect::sent);
      settlement.exceptional_only = true;
      settlement.retention = seconds(kRetention);
      const bool late = number % kLateOneIn == 0;
      const int when = late ? second + 1 + static_cast<int>(number / kLateOneIn % kLateBy) : second;
      due[when].push_back({.ticket = reply.ticket, .request = settlement});
    }
    static_cast<void>(commit(*ledger, due[second], now));
    due.erase(second);
    sweep(*ledger, now);
    most = std::max(most, ledger->stats().rows);
  }
  EXPECT_LT(most, 2 * kRate * kRetention);
}

}  // namespace
}  // namespace sendonce::test
