#include <chrono>
#include <deque>
#include <utility>
#include <vector>

#include "ledger/lmdb/open.hpp"
#include "plugin/core/clock.hpp"
#include "tests/bench/ledger/bench_store.hpp"

namespace sendonce::bench {
namespace {

constexpr std::uint64_t kMapBytes = std::uint64_t{64} << 30U;

class SendonceStore final : public BenchStore {
 public:
  static Result<std::unique_ptr<BenchStore>> make(const std::string& directory) {
    auto store = std::unique_ptr<SendonceStore>(new SendonceStore);
    store->options_.directory = directory;
    store->options_.scopes = {"orders"};
    store->options_.map_bytes = kMapBytes;
    store->options_.check_file_system = false;
    SO_TRY(const std::string id, create_ledger(store->options_));
    SO_CHECK(store->open(LedgerDurability::commit));
    return store;
  }

  std::string_view name() const override { return "sendonce"; }

  Result<void> batch(std::uint64_t first, std::uint64_t count, std::int64_t settle_from) override {
    requests_.clear();
    for (std::uint64_t i = first; i < first + count; ++i) add_claim(i);
    if (settle_from >= 0) {
      for (std::uint64_t i = 0; i < count; ++i)
        add_settlement(static_cast<std::uint64_t>(settle_from) + i);
    }
    SO_TRY(const auto replies, ledger_->commit(requests_, clock_->wall()));
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto* claimed = std::get_if<Claimed>(&std::get<ClaimReply>(replies[i].reply));
      if (claimed == nullptr) return fail(Errc::internal, "not claimed");
      fences_.push_back(claimed->fence);
    }
    for (std::uint64_t i = count; i < replies.size(); ++i) {
      if (std::get<Settled>(replies[i].reply).state != State::accepted)
        return fail(Errc::internal, "not settled");
    }
    return {};
  }

  Result<void> preload(std::uint64_t rows) override {
    constexpr std::uint64_t kChunk = 2000;
    if (rows == 0) return {};
    SO_CHECK(open(LedgerDurability::process));
    for (std::uint64_t i = 0; i < rows; i += kChunk) {
      SO_CHECK(batch(i, kChunk, i == 0 ? -1 : static_cast<std::int64_t>(i - kChunk)));
    }
    fences_.clear();
    return open(LedgerDurability::commit);
  }

  std::string detail() const override {
    const LedgerStats& stats = ledger_->stats();
    const double rows = static_cast<double>(stats.rows);
    return std::to_string(stats.rows) + " rows, " +
           std::to_string(static_cast<double>(stats.used_bytes) / rows) + " B in the file and " +
           std::to_string(static_cast<double>(ledger_->index_bytes()) / rows) +
           " B in memory a row, opened in " + std::to_string(open_seconds_) + " s";
  }

 private:
  Result<void> open(LedgerDurability durability) {
    ledger_.reset();
    options_.durability = durability;
    const MonoTime from = clock_->mono();
    SO_TRY(ledger_, open_ledger(options_));
    open_seconds_ = std::chrono::duration<double>(clock_->mono() - from).count();
    return {};
  }

  void add_claim(std::uint64_t number) {
    const WallTime now = clock_->wall();
    ClaimRequest claim;
    fill_key(number, reinterpret_cast<char*>(claim.key.bytes.data()));
    claim.event = LookupHash(number + 1);
    claim.recipient = LookupHash(number % 1000 + 1);
    claim.lease = std::chrono::seconds(60);
    claim.retention = std::chrono::hours(72);
    claim.stored_at = now;
    claim.deadline = now + std::chrono::hours(24);
    claim.message_class = "orders";
    claim.provider = "apns";
    requests_.push_back({.ticket = Ticket(++ticket_), .request = std::move(claim)});
  }

  void add_settlement(std::uint64_t number) {
    Settlement settlement;
    fill_key(number, reinterpret_cast<char*>(settlement.key.bytes.data()));
    settlement.fence = fences_.front();
    fences_.pop_front();
    settlement.state = State::accepted;
    settlement.verdict.name = VerdictClass::accepted;
    settlement.verdict.effect = Effect::sent;
    settlement.verdict.fault = Fault::none;
    settlement.verdict.message_id = "6CB2B1C2-7E50-4C1A-9C4B-0F3E8D1A2B3C";
    settlement.counted = true;
    settlement.exceptional_only = true;
    settlement.retention = std::chrono::hours(72);
    requests_.push_back({.ticket = Ticket(++ticket_), .request = std::move(settlement)});
  }

  LedgerOptions options_{};
  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::unique_ptr<LmdbLedger> ledger_{};
  std::vector<TicketedRequest> requests_{};
  std::deque<Fence> fences_{};  // of claims not settled yet, in order
  std::uint64_t ticket_ = 0;
  double open_seconds_ = 0;
};

}  // namespace

Result<std::unique_ptr<BenchStore>> make_sendonce(const std::string& directory) {
  return SendonceStore::make(directory);
}

}  // namespace sendonce::bench
