#include "ledger/lmdb/lmdb_tables.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sendonce {
namespace {

constexpr std::uint64_t kDevicesExpected = 4'000'000;
constexpr MDB_dbi kFreeTable = 0;  // LMDB's own two trees
constexpr MDB_dbi kMainTable = 1;
constexpr std::uint64_t kDeviceBits = (std::uint64_t{1} << 48U) - 1;

Result<MDB_stat> stat_of(const LmdbTxn& txn, MDB_dbi table) {
  MDB_stat stat{};
  if (const int rc = mdb_stat(txn.get(), table, &stat); rc != 0) return lmdb_fail("mdb_stat", rc);
  return stat;
}

}  // namespace

Key device_key(const DeviceHash& hash) {
  Key key;
  std::ranges::copy(hash.bytes, key.bytes.begin());
  return key;
}

std::uint64_t device_bits(const DeviceHash& hash) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, hash.bytes.data() + DeviceHash::kSize - sizeof bits, sizeof bits);
  return (bits & kDeviceBits) | 1U;
}

Result<std::vector<std::string>> stored_scopes(const LmdbTxn& txn) {
  const std::string prefix = RowTable::table_name("");
  std::vector<std::string> scopes;
  SO_TRY(const LmdbCursor cursor, LmdbCursor::open(txn, kMainTable));
  MDB_val k{};
  MDB_val v{};
  int rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_FIRST);
  for (; rc == 0; rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_NEXT)) {
    const std::string_view name = lmdb_text(k);
    if (name.starts_with(prefix)) scopes.emplace_back(name.substr(prefix.size()));
  }
  if (rc != MDB_NOTFOUND) return lmdb_fail("list tables", rc);
  return scopes;
}

Result<MDB_dbi> open_table(const LmdbTxn& txn, const std::string& name, unsigned flags) {
  MDB_dbi table = 0;
  if (const int rc = mdb_dbi_open(txn.get(), name.c_str(), flags, &table); rc != 0)
    return lmdb_fail("open table " + name, rc);
  return table;
}

Result<std::vector<std::string>> scopes_with_rows(const LmdbTxn& txn) {
  std::vector<std::string> scopes;
  SO_TRY(const std::vector<std::string> stored, stored_scopes(txn));
  for (const std::string& scope : stored) {
    SO_TRY(const MDB_dbi table, open_table(txn, RowTable::table_name(scope), MDB_INTEGERKEY));
    SO_TRY(const std::uint64_t rows, entries(txn, table));
    if (rows > 0) scopes.push_back(scope);
  }
  return scopes;
}

Result<LmdbTables> LmdbTables::open(const LmdbTxn& txn, const std::vector<std::string>& scopes,
                                    std::uint64_t rows_max, std::uint64_t seed) {
  SO_TRY(const MetaTable meta, MetaTable::open(txn, false));
  SO_CHECK(meta.check_format(txn));
  LmdbTables tables{.meta = meta, .device_index = KeyIndex(kDevicesExpected, seed)};
  SO_TRY(tables.outbox, open_table(txn, kOutboxTable, MDB_CREATE | MDB_INTEGERKEY));
  SO_TRY(tables.devices, open_table(txn, kDeviceTable, MDB_CREATE));
  SO_TRY(tables.audit, open_table(txn, kAuditTable, MDB_CREATE | MDB_INTEGERKEY));
  SO_TRY(tables.bindings, open_table(txn, kBindingTable, MDB_CREATE));
  SO_TRY(const std::uint64_t bindings, entries(txn, tables.bindings));
  tables.any_bindings = bindings > 0;
  std::vector<std::string> all = scopes;
  SO_TRY(std::vector<std::string> stored, stored_scopes(txn));
  for (std::string& scope : stored) {
    if (std::ranges::find(all, scope) == all.end()) all.push_back(std::move(scope));
  }
  if (all.size() + 8 > kTablesMax)
    return fail(Errc::invalid, "ledger: more than " + std::to_string(kTablesMax - 8) +
                                   " key scopes in one ledger");
  for (const std::string& scope : all) {
    SO_TRY(const MDB_dbi table,
           open_table(txn, RowTable::table_name(scope), MDB_CREATE | MDB_INTEGERKEY));
    tables.rows.emplace_back(scope, tables.rows.size(), table, rows_max, seed);
    SO_TRY(const auto adopted, meta.adopted_at(txn, scope));
    tables.adopted.push_back(adopted);
  }
  return tables;
}

Result<void> LmdbTables::rebuild_devices(const LmdbTxn& txn) {
  device_index.clear();
  SO_TRY(const LmdbCursor cursor, LmdbCursor::open(txn, devices));
  MDB_val k{};
  MDB_val v{};
  int rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_FIRST);
  for (; rc == 0; rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_NEXT)) {
    DeviceHash hash;
    if (k.mv_size != DeviceHash::kSize)
      return fail(Errc::corrupt, "ledger: device hash is damaged");
    std::memcpy(hash.bytes.data(), k.mv_data, DeviceHash::kSize);
    device_index.insert(device_key(hash), device_bits(hash));
  }
  if (rc != MDB_NOTFOUND) return lmdb_fail("scan of devices", rc);
  return {};
}

Result<std::uint64_t> entries(const LmdbTxn& txn, MDB_dbi table) {
  SO_TRY(const MDB_stat stat, stat_of(txn, table));
  return std::uint64_t{stat.ms_entries};
}

Result<std::uint64_t> bytes_in_use(const LmdbTxn& txn, std::vector<MDB_dbi> tables) {
  tables.insert(tables.end(), {kFreeTable, kMainTable});
  std::uint64_t pages = 2;
  std::uint64_t page_bytes = 0;
  for (const MDB_dbi table : tables) {
    SO_TRY(const MDB_stat stat, stat_of(txn, table));
    pages += stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
    page_bytes = stat.ms_psize;
  }
  return pages * page_bytes;
}

Result<std::uint64_t> LmdbTables::used_bytes(const LmdbTxn& txn) const {
  std::vector<MDB_dbi> all{meta.table(), outbox, devices, bindings, audit};
  for (const RowTable& table : rows) all.push_back(table.table());
  return bytes_in_use(txn, std::move(all));
}

Result<std::uint64_t> LmdbTables::row_count(const LmdbTxn& txn) const {
  std::uint64_t count = 0;
  for (const RowTable& table : rows) {
    SO_TRY(const std::uint64_t rows_there, entries(txn, table.table()));
    count += rows_there;
  }
  return count;
}

}  // namespace sendonce
