// The ledger on disk: one memory-mapped LMDB file, rows in the order of arrival, keys in memory
// (docs/formats.md, "Ledger"). One write transaction and one or two disk flushes a batch.
//
// commit() and recover() belong to one thread; scan() may be called from any.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "ledger/batch.hpp"
#include "ledger/ledger.hpp"
#include "ledger/ledger_options.hpp"
#include "ledger/lmdb/row_scan.hpp"
#include "ledger/ownership.hpp"

namespace sendonce {

class LmdbStore;
class LmdbTxn;

class LmdbLedger final : public Ledger {
 public:
  // A new incarnation on the ledger in `options.directory`, which `lock` owns. Rebuilds the index:
  // 0.2 s per million rows when they are in the page cache.
  [[nodiscard]] static Result<std::unique_ptr<LmdbLedger>> open(LedgerOptions options,
                                                                OwnerLock lock);
  // Clean: a ledger of durability "process" is synced.
  ~LmdbLedger() override;

  [[nodiscard]] Result<std::vector<TicketedReply>> commit(std::span<const TicketedRequest> batch,
                                                          WallTime now) override;
  [[nodiscard]] Result<void> recover() override;
  [[nodiscard]] const LedgerStats& stats() const override { return stats_; }
  [[nodiscard]] Incarnation incarnation() const override { return life_.incarnation; }
  [[nodiscard]] const std::string& id() const override { return id_; }

  [[nodiscard]] const LedgerSecret& secret() const { return secret_; }
  [[nodiscard]] std::size_t index_bytes() const;

  // Any thread. Never blocks a commit(), and a recover() for one transaction of the scan only: then
  // it ends, unavailable. `goes_on`: see scan_rows().
  [[nodiscard]] Result<void> scan(const RowFilter& filter, const RowVisitor& visit,
                                  const ScanGoesOn& goes_on = {}) const;
  [[nodiscard]] Result<void> scan_devices(const DeviceVisitor& visit,
                                          const ScanGoesOn& goes_on = {}) const;

 private:
  struct Open;  // the environment and its tables

  LmdbLedger(LedgerOptions options, OwnerLock lock);

  Result<void> open_environment(bool new_incarnation);
  Result<void> try_open(bool new_incarnation);
  Result<void> begin_life(const LmdbTxn& txn, bool new_incarnation);
  Result<void> check_boot_id(const LmdbTxn& txn) const;
  Result<void> check_keys();
  Result<void> rebuild();
  Result<void> close_cleanly();

  // Runs `scan` with a `goes_on` that also ends it for a recovery.
  Result<void> scan_beside_recovery(
      const ScanGoesOn& goes_on,
      const std::function<Result<void>(const Open&, const ScanGoesOn&)>& scan) const;

  std::unexpected<Error> give_up(Batch& work, LmdbStore& store, Error error);
  Result<void> reserve_serials(const LmdbTxn& txn, std::size_t requests);
  Result<LedgerStats> read_stats(const LmdbTxn& txn) const;
  void publish(const LedgerStats& stats, WallTime now);
  void watch_disk(WallTime now);
  void check_readers();
  [[nodiscard]] Error commit_error(int rc) const;
  [[nodiscard]] std::optional<Error> injected(CommitStage stage) const;

  LedgerOptions options_;
  OwnerLock lock_;
  std::string id_{};
  LedgerSecret secret_{};
  LedgerLife life_{};
  std::unique_ptr<EventBatch> events_{};
  LedgerStats stats_{};
  std::uint64_t fence_limit_ = 0;
  std::uint64_t outbox_limit_ = 0;
  std::uint64_t reserved_bytes_ = 0;  // how long data.mdb has been made
  bool disk_low_ = false;
  std::optional<WallTime> disk_looked_at_{};
  bool lost_ = false;                       // a commit ended in doubt: only recover() helps
  mutable std::shared_mutex open_mutex_{};  // shared by scans, alone for recover()
  std::atomic<bool> recovering_{false};     // scans have to make room
  std::unique_ptr<Open> open_;
};

}  // namespace sendonce
