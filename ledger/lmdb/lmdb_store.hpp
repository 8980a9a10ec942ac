// One write transaction of the LMDB ledger.
#pragma once

#include <span>

#include "ledger/lmdb/lmdb_tables.hpp"
#include "ledger/store.hpp"

namespace sendonce {

// Both outlive it. Call one of committed() and abandoned() when the transaction has ended.
class LmdbStore final : public Store {
 public:
  LmdbStore(const LmdbTxn& txn, LmdbTables& tables) : txn_(txn), tables_(tables) {}

  [[nodiscard]] Result<std::optional<StoredRow>> find(ScopeIndex scope, const Key& key) override;
  [[nodiscard]] Result<std::optional<Row>> at(RowId id) override;
  [[nodiscard]] Result<RowId> insert(ScopeIndex scope, const Row& row) override;
  [[nodiscard]] Result<void> update(RowId id, const Row& row, const Key& old_key) override;
  [[nodiscard]] Result<Expiry> expire(WallTime memory_now, std::size_t max) override;
  [[nodiscard]] Result<std::optional<DeviceRow>> device(const DeviceHash& hash) override;
  [[nodiscard]] Result<void> put_device(const DeviceHash& hash, const DeviceRow& row) override;
  [[nodiscard]] Result<std::optional<DeviceBinding>> binding(const DeviceHash& hash) override;
  [[nodiscard]] Result<void> put_binding(const DeviceHash& hash,
                                         const DeviceBinding& binding) override;
  [[nodiscard]] Result<void> forget_bindings(WallTime used, std::size_t max) override;
  [[nodiscard]] Result<void> append_outbox(const OutboxEntry& entry) override;
  [[nodiscard]] Result<OutboxPage> read_outbox(const OutboxRead& read) override;
  [[nodiscard]] Result<void> remove_outbox(OutboxSeq seq) override;
  [[nodiscard]] Result<void> append_audit(const AuditEntry& entry) override;
  [[nodiscard]] Result<AuditPage> read_audit(const AuditRead& read) override;
  [[nodiscard]] std::optional<WallTime> adopted_at(ScopeIndex scope) const override;

  // Warms up the index for a batch that is about to be applied.
  void prefetch(std::span<const TicketedRequest> batch) const;
  void committed();
  void abandoned();

 private:
  const LmdbTxn& txn_;
  LmdbTables& tables_;
};

struct OutboxState {
  std::uint64_t entries = 0;
  std::optional<WallTime> oldest{};
  OutboxSeq last{};
};
[[nodiscard]] Result<OutboxState> outbox_state(const LmdbTxn& txn, MDB_dbi outbox);

}  // namespace sendonce
