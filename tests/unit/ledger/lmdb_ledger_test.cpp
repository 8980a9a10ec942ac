// What only the ledger on disk can do or suffer. Its behaviour as a ledger is in tests/contract.
#include "ledger/lmdb/lmdb_ledger.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <span>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include "ledger/lmdb/open.hpp"
#include "tests/contract/ledger_rig.hpp"

namespace sendonce::test {
namespace {

using std::chrono::hours;
using testing::HasSubstr;

LedgerOptions options_for(const std::string& directory) {
  LedgerOptions options;
  options.directory = directory;
  options.scopes = {"orders", "news"};
  options.map_bytes = std::uint64_t{256} << 20U;
  options.reserve_bytes = std::uint64_t{1} << 20U;
  options.check_file_system = false;
  return options;
}

std::unique_ptr<LmdbLedger> open_or_fail(const LedgerOptions& options) {
  auto ledger = open_ledger(options);
  EXPECT_TRUE(ledger.has_value()) << (ledger ? "" : ledger.error().text);
  return ledger ? std::move(*ledger) : nullptr;
}

std::unique_ptr<LmdbLedger> create_and_open(const LedgerOptions& options) {
  const auto created = create_ledger(options);
  EXPECT_TRUE(created.has_value()) << (created ? "" : created.error().text);
  return open_or_fail(options);
}

std::vector<TicketedRequest> claims(std::uint64_t from, std::uint64_t count, WallTime stored) {
  std::vector<TicketedRequest> batch;
  for (std::uint64_t i = from; i < from + count; ++i) {
    ClaimRequest claim = claim_of(i);
    claim.stored_at = stored;
    claim.deadline = stored + hours(24);
    batch.push_back({.ticket = Ticket(i), .request = claim});
  }
  return batch;
}

// Claims and accepts `count` keys.
void fill(Ledger& ledger, std::uint64_t from, std::uint64_t count, WallTime now) {
  const auto claimed = ledger.commit(claims(from, count, now), now);
  ASSERT_TRUE(claimed.has_value()) << claimed.error().text;
  std::vector<TicketedRequest> batch;
  for (const TicketedReply& reply : *claimed) {
    Settlement settlement = settle_of(reply.ticket.get(), reply_as<Claimed>(reply.reply).fence,
                                      State::accepted, Effect::sent);
    settlement.exceptional_only = true;
    batch.push_back({.ticket = reply.ticket, .request = settlement});
  }
  const auto settled = ledger.commit(batch, now);
  ASSERT_TRUE(settled.has_value()) << settled.error().text;
}

std::optional<Row> find(Ledger& ledger, std::uint64_t number, WallTime now = kNoon) {
  return row_of(run(ledger, Ticket(1), Find{.scope = {}, .key = key_of(number)}, now));
}

TEST(LmdbLedger, IsMadeOnce) {
  const LedgerDir dir;
  const auto first = create_ledger(options_for(dir.path()));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->size(), 32U);
  const auto second = create_ledger(options_for(dir.path()));
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, Errc::denied);
  const auto ledger = open_or_fail(options_for(dir.path()));
  EXPECT_EQ(ledger->id(), *first);
  EXPECT_EQ(ledger->secret().expose().size(), 32U);
  EXPECT_FALSE(std::filesystem::exists(dir.path() + "/creating"));
}

TEST(LmdbLedger, AHalfMadeOneIsMadeAnew) {
  const LedgerDir dir;
  std::filesystem::create_directory(dir.path() + "/creating");
  std::ofstream(dir.path() + "/creating/data.mdb") << "half";
  EXPECT_TRUE(create_ledger(options_for(dir.path())).has_value());
}

TEST(LmdbLedger, ASecondOpenerIsRefused) {
  const LedgerDir dir;
  const auto ledger = create_and_open(options_for(dir.path()));
  const auto second = open_ledger(options_for(dir.path()));
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, Errc::busy);
  EXPECT_FALSE(LedgerReader::open(dir.path()).has_value());
  EXPECT_FALSE(adopt_scope(options_for(dir.path()), "orders", kNoon).has_value());
}

