#include "ledger/lmdb/row_scan.hpp"

#include <cstring>
#include <utility>

#include "ledger/row_codec.hpp"

namespace sendonce {
namespace {

// About 10 ms of reading from memory, a second from a slow disk.
constexpr std::size_t kRowsPerTxn = 20'000;
constexpr std::size_t kMatchesPerTxn = 1000;

bool matches(const RowFilter& filter, const RowPeek& row) {
  return (!filter.key || row.key == *filter.key) && (!filter.event || row.event == *filter.event) &&
         (!filter.recipient || row.recipient == *filter.recipient) &&
         (!filter.campaign || row.campaign == *filter.campaign) &&
         (!filter.state || row.state == *filter.state) &&
         (!filter.dead_letter || row.dead_letter == *filter.dead_letter);
}

struct Chunk {
  std::vector<Row> matches{};
  std::uint64_t next = 0;  // where to go on
  bool last = false;
};

// One transaction's worth. The visitor is called after it has ended: a slow one must not pin pages.
Result<Chunk> read_chunk(const LmdbEnv& env, const ScanTable& table, const RowFilter& filter,
                         std::uint64_t from) {
  SO_TRY(const LmdbTxn txn, LmdbTxn::begin(env, MDB_RDONLY));
  SO_TRY(const LmdbCursor cursor, LmdbCursor::open(txn, table.table));
  Chunk chunk{.matches = {}, .next = from, .last = false};
  MDB_val k = lmdb_sequence(from);
  MDB_val v{};
  int rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_SET_RANGE);
  for (std::size_t read = 0; rc == 0 && read < kRowsPerTxn && chunk.matches.size() < kMatchesPerTxn;
       ++read) {
    std::memcpy(&chunk.next, k.mv_data, sizeof chunk.next);
    ++chunk.next;
    SO_TRY(const RowPeek peek, peek_row(lmdb_text(v)));
    if (matches(filter, peek)) {
      SO_TRY(Row row, decode_row(lmdb_text(v)));
      chunk.matches.push_back(std::move(row));
    }
    rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_NEXT);
  }
  if (rc != 0 && rc != MDB_NOTFOUND) return lmdb_fail("scan of " + table.scope, rc);
  chunk.last = rc == MDB_NOTFOUND;
  return chunk;
}

using Devices = std::vector<std::pair<DeviceHash, DeviceRow>>;

// The next ones behind `after`, in a transaction of their own; none: that was the last.
Result<Devices> read_devices(const LmdbEnv& env, MDB_dbi table,
                             const std::optional<DeviceHash>& after) {
  SO_TRY(const LmdbTxn txn, LmdbTxn::begin(env, MDB_RDONLY));
  SO_TRY(const LmdbCursor cursor, LmdbCursor::open(txn, table));
  Devices out;
  MDB_val k = after ? lmdb_value(after->view()) : MDB_val{};
  MDB_val v{};
  int rc = mdb_cursor_get(cursor.get(), &k, &v, after ? MDB_SET_RANGE : MDB_FIRST);
  if (rc == 0 && after && lmdb_text(k) == after->view())
    rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_NEXT);
  for (; rc == 0 && out.size() < kMatchesPerTxn;
       rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_NEXT)) {
    if (k.mv_size != DeviceHash::kSize)
      return fail(Errc::corrupt, "ledger: device hash is damaged");
    DeviceHash hash;
    std::memcpy(hash.bytes.data(), k.mv_data, DeviceHash::kSize);
    SO_TRY(const DeviceRow row, decode_device(lmdb_text(v)));
    out.emplace_back(hash, row);
  }
  if (rc != 0 && rc != MDB_NOTFOUND) return lmdb_fail("scan of devices", rc);
  return out;
}

}  // namespace

Result<void> scan_device_table(const LmdbEnv& env, MDB_dbi table, const DeviceVisitor& visit,
                               const ScanGoesOn& goes_on) {
  std::optional<DeviceHash> after;
  while (!goes_on || goes_on()) {
    SO_TRY(const Devices devices, read_devices(env, table, after));
    if (devices.empty()) return {};
    for (const auto& [hash, row] : devices)
      if (!visit(hash, row)) return {};
    after = devices.back().first;
  }
  return {};
}

Result<void> scan_rows(const LmdbEnv& env, const std::vector<ScanTable>& tables,
                       const RowFilter& filter, const RowVisitor& visit,
                       const ScanGoesOn& goes_on) {
  for (const ScanTable& table : tables) {
    if (filter.scope && table.scope != *filter.scope) continue;
    for (Chunk chunk; !chunk.last;) {
      if (goes_on && !goes_on()) return {};
      SO_TRY(chunk, read_chunk(env, table, filter, chunk.next));
      for (const Row& row : chunk.matches) {
        if (!visit(table.scope, row)) return {};
      }
    }
  }
  return {};
}

}  // namespace sendonce
