#include "ledger/lmdb/lmdb_store.hpp"

#include <cstring>
#include <utility>

#include "ledger/lmdb/audit_table.hpp"
#include "ledger/outbox_codec.hpp"
#include "plugin/core/assert.hpp"

namespace sendonce {
namespace {

// Of one page of outbox entries: what is read is held in memory until it is published.
constexpr std::size_t kOutboxPageBytes = std::size_t{4} << 20U;

OutboxSeq outbox_seq(const MDB_val& key) {
  std::uint64_t seq = 0;
  SO_ASSERT(key.mv_size == sizeof seq);
  std::memcpy(&seq, key.mv_data, sizeof seq);
  return OutboxSeq(seq);
}

// A damaged one is as none: it decides nothing about sending, so it must not stop a commit.
Result<std::optional<DeviceBinding>> sound_binding(const MDB_val& value) {
  const auto binding = decode_binding(lmdb_text(value));
  if (binding) return std::optional(*binding);
  if (binding.error().code == Errc::corrupt) return std::optional<DeviceBinding>{};
  return std::unexpected(binding.error());
}

}  // namespace

Result<std::optional<StoredRow>> LmdbStore::find(ScopeIndex scope, const Key& key) {
  return tables_.rows.at(scope.get()).find(txn_, key);
}

Result<std::optional<Row>> LmdbStore::at(RowId id) {
  return tables_.rows.at(table_of(id)).at(txn_, sequence_of(id));
}

Result<RowId> LmdbStore::insert(ScopeIndex scope, const Row& row) {
  return tables_.rows.at(scope.get()).insert(txn_, row);
}

Result<void> LmdbStore::update(RowId id, const Row& row, const Key& old_key) {
  return tables_.rows.at(table_of(id)).update(txn_, sequence_of(id), row, old_key);
}

Result<Expiry> LmdbStore::expire(WallTime memory_now, std::size_t max) {
  Expiry expiry;
  for (RowTable& table : tables_.rows) {
    const std::size_t done = expiry.removed + expiry.moved.size();
    if (done >= max) break;
    SO_CHECK(table.expire(txn_, memory_now, max - done, expiry));
  }
  return expiry;
}

Result<std::optional<DeviceRow>> LmdbStore::device(const DeviceHash& hash) {
  const std::uint64_t bits = device_bits(hash);
  const auto same = [bits](std::uint64_t candidate) { return candidate == bits; };
  if (tables_.device_index.find(device_key(hash), same) == 0) return std::optional<DeviceRow>{};
  MDB_val k = lmdb_value(hash.view());
  MDB_val v{};
  const int rc = mdb_get(txn_.get(), tables_.devices, &k, &v);
  if (rc == MDB_NOTFOUND) return std::optional<DeviceRow>{};
  if (rc != 0) return lmdb_fail("read of devices", rc);
  SO_TRY(const DeviceRow row, decode_device(lmdb_text(v)));
  return std::optional(row);
}

Result<void> LmdbStore::put_device(const DeviceHash& hash, const DeviceRow& row) {
  const std::string bytes = encode_device(row);
  MDB_val k = lmdb_value(hash.view());
  MDB_val v = lmdb_value(bytes);
  if (const int rc = mdb_put(txn_.get(), tables_.devices, &k, &v, 0); rc != 0)
    return lmdb_fail("write of devices", rc);
  // Too early if the commit fails, which does no harm: a hit is looked up in the table.
  const std::uint64_t bits = device_bits(hash);
  const auto same = [bits](std::uint64_t candidate) { return candidate == bits; };
  if (tables_.device_index.find(device_key(hash), same) == 0)
    tables_.device_index.insert(device_key(hash), bits);
  return {};
}

Result<std::optional<DeviceBinding>> LmdbStore::binding(const DeviceHash& hash) {
  if (!tables_.any_bindings) return std::optional<DeviceBinding>{};
  MDB_val k = lmdb_value(hash.view());
  MDB_val v{};
  const int rc = mdb_get(txn_.get(), tables_.bindings, &k, &v);
  if (rc == MDB_NOTFOUND) return std::optional<DeviceBinding>{};
  if (rc != 0) return lmdb_fail("read of bindings", rc);
  return sound_binding(v);
}

Result<void> LmdbStore::put_binding(const DeviceHash& hash, const DeviceBinding& binding) {
  tables_.any_bindings = true;  // too early if the commit fails, which does no harm
  const std::string bytes = encode_binding(binding);
  MDB_val k = lmdb_value(hash.view());
  MDB_val v = lmdb_value(bytes);
  if (const int rc = mdb_put(txn_.get(), tables_.bindings, &k, &v, 0); rc != 0)
    return lmdb_fail("write of bindings", rc);
  return {};
}

Result<void> LmdbStore::forget_bindings(WallTime used, std::size_t max) {
  if (!tables_.any_bindings) return {};
  SO_TRY(const LmdbCursor cursor, LmdbCursor::open(txn_, tables_.bindings));
  std::string& at = tables_.bindings_seen;
  MDB_val k = lmdb_value(at);
  MDB_val v{};
  int rc = mdb_cursor_get(cursor.get(), &k, &v, at.empty() ? MDB_FIRST : MDB_SET_RANGE);
  for (std::size_t i = 0; i < max && rc == 0; ++i) {
    SO_TRY(const std::optional<DeviceBinding> binding, sound_binding(v));
    at.assign(lmdb_text(k));
    if (!binding || binding->used < used) rc = mdb_cursor_del(cursor.get(), 0);
    if (rc == 0) rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_NEXT);
  }
  if (rc != 0 && rc != MDB_NOTFOUND) return lmdb_fail("looking through bindings", rc);
  if (rc == MDB_NOTFOUND) at.clear();  // that was the last: from the first again
  return {};
}

