#include "ledger/lmdb/audit_table.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "ledger/lmdb/lmdb_tables.hpp"

namespace sendonce {
namespace {

Result<std::uint64_t> sequence_in(const MDB_val& key) {
  std::uint64_t sequence = 0;
  if (key.mv_size != sizeof sequence)
    return fail(Errc::corrupt, "ledger audit: a sequence of another size");
  std::memcpy(&sequence, key.mv_data, sizeof sequence);
  return sequence;
}

}  // namespace

Result<void> append_audit_entry(const LmdbTxn& txn, MDB_dbi table, const AuditEntry& entry) {
  SO_TRY(const LmdbCursor cursor, LmdbCursor::open(txn, table));
  MDB_val k{};
  MDB_val v{};
  std::uint64_t sequence = 1;
  int rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_LAST);
  if (rc == 0) {
    SO_TRY(sequence, sequence_in(k));
    ++sequence;
  } else if (rc != MDB_NOTFOUND) {
    return lmdb_fail("read of audit", rc);
  }
  const std::string bytes = encode_audit(entry);
  k = lmdb_sequence(sequence);
  v = lmdb_value(bytes);
  if (rc = mdb_cursor_put(cursor.get(), &k, &v, MDB_APPEND); rc != 0)
    return lmdb_fail("append to audit", rc);
  SO_TRY(std::uint64_t count, entries(txn, table));
  for (; count > kAuditKept; --count) {
    rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_FIRST);
    if (rc == 0) rc = mdb_cursor_del(cursor.get(), 0);
    if (rc != 0) return lmdb_fail("delete from audit", rc);
  }
  return {};
}

Result<AuditPage> read_audit_table(const LmdbTxn& txn, MDB_dbi table, const AuditRead& read) {
  SO_TRY(const LmdbCursor cursor, LmdbCursor::open(txn, table));
  AuditPage page;
  std::uint64_t before = read.before.get();
  MDB_val k = lmdb_sequence(before);
  MDB_val v{};
  int rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_SET_RANGE);
  if (rc == 0 || rc == MDB_NOTFOUND)
    rc = mdb_cursor_get(cursor.get(), &k, &v, rc == 0 ? MDB_PREV : MDB_LAST);
  for (; rc == 0 && page.entries.size() < read.max_entries;
       rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_PREV)) {
    SO_TRY(const std::uint64_t sequence, sequence_in(k));
    auto entry = decode_audit(AuditSeq(sequence), lmdb_text(v));
    if (entry) {
      page.entries.push_back(std::move(*entry));
    } else if (entry.error().code != Errc::corrupt) {
      return std::unexpected(std::move(entry).error());
    }
  }
  if (rc != 0 && rc != MDB_NOTFOUND) return lmdb_fail("read of audit", rc);
  return page;
}

}  // namespace sendonce
