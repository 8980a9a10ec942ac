// What a batch needs from the medium it is applied to: one open write transaction over rows,
// devices and the outbox. Internal to the ledger; each implementation of the port has one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "ledger/device.hpp"
#include "ledger/ledger.hpp"
#include "ledger/row.hpp"
#include "plugin/core/error.hpp"

namespace sendonce {

// A row's place: its table in the upper 16 bits, its sequence in the lower 48. Changes when the row
// is stored again at the end of its table.
using RowId = Strong<struct RowIdTag, std::uint64_t>;
inline constexpr unsigned kRowSequenceBits = 48;
[[nodiscard]] constexpr RowId row_id(std::size_t table, std::uint64_t sequence) {
  return RowId(static_cast<std::uint64_t>(table) << kRowSequenceBits | sequence);
}
[[nodiscard]] constexpr std::size_t table_of(RowId id) {
  return static_cast<std::size_t>(id.get() >> kRowSequenceBits);
}
[[nodiscard]] constexpr std::uint64_t sequence_of(RowId id) {
  return id.get() & ((std::uint64_t{1} << kRowSequenceBits) - 1);
}

struct StoredRow {
  RowId id{};
  Row row{};
};

struct Expiry {
  std::size_t removed = 0;
  std::vector<std::pair<RowId, RowId>> moved{};  // rows that live on, stored again at the end
  std::optional<WallTime> next{};                // when looking again may be worth it
};

class Store {
 public:
  virtual ~Store() = default;

  [[nodiscard]] virtual Result<std::optional<StoredRow>> find(ScopeIndex scope, const Key& key) = 0;
  [[nodiscard]] virtual Result<std::optional<Row>> at(RowId id) = 0;
  [[nodiscard]] virtual Result<RowId> insert(ScopeIndex scope, const Row& row) = 0;
  // `old_key` is the key under which the row has been stored so far.
  [[nodiscard]] virtual Result<void> update(RowId id, const Row& row, const Key& old_key) = 0;
  // Deletes rows that may be forgotten, in all tables, from their heads.
  [[nodiscard]] virtual Result<Expiry> expire(WallTime memory_now, std::size_t max) = 0;

  [[nodiscard]] virtual Result<std::optional<DeviceRow>> device(const DeviceHash& hash) = 0;
  [[nodiscard]] virtual Result<void> put_device(const DeviceHash& hash, const DeviceRow& row) = 0;

  // A damaged one is as none.
  [[nodiscard]] virtual Result<std::optional<DeviceBinding>> binding(const DeviceHash& hash) = 0;
  [[nodiscard]] virtual Result<void> put_binding(const DeviceHash& hash,
                                                 const DeviceBinding& binding) = 0;
  // Looks at some of them, at others with the next call; those used last before `used` go, and
  // damaged ones.
  [[nodiscard]] virtual Result<void> forget_bindings(WallTime used, std::size_t max) = 0;

  [[nodiscard]] virtual Result<void> append_outbox(const OutboxEntry& entry) = 0;
  [[nodiscard]] virtual Result<OutboxPage> read_outbox(const OutboxRead& read) = 0;
  [[nodiscard]] virtual Result<void> remove_outbox(OutboxSeq seq) = 0;

  // Under the next sequence; the oldest go when there are more than kAuditKept.
  [[nodiscard]] virtual Result<void> append_audit(const AuditEntry& entry) = 0;
  [[nodiscard]] virtual Result<AuditPage> read_audit(const AuditRead& read) = 0;

  [[nodiscard]] virtual std::optional<WallTime> adopted_at(ScopeIndex scope) const = 0;
};

// For tests: makes a commit fail. Called at each stage of every batch; a code makes the batch fail
// there with it.
enum class CommitStage : std::uint8_t {
  write,          // before the first change
  before_commit,  // everything written, nothing durable
  after_commit,   // durable, and the caller is told that it failed
};
using CommitFault = std::function<std::optional<Errc>(CommitStage)>;

}  // namespace sendonce