Result<void> LmdbStore::append_outbox(const OutboxEntry& entry) {
  std::uint64_t seq = entry.seq.get();
  const std::string bytes = encode_outbox(entry);
  MDB_val k = lmdb_sequence(seq);
  MDB_val v = lmdb_value(bytes);
  if (const int rc = mdb_put(txn_.get(), tables_.outbox, &k, &v, MDB_APPEND); rc != 0)
    return lmdb_fail("append to outbox", rc);
  return {};
}

Result<OutboxPage> LmdbStore::read_outbox(const OutboxRead& read) {
  OutboxPage page;
  SO_TRY(const LmdbCursor cursor, LmdbCursor::open(txn_, tables_.outbox));
  std::uint64_t from = read.after.get() + 1;
  MDB_val k = lmdb_sequence(from);
  MDB_val v{};
  std::size_t bytes = 0;
  int rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_SET_RANGE);
  while (rc == 0 && page.entries.size() < read.max_entries && bytes < kOutboxPageBytes) {
    SO_TRY(OutboxEntry entry, decode_outbox(outbox_seq(k), lmdb_text(v)));
    bytes += v.mv_size;
    page.entries.push_back(std::move(entry));
    rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_NEXT);
  }
  if (rc != 0 && rc != MDB_NOTFOUND) return lmdb_fail("read of outbox", rc);
  return page;
}

Result<void> LmdbStore::remove_outbox(OutboxSeq seq) {
  std::uint64_t number = seq.get();
  MDB_val k = lmdb_sequence(number);
  const int rc = mdb_del(txn_.get(), tables_.outbox, &k, nullptr);
  if (rc != 0 && rc != MDB_NOTFOUND) return lmdb_fail("delete from outbox", rc);
  return {};
}

Result<void> LmdbStore::append_audit(const AuditEntry& entry) {
  return append_audit_entry(txn_, tables_.audit, entry);
}

Result<AuditPage> LmdbStore::read_audit(const AuditRead& read) {
  return read_audit_table(txn_, tables_.audit, read);
}

std::optional<WallTime> LmdbStore::adopted_at(ScopeIndex scope) const {
  return tables_.adopted.at(scope.get());
}

void LmdbStore::prefetch(std::span<const TicketedRequest> batch) const {
  const auto for_each_key = [&](auto touch) {
    for (const TicketedRequest& request : batch) {
      if (const auto* claim = std::get_if<ClaimRequest>(&request.request)) {
        touch(tables_.rows.at(claim->scope.get()).index(), claim->key);
      } else if (const auto* settlement = std::get_if<Settlement>(&request.request)) {
        touch(tables_.rows.at(settlement->scope.get()).index(), settlement->key);
      }
    }
  };
  for_each_key([](const KeyIndex& index, const Key& key) { index.prefetch_segment(key); });
  for_each_key([](const KeyIndex& index, const Key& key) { index.prefetch_slot(key); });
}

void LmdbStore::committed() {
  for (RowTable& table : tables_.rows) table.committed();
}

void LmdbStore::abandoned() {
  for (RowTable& table : tables_.rows) table.abandoned();
}

Result<OutboxState> outbox_state(const LmdbTxn& txn, MDB_dbi outbox) {
  OutboxState state;
  SO_TRY(state.entries, entries(txn, outbox));
  if (state.entries == 0) return state;
  SO_TRY(const LmdbCursor cursor, LmdbCursor::open(txn, outbox));
  MDB_val k{};
  MDB_val v{};
  if (const int rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_FIRST); rc != 0)
    return lmdb_fail("read of outbox", rc);
  SO_TRY(state.oldest, outbox_created(lmdb_text(v)));
  if (const int rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_LAST); rc != 0)
    return lmdb_fail("read of outbox", rc);
  state.last = outbox_seq(k);
  return state;
}

}  // namespace sendonce