// What the original has done since the copy was made, nobody knows.
TEST(LmdbLedger, ACopyThatWasPutBackGetsAnotherIdAndDoubtsWhatItCannotKnow) {
  const LedgerDir dir;
  const LedgerOptions options = options_for(dir.path());
  std::string secret;
  {
    const auto ledger = create_and_open(options);
    secret = ledger->secret().expose();
    fill(*ledger, 1, 1, kNoon);
    const auto claimed = ledger->commit(claims(2, 1, kNoon), kNoon);
    ASSERT_TRUE(claimed.has_value());
    Settlement again = settle_of(2, reply_as<Claimed>(claimed->at(0).reply).fence, State::waiting,
                                 Effect::not_sent);
    again.next_at = kNoon + hours(1);
    static_cast<void>(run(*ledger, Ticket(2), again, kNoon));
    ASSERT_EQ(find(*ledger, 2)->effect, Effect::not_sent);
  }
  const std::string id = new_ledger_id();
  const auto renewed = renew_ledger(options, id, kNoon + hours(2));
  ASSERT_TRUE(renewed.has_value()) << renewed.error().text;
  const auto ledger = open_or_fail(options);
  EXPECT_EQ(ledger->id(), id);
  EXPECT_EQ(ledger->secret().expose(), secret);
  EXPECT_EQ(find(*ledger, 1)->state, State::accepted);
  EXPECT_EQ(find(*ledger, 2)->state, State::waiting);
  EXPECT_EQ(find(*ledger, 2)->effect, Effect::maybe_sent);
  const WallTime later = kNoon + hours(3);
  const auto old = ledger->commit(claims(3, 1, kNoon + hours(2) - Duration(1)), later);
  ASSERT_TRUE(old.has_value());
  EXPECT_EQ(reply_as<Claimed>(old->at(0).reply).carried, Effect::maybe_sent);
  const auto fresh = ledger->commit(claims(4, 1, kNoon + hours(2)), later);
  ASSERT_TRUE(fresh.has_value());
  EXPECT_EQ(reply_as<Claimed>(fresh->at(0).reply).carried, Effect::not_sent);
}

TEST(LmdbLedger, AnOpenOneIsNotTakenForACopy) {
  const LedgerDir dir;
  const auto ledger = create_and_open(options_for(dir.path()));
  const auto renewed = renew_ledger(options_for(dir.path()), new_ledger_id(), kNoon);
  ASSERT_FALSE(renewed.has_value());
  EXPECT_EQ(renewed.error().code, Errc::busy);
}

TEST(LmdbLedger, TheIndexIsRebuiltAndGrowsOverManySegments) {
  const LedgerDir dir;
  LedgerOptions options = options_for(dir.path());
  std::uint64_t seen = 0;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_LE(done, total);
    seen = done;
  };
  constexpr std::uint64_t kRows = 60'000;
  {
    const auto ledger = create_and_open(options);
    for (std::uint64_t i = 0; i < kRows; i += 2000) fill(*ledger, i, 2000, kNoon);
    EXPECT_EQ(ledger->stats().rows, kRows);
    EXPECT_LE(ledger->index_bytes(), kRows * 24 + (4U << 20U));
  }
  const auto ledger = open_or_fail(options);
  EXPECT_EQ(seen, kRows);
  EXPECT_EQ(ledger->stats().rows, kRows);
  EXPECT_EQ(ledger->stats().open_rows, 0U);
  for (std::uint64_t i = 0; i < kRows; i += 7) {
    const auto row = find(*ledger, i);
    ASSERT_TRUE(row.has_value()) << i;
    ASSERT_EQ(row->key, key_of(i));
  }
  EXPECT_FALSE(find(*ledger, kRows).has_value());
}

