#include "tests/contract/ledger_rig.hpp"

#include <utility>

#include <stdlib.h>

#include "ledger/lmdb/open.hpp"
#include "ledger/memory/memory_ledger.hpp"
#include "plugin/core/assert.hpp"
#include "plugin/core/random.hpp"

namespace sendonce::test {
namespace {

class MemoryRig final : public LedgerRig {
 public:
  MemoryRig() { restart(); }
  Ledger& ledger() override { return *ledger_; }
  void restart() override {
    ledger_ = std::make_unique<MemoryLedger>(
        disk_,
        MemoryLedgerOptions{.scopes = kRigScopes, .id = "memory", .fault = fault(), .rows_max = 0});
  }
  void adopt(ScopeIndex scope, WallTime at) override {
    disk_.tables.at(scope.get()).adopted_at = at;
  }

 private:
  MemoryDisk disk_{};
  std::unique_ptr<MemoryLedger> ledger_{};
};

class LmdbRig final : public LedgerRig {
 public:
  LmdbRig() {
    const auto created = create_ledger(options());
    EXPECT_TRUE(created.has_value()) << (created ? "" : created.error().text);
    restart();
  }
  Ledger& ledger() override { return *ledger_; }
  void restart() override {
    ledger_.reset();
    auto opened = open_ledger(options());
    ASSERT_TRUE(opened.has_value()) << opened.error().text;
    ledger_ = std::move(*opened);
  }
  void adopt(ScopeIndex scope, WallTime at) override {
    ledger_.reset();
    const auto adopted = adopt_scope(options(), options().scopes.at(scope.get()), at);
    ASSERT_TRUE(adopted.has_value()) << adopted.error().text;
    restart();
  }

 private:
  LedgerOptions options() {
    LedgerOptions options;
    options.directory = directory_.path();
    options.scopes = {"orders", "news"};
    options.map_bytes = std::uint64_t{256} << 20U;
    options.reserve_bytes = std::uint64_t{1} << 20U;
    options.fault = fault();
    options.check_file_system = false;  // wherever the tests' temporary directory is
    return options;
  }

  LedgerDir directory_{};
  std::unique_ptr<LmdbLedger> ledger_{};
};

}  // namespace

std::unique_ptr<LmdbLedger> filled_ledger(const LedgerDir& directory, std::uint64_t rows) {
  LedgerOptions options;
  options.directory = directory.path() + "/ledger";
  options.scopes = {"orders"};
  options.map_bytes = std::uint64_t{64} << 20U;
  options.reserve_bytes = std::uint64_t{1} << 20U;
  options.check_file_system = false;
  SO_ASSERT(create_ledger(options).has_value());
  auto ledger = open_ledger(options);
  SO_ASSERT(ledger.has_value());
  std::vector<TicketedRequest> batch;
  for (std::uint64_t i = 0; i < rows; ++i)
    batch.push_back({.ticket = Ticket(i), .request = claim_of(i)});
  SO_ASSERT((*ledger)->commit(batch, kNoon).has_value());
  return std::move(*ledger);
}

LedgerDir::LedgerDir() {
  std::string pattern = testing::TempDir() + "sendonce-XXXXXX";
  const char* made = ::mkdtemp(pattern.data());
  EXPECT_NE(made, nullptr) << pattern;
  path_ = pattern;
}

LedgerDir::~LedgerDir() {
  std::error_code ec;
  std::filesystem::remove_all(path_, ec);
}

CommitFault LedgerRig::fault() {
  return [this](CommitStage stage) -> std::optional<Errc> {
    if (!fault_ || fault_->first != stage) return std::nullopt;
    return std::exchange(fault_, std::nullopt)->second;
  };
}

std::unique_ptr<LedgerRig> make_memory_rig() {
  return std::make_unique<MemoryRig>();
}

std::unique_ptr<LedgerRig> make_lmdb_rig() {
  return std::make_unique<LmdbRig>();
}

Key key_of(std::uint64_t number) {
  Key key;
  Random random(number * 0x9E37U + 1);
  for (auto& byte : key.bytes) byte = static_cast<std::uint8_t>(random.next());
  return key;
}

ClaimRequest claim_of(std::uint64_t number) {
  ClaimRequest claim;
  claim.key = key_of(number);
  claim.nid.bytes[0] = static_cast<std::uint8_t>(number);
  claim.event = LookupHash(number);
  claim.recipient = LookupHash(number % 7 + 1);
  claim.fingerprint.bytes[0] = 1;
  claim.lease = std::chrono::seconds(30);
  claim.retention = std::chrono::hours(48);
  claim.stored_at = kNoon;
  claim.deadline = kNoon + std::chrono::hours(24);
  claim.message_class = "orders";
  claim.provider = "apns";
  claim.ref = "dev-1";
  claim.event_id = "ord-" + std::to_string(number);
  return claim;
}

Settlement settle_of(std::uint64_t number, Fence fence, State state, Effect effect) {
  Settlement settlement;
  settlement.key = key_of(number);
  settlement.fence = fence;
  settlement.state = state;
  settlement.verdict.name =
      effect == Effect::sent ? VerdictClass::accepted : VerdictClass::ambiguous;
  settlement.verdict.effect = effect;
  settlement.verdict.fault = effect == Effect::sent ? Fault::none : Fault::provider;
  settlement.verdict.reason = effect == Effect::sent ? "" : "some reason";
  if (effect == Effect::sent) settlement.verdict.message_id = "receipt-" + std::to_string(number);
  settlement.counted = true;
  settlement.retention = std::chrono::hours(48);
  return settlement;
}

LedgerReply run(Ledger& ledger, Ticket ticket, LedgerRequest request, WallTime now) {
  const std::vector<TicketedRequest> batch{{.ticket = ticket, .request = std::move(request)}};
  auto replies = ledger.commit(batch, now);
  EXPECT_TRUE(replies.has_value()) << (replies ? "" : replies.error().text);
  if (!replies) return {};
  EXPECT_EQ(replies->size(), 1U);
  EXPECT_EQ(replies->front().ticket, ticket);
  return std::move(replies->front().reply);
}

}  // namespace sendonce::test
