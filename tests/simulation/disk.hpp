// The ledger under simulation: production's batch, rules and codecs over a disk that is a few maps
// of stored bytes. Every row, device and outbox entry is kept encoded, as LMDB keeps it, and a
// commit can fail at each stage, with the result unknown, or never come back.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ledger/batch.hpp"
#include "ledger/ledger.hpp"
#include "ledger/row_codec.hpp"
#include "ledger/store.hpp"

namespace sendonce::sim {

struct Disk {  // survives the process
  struct Stored {
    std::string bytes{};  // encoded
    RowPeek peek{};       // of the bytes, looked at when they were written
  };
  struct Table {
    std::map<std::uint64_t, Stored> rows{};  // by sequence
    std::unordered_map<Key, std::uint64_t> by_key{};
    std::uint64_t next_sequence = 1;
    std::optional<WallTime> adopted_at{};
  };
  std::vector<Table> tables{};
  std::map<DeviceHash, std::string> devices{};
  std::map<DeviceHash, std::string> bindings{};
  std::map<std::uint64_t, std::string> outbox{};
  std::uint32_t incarnation = 0;
  std::uint64_t fence_limit = 1;  // above every fence that may have been given away
  std::uint64_t outbox_limit = 1;
};

// What one request did to one row, in order.
struct RowChange {
  std::size_t request = 0;  // its place in the batch
  std::optional<Row> before{};
  std::optional<Row> after{};  // empty: forgotten
};
struct DeviceChanged {
  std::size_t request = 0;
  DeviceHash hash{};
  std::optional<DeviceRow> before{};
  DeviceRow after{};
};
struct Changes {
  std::vector<RowChange> rows{};
  std::vector<DeviceChanged> devices{};
  std::vector<OutboxEntry> appended{};
  std::vector<OutboxSeq> removed{};
};

class DiskStore final : public Store {
 public:
  explicit DiskStore(Disk& disk) : disk_(disk) {}

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
  // Nobody decides anything in the simulation.
  [[nodiscard]] Result<void> append_audit(const AuditEntry&) override { return {}; }
  [[nodiscard]] Result<AuditPage> read_audit(const AuditRead&) override { return AuditPage{}; }
  [[nodiscard]] std::optional<WallTime> adopted_at(ScopeIndex scope) const override;

  void next_request() { ++request_; }
  [[nodiscard]] Changes& changes() { return changes_; }
  void abort();  // as if nothing had happened

 private:
  Disk& disk_;
  std::size_t request_ = 0;
  Changes changes_{};
  std::vector<std::function<void()>> undo_{};  // run from the back
};

// Decodes what must be readable: anything else is a fault of the codec.
[[nodiscard]] Row stored_row(const std::string& bytes);

// Told of every commit that is durable, before anybody else knows.
class CommitWitness {
 public:
  virtual ~CommitWitness() = default;
  // `replies` is what the rules answered, whether or not the caller will ever hear it.
  virtual void committed(std::span<const TicketedRequest> batch,
                         std::span<const TicketedReply> replies, const Changes& changes,
                         Incarnation incarnation, WallTime now) = 0;
};

struct DiskOptions {
  std::string id{};
  CommitFault fault{};
  std::size_t rows_max = 0;  // claims stop there; 0: never
};

class DiskLedger final : public Ledger {
 public:
  DiskLedger(Disk& disk, DiskOptions options, CommitWitness& witness);

  [[nodiscard]] Result<std::vector<TicketedReply>> commit(std::span<const TicketedRequest> batch,
                                                          WallTime now) override;
  [[nodiscard]] Result<void> recover() override;
  [[nodiscard]] const LedgerStats& stats() const override { return stats_; }
  [[nodiscard]] Incarnation incarnation() const override { return life_.incarnation; }
  [[nodiscard]] const std::string& id() const override { return options_.id; }
  void set_rows_max(std::size_t rows) { options_.rows_max = rows; }

 private:
  void rebuild();
  void publish_stats();
  [[nodiscard]] std::optional<Errc> fault_at(CommitStage stage) const;
  void reserve_serials(std::size_t requests);

  Disk& disk_;
  DiskOptions options_;
  CommitWitness& witness_;
  LedgerLife life_{};
  EventBatch events_;
  LedgerStats stats_{};
  bool lost_ = false;
};

}  // namespace sendonce::sim
