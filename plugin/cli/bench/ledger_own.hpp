// The ledger as a store of the bench.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ledger/lmdb/open.hpp"
#include "plugin/cli/bench/ledger_store.hpp"
#include "plugin/core/clock.hpp"

namespace sendonce::cli {

class OwnStore final : public BenchStore {
 public:
  // The ledger in `directory`, made anew unless one is there, as an earlier run left it.
  [[nodiscard]] static Result<std::unique_ptr<OwnStore>> make(const std::string& directory);

  [[nodiscard]] std::string_view name() const override { return "sendonce"; }
  [[nodiscard]] Result<void> batch(std::uint64_t first, std::uint64_t count,
                                   std::int64_t settle_from) override;
  [[nodiscard]] Result<void> preload(std::uint64_t rows) override;

  // Records the outcomes of all claims that batch() has left open.
  [[nodiscard]] Result<void> settle_open();
  // Closes and opens it; how long the opening took.
  [[nodiscard]] Result<Duration> reopen();
  // Claims these keys, which have ended, once more.
  [[nodiscard]] Result<void> duplicates(std::span<const std::uint64_t> numbers);
  // Lets `ahead` pass, and with it the retention of what has ended before.
  [[nodiscard]] Result<void> advance(std::uint64_t number, Duration ahead);
  // Expires at most `rows`; how many it were.
  [[nodiscard]] Result<std::size_t> expire(std::size_t rows);

  [[nodiscard]] ClaimRequest claim(std::uint64_t number) const;
  [[nodiscard]] Ledger& ledger() const { return *ledger_; }
  [[nodiscard]] std::uint64_t rows() const { return ledger_->stats().rows; }
  [[nodiscard]] double file_bytes_a_row() const;
  [[nodiscard]] double index_bytes_a_row() const;
  // Of a settled row: what is stored, without the slack of its page.
  [[nodiscard]] Result<std::size_t> row_bytes() const;

 private:
  Result<void> open(LedgerDurability durability);
  void add_settlement(std::uint64_t number);
  [[nodiscard]] Fence take_fence(std::uint64_t number);

  LedgerOptions options_{};
  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::unique_ptr<LmdbLedger> ledger_{};
  std::vector<TicketedRequest> requests_{};
  std::deque<Fence> fences_{};        // of claims not settled yet
  std::uint64_t first_fence_of_ = 0;  // the number of the first of them
  std::uint64_t ticket_ = 0;
  Duration ahead_{};
};

}  // namespace sendonce::cli
