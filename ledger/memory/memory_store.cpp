#include "ledger/memory/memory_store.hpp"

#include <algorithm>
#include <utility>

#include "ledger/rules.hpp"
#include "plugin/core/assert.hpp"

namespace sendonce {

Result<std::optional<StoredRow>> MemoryStore::find(ScopeIndex scope, const Key& key) {
  const MemoryDisk::Table& table = disk_.tables.at(scope.get());
  const auto found = table.by_key.find(key);
  if (found == table.by_key.end()) return std::optional<StoredRow>{};
  return std::optional(
      StoredRow{.id = row_id(scope.get(), found->second), .row = table.rows.at(found->second)});
}

Result<std::optional<Row>> MemoryStore::at(RowId id) {
  const MemoryDisk::Table& table = disk_.tables.at(table_of(id));
  const auto found = table.rows.find(sequence_of(id));
  if (found == table.rows.end()) return std::optional<Row>{};
  return std::optional(found->second);
}

Result<RowId> MemoryStore::insert(ScopeIndex scope, const Row& row) {
  MemoryDisk::Table& table = disk_.tables.at(scope.get());
  const std::uint64_t sequence = table.next_sequence++;
  table.rows.emplace(sequence, row);
  const bool added = table.by_key.emplace(row.key, sequence).second;
  SO_ASSERT(added);
  undo_.emplace_back([&table, sequence, key = row.key] {
    table.rows.erase(sequence);
    table.by_key.erase(key);
  });
  return row_id(scope.get(), sequence);
}

Result<void> MemoryStore::update(RowId id, const Row& row, const Key& old_key) {
  MemoryDisk::Table& table = disk_.tables.at(table_of(id));
  Row& stored = table.rows.at(sequence_of(id));
  SO_ASSERT(stored.key == old_key);
  undo_.emplace_back([&table, before = stored, sequence = sequence_of(id)] {
    Row& changed = table.rows.at(sequence);
    table.by_key.erase(changed.key);
    table.by_key[before.key] = sequence;
    changed = before;
  });
  table.by_key.erase(old_key);
  table.by_key[row.key] = sequence_of(id);
  stored = row;
  return {};
}

Result<Expiry> MemoryStore::expire(WallTime memory_now, std::size_t max) {
  Expiry expiry;
  for (MemoryDisk::Table& table : disk_.tables) {
    for (auto at = table.rows.begin(); at != table.rows.end() && expiry.removed < max;) {
      const Row& row = at->second;
      if (!may_forget(row.state, row.dead_letter, row.keep_until, memory_now)) {
        ++at;
        continue;
      }
      undo_.emplace_back([&table, sequence = at->first, row] {
        table.rows.emplace(sequence, row);
        table.by_key[row.key] = sequence;
      });
      table.by_key.erase(row.key);
      at = table.rows.erase(at);
      ++expiry.removed;
    }
  }
  return expiry;
}

Result<std::optional<DeviceRow>> MemoryStore::device(const DeviceHash& hash) {
  const auto found = disk_.devices.find(hash);
  if (found == disk_.devices.end()) return std::optional<DeviceRow>{};
  return std::optional(found->second);
}

Result<void> MemoryStore::put_device(const DeviceHash& hash, const DeviceRow& row) {
  const auto found = disk_.devices.find(hash);
  if (found == disk_.devices.end()) {
    undo_.emplace_back([this, hash] { disk_.devices.erase(hash); });
  } else {
    undo_.emplace_back([this, hash, before = found->second] { disk_.devices[hash] = before; });
  }
  disk_.devices[hash] = row;
  return {};
}

Result<std::optional<DeviceBinding>> MemoryStore::binding(const DeviceHash& hash) {
  const auto found = disk_.bindings.find(hash);
  if (found == disk_.bindings.end()) return std::optional<DeviceBinding>{};
  return std::optional(found->second);
}

Result<void> MemoryStore::put_binding(const DeviceHash& hash, const DeviceBinding& binding) {
  const auto found = disk_.bindings.find(hash);
  if (found == disk_.bindings.end()) {
    undo_.emplace_back([this, hash] { disk_.bindings.erase(hash); });
  } else {
    undo_.emplace_back([this, hash, before = found->second] { disk_.bindings[hash] = before; });
  }
  disk_.bindings[hash] = binding;
  return {};
}

Result<void> MemoryStore::forget_bindings(WallTime used, std::size_t max) {
  for (auto at = disk_.bindings.begin(); at != disk_.bindings.end() && max > 0;) {
    if (at->second.used >= used) {
      ++at;
      continue;
    }
    undo_.emplace_back([this, before = *at] { disk_.bindings.insert(before); });
    at = disk_.bindings.erase(at);
    --max;
  }
  return {};
}

Result<void> MemoryStore::append_outbox(const OutboxEntry& entry) {
  const std::uint64_t seq = entry.seq.get();
  const bool added = disk_.outbox.emplace(seq, entry).second;
  SO_ASSERT(added);
  undo_.emplace_back([this, seq] { disk_.outbox.erase(seq); });
  return {};
}

Result<OutboxPage> MemoryStore::read_outbox(const OutboxRead& read) {
  OutboxPage page;
  for (auto at = disk_.outbox.upper_bound(read.after.get());
       at != disk_.outbox.end() && page.entries.size() < read.max_entries; ++at)
    page.entries.push_back(at->second);
  return page;
}

Result<void> MemoryStore::remove_outbox(OutboxSeq seq) {
  const auto found = disk_.outbox.find(seq.get());
  if (found == disk_.outbox.end()) return {};
  undo_.emplace_back([this, entry = found->second] { disk_.outbox[entry.seq.get()] = entry; });
  disk_.outbox.erase(found);
  return {};
}

Result<void> MemoryStore::append_audit(const AuditEntry& entry) {
  const std::uint64_t seq = disk_.audit.empty() ? 1 : disk_.audit.rbegin()->first + 1;
  // Through the codec, which cuts texts: every ledger keeps the same.
  SO_TRY(AuditEntry kept, decode_audit(AuditSeq(seq), encode_audit(entry)));
  disk_.audit.emplace(seq, std::move(kept));
  undo_.emplace_back([this, seq] { disk_.audit.erase(seq); });
  if (disk_.audit.size() <= kAuditKept) return {};
  undo_.emplace_back([this, oldest = disk_.audit.begin()->second] {
    disk_.audit.emplace(oldest.seq.get(), oldest);
  });
  disk_.audit.erase(disk_.audit.begin());
  return {};
}

Result<AuditPage> MemoryStore::read_audit(const AuditRead& read) {
  AuditPage page;
  for (auto at = disk_.audit.lower_bound(read.before.get());
       at != disk_.audit.begin() && page.entries.size() < read.max_entries;)
    page.entries.push_back((--at)->second);
  return page;
}

std::optional<WallTime> MemoryStore::adopted_at(ScopeIndex scope) const {
  return disk_.tables.at(scope.get()).adopted_at;
}

void MemoryStore::abort() {
  while (!undo_.empty()) {
    undo_.back()();
    undo_.pop_back();
  }
}

}  // namespace sendonce