TEST(LmdbLedger, AFullMapStopsClaimsAndNothingElse) {
  const LedgerDir dir;
  LedgerOptions options = options_for(dir.path());
  options.map_bytes = std::uint64_t{2} << 20U;
  options.reserve_bytes = std::uint64_t{256} << 10U;
  const auto ledger = create_and_open(options);
  std::uint64_t next = 0;
  std::vector<std::pair<std::uint64_t, Fence>> open;
  for (; !ledger->stats().claims_stopped && next < 100'000; next += 20) {
    const auto replies = ledger->commit(claims(next, 20, kNoon), kNoon);
    ASSERT_TRUE(replies.has_value()) << replies.error().text;
    for (const auto& reply : *replies)
      open.emplace_back(reply.ticket.get(), reply_as<Claimed>(reply.reply).fence);
  }
  ASSERT_GT(open.size(), 1000U);
  EXPECT_GT(ledger->stats().used_bytes, options.map_bytes / 100 * 85);
  static_cast<void>(reply_as<Stopped>(run(*ledger, Ticket(1), claim_of(next), kNoon)));
  for (std::size_t at = 0; at < open.size(); at += 20) {
    std::vector<TicketedRequest> batch;
    for (const auto& [number, fence] : std::span(open).subspan(at, 20)) {
      Settlement settlement = settle_of(number, fence, State::accepted, Effect::sent);
      settlement.exceptional_only = true;
      batch.push_back({.ticket = Ticket(number), .request = settlement});
    }
    const auto replies = ledger->commit(batch, kNoon);
    ASSERT_TRUE(replies.has_value()) << replies.error().text;
    for (const auto& reply : *replies)
      EXPECT_EQ(reply_as<Settled>(reply.reply).state, State::accepted);
  }
  static_cast<void>(reply_as<Done>(run(*ledger, Ticket(1), claim_of(0), kNoon)));
  // Time passes, the stream goes on, memory is freed, and claims go on.
  const WallTime later = kNoon + hours(48);
  ClaimRequest newer = claim_of(next);
  newer.stored_at = later;
  newer.deadline = later + hours(1);
  static_cast<void>(reply_as<Stopped>(run(*ledger, Ticket(1), newer, later)));
  std::size_t expired = 0;
  for (int i = 0; i < 40 && ledger->stats().rows > 0; ++i)
    expired += reply_as<Swept>(run(*ledger, Ticket(1), Sweep{}, later)).expired;
  EXPECT_EQ(expired, open.size());
  static_cast<void>(reply_as<Claimed>(run(*ledger, Ticket(2), newer, later)));
  EXPECT_FALSE(ledger->stats().claims_stopped);
}

TEST(LmdbLedger, ABatchThatDoesNotFitChangesNothing) {
  const LedgerDir dir;
  LedgerOptions options = options_for(dir.path());
  options.map_bytes = std::uint64_t{1} << 20U;
  const auto ledger = create_and_open(options);
  fill(*ledger, 0, 500, kNoon);
  const auto refused = ledger->commit(claims(1000, 20'000, kNoon), kNoon);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::exhausted);
  EXPECT_TRUE(ledger->stats().claims_stopped);
  EXPECT_EQ(ledger->stats().rows, 500U);
  EXPECT_FALSE(find(*ledger, 1000).has_value());
  EXPECT_TRUE(find(*ledger, 499).has_value());
  // With the next commit it is clear that there is room.
  static_cast<void>(reply_as<Claimed>(run(*ledger, Ticket(1), claim_of(1000), kNoon)));
}

class DiskFull : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to mount a small tmpfs";
    if (::mount("tmpfs", dir_.path().c_str(), "tmpfs", 0, "size=4m") != 0)
      GTEST_SKIP() << "cannot mount a tmpfs here";
    mounted_ = true;
  }
  void TearDown() override {
    ledger_.reset();
    if (mounted_) {
      EXPECT_EQ(::umount2(dir_.path().c_str(), MNT_DETACH), 0);
    }
  }
  // Leaves about `bytes` free.
  void fill_disk(std::uint64_t bytes) {
    std::ofstream other(dir_.path() + "/other", std::ios::binary);
    const auto space = std::filesystem::space(dir_.path());
    if (space.available > bytes) other << std::string(space.available - bytes, 'x');
  }

  LedgerDir dir_{};
  bool mounted_ = false;
  std::unique_ptr<LmdbLedger> ledger_{};
};

TEST_F(DiskFull, WhatWasSentIsStillRecorded) {
  LedgerOptions options = options_for(dir_.path());
  options.durability = LedgerDurability::process;
  options.reserve_bytes = std::uint64_t{1} << 20U;
  options.disk_low_bytes = std::uint64_t{64} << 10U;
  ledger_ = create_and_open(options);
  ASSERT_NE(ledger_, nullptr);
  std::vector<std::pair<std::uint64_t, Fence>> open;
  const auto replies = ledger_->commit(claims(0, 400, kNoon), kNoon);
  ASSERT_TRUE(replies.has_value()) << replies.error().text;
  for (const auto& reply : *replies)
    open.emplace_back(reply.ticket.get(), reply_as<Claimed>(reply.reply).fence);
  fill_disk(0);
  const WallTime later = kNoon + std::chrono::seconds(2);
  for (const auto& [number, fence] : open)  // from the reserve
    EXPECT_FALSE(
        reply_as<Settled>(run(*ledger_, Ticket(1),
                              settle_of(number, fence, State::accepted, Effect::sent), later))
            .fenced);
  EXPECT_TRUE(ledger_->stats().claims_stopped);
  static_cast<void>(reply_as<Stopped>(run(*ledger_, Ticket(1), claim_of(900), later)));
  std::filesystem::remove(dir_.path() + "/other");
  const WallTime free_again = later + std::chrono::seconds(2);
  static_cast<void>(find(*ledger_, 1, free_again));
  static_cast<void>(reply_as<Claimed>(run(*ledger_, Ticket(1), claim_of(900), free_again)));
}

