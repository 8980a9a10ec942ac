// The transaction of the memory ledger: changes the disk in place and can take it back.
#pragma once

#include <functional>
#include <vector>

#include "ledger/memory/memory_ledger.hpp"
#include "ledger/store.hpp"

namespace sendonce {

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(MemoryDisk& disk) : disk_(disk) {}

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

  void commit() { undo_.clear(); }
  void abort();  // as if nothing had happened

 private:
  MemoryDisk& disk_;
  std::vector<std::function<void()>> undo_{};  // run from the back
};

}  // namespace sendonce
