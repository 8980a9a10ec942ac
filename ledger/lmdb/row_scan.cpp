#include "ledger/lmdb/row_scan.hpp"

#include <cstring>

#include "ledger/row_codec.hpp"

namespace sendonce {
namespace {

// About 10 ms of reading from memory, a second from a slow disk.
constexpr std::size_t kRowsPerTxn = 20'000;

bool matches(const RowFilter& filter, const RowPeek& row) {
  return (!filter.key || row.key == *filter.key) && (!filter.event || row.event == *filter.event) &&
         (!filter.recipient || row.recipient == *filter.recipient) &&
         (!filter.campaign || row.campaign == *filter.campaign) &&
         (!filter.state || row.state == *filter.state) &&
         (!filter.dead_letter || row.dead_letter == *filter.dead_letter);
}

enum class Progress : std::uint8_t { more, table_done, stopped };

// One transaction's worth, from `sequence` on, which is moved to where to go on.
Result<Progress> scan_some(const LmdbEnv& env, const ScanTable& table, const RowFilter& filter,
                           const RowVisitor& visit, std::uint64_t& sequence) {
  SO_TRY(const LmdbTxn txn, LmdbTxn::begin(env, MDB_RDONLY));
  SO_TRY(const LmdbCursor cursor, LmdbCursor::open(txn, table.table));
  std::uint64_t from = sequence;
  MDB_val k = lmdb_sequence(from);
  MDB_val v{};
  int rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_SET_RANGE);
  for (std::size_t read = 0; rc == 0 && read < kRowsPerTxn; ++read) {
    std::memcpy(&sequence, k.mv_data, sizeof sequence);
    ++sequence;
    SO_TRY(const RowPeek peek, peek_row(lmdb_text(v)));
    if (matches(filter, peek)) {
      SO_TRY(const Row row, decode_row(lmdb_text(v)));
      if (!visit(table.scope, row)) return Progress::stopped;
    }
    rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_NEXT);
  }
  if (rc == 0) return Progress::more;
  if (rc != MDB_NOTFOUND) return lmdb_fail("scan of " + table.scope, rc);
  return Progress::table_done;
}

}  // namespace

Result<void> scan_rows(const LmdbEnv& env, const std::vector<ScanTable>& tables,
                       const RowFilter& filter, const RowVisitor& visit) {
  for (const ScanTable& table : tables) {
    if (filter.scope && table.scope != *filter.scope) continue;
    std::uint64_t sequence = 0;
    Progress progress = Progress::more;
    while (progress == Progress::more) {
      SO_TRY(progress, scan_some(env, table, filter, visit, sequence));
    }
    if (progress == Progress::stopped) return {};
  }
  return {};
}

}  // namespace sendonce
