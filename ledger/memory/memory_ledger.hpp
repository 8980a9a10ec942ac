// The ledger in memory, for the simulator and for tests: same rules, same atomicity, no disk. What
// it has committed lives in a MemoryDisk, which outlives it as a disk outlives a process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ledger/batch.hpp"
#include "ledger/ledger.hpp"
#include "ledger/store.hpp"

namespace sendonce {

// Plain data, changed only by a committed batch. Not thread-safe.
struct MemoryDisk {
  struct Table {
    std::map<std::uint64_t, Row> rows{};  // by sequence
    std::unordered_map<Key, std::uint64_t> by_key{};
    std::uint64_t next_sequence = 1;
    std::optional<WallTime> adopted_at{};
  };
  std::vector<Table> tables{};  // by ScopeIndex
  std::unordered_map<DeviceHash, DeviceRow> devices{};
  std::unordered_map<DeviceHash, DeviceBinding> bindings{};
  std::map<std::uint64_t, OutboxEntry> outbox{};
  std::map<std::uint64_t, AuditEntry> audit{};
  std::uint32_t incarnation = 0;
  std::uint64_t next_fence = 1;
  std::uint64_t next_outbox = 1;
};

struct MemoryLedgerOptions {
  std::size_t scopes = 1;
  std::string id = "memory";
  CommitFault fault{};
  // Above this number of rows claims stop (0: never), as a full map does.
  std::size_t rows_max = 0;
};

class MemoryStore;

class MemoryLedger final : public Ledger {
 public:
  // A new incarnation on `disk`, which must outlive it.
  MemoryLedger(MemoryDisk& disk, MemoryLedgerOptions options);
  ~MemoryLedger() override;

  [[nodiscard]] Result<std::vector<TicketedReply>> commit(std::span<const TicketedRequest> batch,
                                                          WallTime now) override;
  [[nodiscard]] Result<void> recover() override;
  [[nodiscard]] const LedgerStats& stats() const override { return stats_; }
  [[nodiscard]] Incarnation incarnation() const override { return life_.incarnation; }
  [[nodiscard]] const std::string& id() const override { return options_.id; }

 private:
  void rebuild();
  void publish_stats();
  std::optional<Errc> fault_at(CommitStage stage) const;

  MemoryDisk& disk_;
  MemoryLedgerOptions options_;
  LedgerLife life_{};
  EventBatch events_;
  LedgerStats stats_{};
  bool lost_ = false;  // a commit ended in doubt: only recover() helps
};

}  // namespace sendonce
