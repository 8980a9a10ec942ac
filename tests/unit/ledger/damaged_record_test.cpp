// A damaged record that decides nothing about sending stops nobody.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ledger/binding.hpp"
#include "ledger/lmdb/lmdb_tables.hpp"
#include "ledger/lmdb/open.hpp"
#include "ledger/lmdb/upkeep.hpp"
#include "tests/contract/ledger_rig.hpp"

namespace sendonce::test {
namespace {

constexpr std::uint64_t kMap = std::uint64_t{64} << 20U;
constexpr LookupHash kAnn(1);
constexpr LookupHash kBob(2);

DeviceHash device_of(std::uint8_t number) {
  DeviceHash hash;
  hash.bytes.fill(number);
  return hash;
}

AuditEntry entry_of(const std::string& user) {
  return {.at = kNoon, .user = user, .by = user, .verb = "pause", .result = "done"};
}

class DamagedRecord : public testing::Test {
 protected:
  DamagedRecord() {
    options_.directory = dir_.path() + "/ledger";
    options_.scopes = {"orders"};
    options_.map_bytes = kMap;
    options_.reserve_bytes = std::uint64_t{1} << 20U;
    options_.check_file_system = false;
    EXPECT_TRUE(create_ledger(options_).has_value());
    open();
  }
  void open() {
    auto ledger = open_ledger(options_);
    ASSERT_TRUE(ledger.has_value()) << ledger.error().text;
    ledger_ = std::move(*ledger);
  }
  // One wrong bit in the last byte of the table's first record or, `last`, of its last one.
  void damage(const char* table, unsigned flags, bool last = false) {
    ledger_.reset();
    {
      const auto env = LmdbEnv::open({.directory = options_.directory,
                                      .map_bytes = kMap,
                                      .tables_max = kTablesMax,
                                      .flags = MDB_NOLOCK});
      ASSERT_TRUE(env.has_value()) << env.error().text;
      auto txn = LmdbTxn::begin(*env, 0);
      ASSERT_TRUE(txn.has_value());
      const auto dbi = open_table(*txn, table, flags);
      ASSERT_TRUE(dbi.has_value());
      {
        const auto cursor = LmdbCursor::open(*txn, *dbi);
        ASSERT_TRUE(cursor.has_value());
        MDB_val k{};
        MDB_val v{};
        ASSERT_EQ(mdb_cursor_get(cursor->get(), &k, &v, last ? MDB_LAST : MDB_FIRST), 0);
        std::string bytes(lmdb_text(v));
        bytes.back() = static_cast<char>(bytes.back() ^ 1);
        v = lmdb_value(bytes);
        ASSERT_EQ(mdb_cursor_put(cursor->get(), &k, &v, MDB_CURRENT), 0);
      }
      ASSERT_EQ(txn->commit(), 0);
    }
    EXPECT_EQ(damages(), 1U) << "verify tells of it";
    open();
  }
  std::uint64_t damages() const {
    const auto check = check_ledger(options_.directory, [](std::uint64_t, std::uint64_t) {});
    EXPECT_TRUE(check.has_value());
    return check ? check->damaged : 0;
  }
  Result<LedgerReply> go(LedgerRequest request) {
    const TicketedRequest one{.ticket = Ticket(1), .request = std::move(request)};
    auto replies = ledger_->commit({&one, 1}, kNoon);
    if (!replies) return std::unexpected(std::move(replies).error());
    return std::move(replies->front().reply);
  }
  // A send to the device that is accepted; whether it was somebody else's.
  bool is_reused(std::uint64_t number, std::uint8_t device, LookupHash recipient) {
    ClaimRequest claim = claim_of(number);
    claim.recipient = recipient;
    claim.device = DeviceClaim{.hash = device_of(device),
                               .registered_at = std::nullopt,
                               .reuse = Reuse::report,
                               .kind = "apns"};
    auto reply = go(claim);
    EXPECT_TRUE(reply.has_value()) << (reply ? "" : reply.error().text);
    if (!reply) return false;
    const Claimed claimed = reply_as<Claimed>(*reply);
    Settlement settlement = settle_of(number, claimed.fence, State::accepted, Effect::sent);
    settlement.bind =
        Bind{.hash = device_of(device), .recipient = recipient, .registered_at = std::nullopt};
    EXPECT_TRUE(go(settlement).has_value());
    return claimed.reused;
  }
  std::vector<std::string> users() {
    std::vector<std::string> out;
    const auto reply = go(AuditRead{});
    EXPECT_TRUE(reply.has_value()) << (reply ? "" : reply.error().text);
    if (reply)
      for (const AuditEntry& entry : std::get<AuditPage>(*reply).entries) out.push_back(entry.user);
    return out;
  }

  LedgerDir dir_{};
  LedgerOptions options_{};
  std::unique_ptr<Ledger> ledger_{};
};

TEST_F(DamagedRecord, ABindingIsAsNone) {
  EXPECT_FALSE(is_reused(1, 1, kAnn));
  damage(kBindingTable, 0);
  EXPECT_FALSE(is_reused(2, 1, kBob)) << "whose it was, nobody knows: it is bound anew";
  EXPECT_TRUE(is_reused(3, 1, kAnn));
  ledger_.reset();
  EXPECT_EQ(damages(), 0U);
}

TEST_F(DamagedRecord, ABindingGoesWithTheNextSweep) {
  EXPECT_FALSE(is_reused(1, 1, kAnn));
  EXPECT_FALSE(is_reused(2, 2, kAnn));
  damage(kBindingTable, 0);
  const auto swept = go(Sweep{.max_rows = 10});
  ASSERT_TRUE(swept.has_value()) << swept.error().text;
  EXPECT_TRUE(is_reused(3, 2, kBob)) << "the sound one stays";
  ledger_.reset();
  EXPECT_EQ(damages(), 0U);
  EXPECT_EQ(ledger_sizes(options_.directory)->bindings, 1U);
}

TEST_F(DamagedRecord, AnAuditEntryIsPassedOver) {
  for (const char* user : {"ann", "bob", "eve"})
    ASSERT_TRUE(go(NoteAudit{.entry = entry_of(user)}).has_value());
  damage(kAuditTable, MDB_INTEGERKEY, true);
  EXPECT_THAT(users(), testing::ElementsAre("bob", "ann"));
  const auto noted = go(NoteAudit{.entry = entry_of("joe")});
  ASSERT_TRUE(noted.has_value()) << noted.error().text;
  EXPECT_THAT(users(), testing::ElementsAre("joe", "bob", "ann"));
  EXPECT_FALSE(is_reused(1, 1, kAnn)) << "and it goes on sending";
}

}  // namespace
}  // namespace sendonce::test