TEST_F(DiskFull, WithoutRoomBatchesAreRefusedAndTheLedgerGoesOn) {
  LedgerOptions options = options_for(dir_.path());
  options.durability = LedgerDurability::process;
  options.reserve_bytes = 0;
  options.disk_low_bytes = 0;
  ledger_ = create_and_open(options);
  ASSERT_NE(ledger_, nullptr);
  fill(*ledger_, 0, 200, kNoon);
  fill_disk(0);
  bool refused = false;
  for (std::uint64_t i = 1000; i < 40'000 && !refused; i += 500) {
    const auto replies = ledger_->commit(claims(i, 500, kNoon), kNoon);
    refused = !replies;
    if (refused) {
      EXPECT_EQ(replies.error().code, Errc::exhausted) << replies.error().text;
    }
  }
  EXPECT_TRUE(refused);
  EXPECT_TRUE(ledger_->stats().claims_stopped);
  std::filesystem::remove(dir_.path() + "/other");
  EXPECT_TRUE(find(*ledger_, 0).has_value());
  static_cast<void>(find(*ledger_, 0, kNoon + std::chrono::seconds(2)));
  static_cast<void>(reply_as<Claimed>(
      run(*ledger_, Ticket(1), claim_of(90'000), kNoon + std::chrono::seconds(2))));
  ledger_.reset();
  ledger_ = open_or_fail(options);
  EXPECT_TRUE(find(*ledger_, 199).has_value());
}

TEST(LmdbLedger, DurabilityProcessRefusesAfterAnUncleanReboot) {
  const LedgerDir dir;
  LedgerOptions options = options_for(dir.path());
  options.durability = LedgerDurability::process;
  options.boot_id = "boot-1";
  {
    auto ledger = create_and_open(options);
    fill(*ledger, 0, 10, kNoon);
  }
  options.boot_id = "boot-2";
  {
    const auto ledger = open_or_fail(options);  // it was closed: nothing is lost
    EXPECT_TRUE(find(*ledger, 9).has_value());
  }
  // Unclean: the process goes without closing.
  options.boot_id = "boot-3";
  options.fault = [](CommitStage stage) -> std::optional<Errc> {
    return stage == CommitStage::after_commit ? std::optional(Errc::unavailable) : std::nullopt;
  };
  {
    const auto ledger = open_or_fail(options);
    EXPECT_FALSE(ledger->commit(claims(50, 1, kNoon), kNoon).has_value());
  }
  options.fault = {};
  EXPECT_TRUE(open_ledger(options).has_value());  // the same boot: the page cache has it all
  {
    options.fault = [](CommitStage) { return std::optional(Errc::unavailable); };
    const auto ledger = open_or_fail(options);
    EXPECT_FALSE(ledger->commit(claims(60, 1, kNoon), kNoon).has_value());
    options.fault = {};
  }
  options.boot_id = "boot-4";
  for (const auto durability : {LedgerDurability::process, LedgerDurability::commit}) {
    options.durability = durability;
    const auto refused = open_ledger(options);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, Errc::corrupt);
    EXPECT_THAT(refused.error().text, HasSubstr("restarted"));
  }
}

TEST(LmdbLedger, TablesOfScopesThatNoClassUsesStayAndExpire) {
  const LedgerDir dir;
  LedgerOptions options = options_for(dir.path());
  {
    const auto ledger = create_and_open(options);
    fill(*ledger, 0, 10, kNoon);
  }
  options.scopes = {"news"};
  const auto ledger = open_or_fail(options);
  EXPECT_EQ(ledger->stats().rows, 10U);
  const WallTime later = kNoon + hours(49);
  ClaimRequest newer = claim_of(77);
  newer.stored_at = later;
  newer.deadline = later + hours(1);
  static_cast<void>(reply_as<Claimed>(run(*ledger, Ticket(1), newer, later)));
  EXPECT_EQ(reply_as<Swept>(run(*ledger, Ticket(2), Sweep{}, later)).expired, 10U);
  EXPECT_EQ(ledger->stats().rows, 1U);
}

TEST(LmdbLedger, ScansByWhatAnOperatorKnows) {
  const LedgerDir dir;
  const auto ledger = create_and_open(options_for(dir.path()));
  fill(*ledger, 0, 30, kNoon);
  static_cast<void>(ledger->commit(claims(30, 5, kNoon), kNoon));
  const auto count = [&](const RowFilter& filter) {
    int rows = 0;
    const auto scanned = ledger->scan(filter, [&](std::string_view scope, const Row&) {
      EXPECT_EQ(scope, "orders");
      ++rows;
      return true;
    });
    EXPECT_TRUE(scanned.has_value());
    return rows;
  };
  EXPECT_EQ(count({}), 35);
  EXPECT_EQ(count({.scope = "news"}), 0);
  EXPECT_EQ(count({.key = key_of(3)}), 1);
  EXPECT_EQ(count({.event = LookupHash(12)}), 1);
  EXPECT_EQ(count({.recipient = LookupHash(1)}), 5);
  EXPECT_EQ(count({.campaign = LookupHash(9)}), 0);
  EXPECT_EQ(count({.state = State::claimed}), 5);
  EXPECT_EQ(count({.dead_letter = DeadLetter::due}), 0);
  int visited = 0;
  static_cast<void>(ledger->scan({}, [&](std::string_view, const Row&) { return ++visited < 3; }));
  EXPECT_EQ(visited, 3);
}

TEST(LmdbLedger, AScanDoesNotDisturbCommits) {
  const LedgerDir dir;
  const auto ledger = create_and_open(options_for(dir.path()));
  fill(*ledger, 0, 200, kNoon);
  std::atomic<bool> stop{false};
  std::atomic<int> scans{0};
  std::thread reader([&] {
    while (!stop) {
      std::size_t rows = 0;
      const auto scanned = ledger->scan({}, [&](std::string_view, const Row&) {
        ++rows;
        return true;
      });
      EXPECT_TRUE(scanned.has_value());
      EXPECT_GE(rows, 200U);
      ++scans;
    }
  });
  for (std::uint64_t i = 200; i < 4000 || scans < 3; i += 100) fill(*ledger, i, 100, kNoon);
  stop = true;
  reader.join();
}

TEST(LmdbLedger, IsLookedAtOfflineWithoutAChange) {
  const LedgerDir dir;
  std::string id;
  {
    const auto ledger = create_and_open(options_for(dir.path()));
    id = ledger->id();
    fill(*ledger, 0, 10, kNoon);
    static_cast<void>(run(*ledger, Ticket(1), claim_of(10), kNoon));
  }
  const auto bytes = [&] {
    std::ifstream file(dir.path() + "/data.mdb", std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  const std::string before = bytes();
  {
    auto reader = LedgerReader::open(dir.path());
    ASSERT_TRUE(reader.has_value()) << reader.error().text;
    EXPECT_EQ((*reader)->id(), id);
    EXPECT_EQ((*reader)->incarnation(), Incarnation(1));
    EXPECT_EQ((*reader)->stats().rows, 11U);
    EXPECT_THAT((*reader)->scopes(), testing::UnorderedElementsAre("orders", "news"));
    EXPECT_EQ((*reader)->secret().expose().size(), 32U);
    int rows = 0;
    ASSERT_TRUE((*reader)
                    ->scan({.state = State::accepted},
                           [&](std::string_view, const Row&) {
                             ++rows;
                             return true;
                           })
                    .has_value());
    EXPECT_EQ(rows, 10);
    const auto second = open_ledger(options_for(dir.path()));
    EXPECT_FALSE(second.has_value());
  }
  EXPECT_EQ(bytes(), before);
  EXPECT_TRUE(open_ledger(options_for(dir.path())).has_value());
}

TEST(LmdbLedger, ALedgerThatWasNeverOpenedCanBeLookedAt) {
  const LedgerDir dir;
  ASSERT_TRUE(create_ledger(options_for(dir.path())).has_value());
  const auto reader = LedgerReader::open(dir.path());
  ASSERT_TRUE(reader.has_value()) << reader.error().text;
  EXPECT_EQ((*reader)->stats().rows, 0U);
}

}  // namespace
}  // namespace sendonce::test
