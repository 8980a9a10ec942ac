#include "ledger/lmdb/meta_table.hpp"

#include <array>

#include "ledger/bytes.hpp"

namespace sendonce {
namespace {

constexpr const char* kTableName = "meta";
constexpr std::string_view kAdoptedPrefix = "adopted:";

}  // namespace

Result<MetaTable> MetaTable::open(const LmdbTxn& txn, bool create) {
  MDB_dbi table = 0;
  const int rc = mdb_dbi_open(txn.get(), kTableName, create ? MDB_CREATE : 0U, &table);
  if (rc == MDB_NOTFOUND || rc == MDB_INCOMPATIBLE)
    return fail(Errc::invalid, "ledger: an LMDB file, but not one of sendonce");
  if (rc != 0) return lmdb_fail("open table meta", rc);
  return MetaTable(table);
}

Result<std::optional<std::string>> MetaTable::text(const LmdbTxn& txn, std::string_view key) const {
  MDB_val k = lmdb_value(key);
  MDB_val v{};
  const int rc = mdb_get(txn.get(), table_, &k, &v);
  if (rc == MDB_NOTFOUND) return std::optional<std::string>{};
  if (rc != 0) return lmdb_fail("read meta", rc);
  return std::optional(std::string(lmdb_text(v)));
}

Result<void> MetaTable::put_text(const LmdbTxn& txn, std::string_view key,
                                 std::string_view value) const {
  MDB_val k = lmdb_value(key);
  MDB_val v = lmdb_value(value);
  if (const int rc = mdb_put(txn.get(), table_, &k, &v, 0); rc != 0)
    return lmdb_fail("write meta", rc);
  return {};
}

Result<void> MetaTable::remove(const LmdbTxn& txn, std::string_view key) const {
  MDB_val k = lmdb_value(key);
  const int rc = mdb_del(txn.get(), table_, &k, nullptr);
  if (rc != 0 && rc != MDB_NOTFOUND) return lmdb_fail("write meta", rc);
  return {};
}

Result<std::uint64_t> MetaTable::number(const LmdbTxn& txn, std::string_view key) const {
  SO_TRY(const auto bytes, text(txn, key));
  if (!bytes) return std::uint64_t{0};
  if (bytes->size() != sizeof(std::uint64_t))
    return fail(Errc::corrupt, "ledger: meta value " + std::string(key) + " is damaged");
  return load<std::uint64_t>(*bytes, 0);
}

Result<void> MetaTable::put_number(const LmdbTxn& txn, std::string_view key,
                                   std::uint64_t value) const {
  std::array<char, sizeof value> bytes{};
  store(bytes.data(), value);
  return put_text(txn, key, {bytes.data(), bytes.size()});
}

Result<std::optional<WallTime>> MetaTable::adopted_at(const LmdbTxn& txn,
                                                      std::string_view scope) const {
  SO_TRY(const auto bytes, text(txn, std::string(kAdoptedPrefix) + std::string(scope)));
  if (!bytes) return std::optional<WallTime>{};
  if (bytes->size() != sizeof(std::uint64_t))
    return fail(Errc::corrupt, "ledger: adoption time of " + std::string(scope) + " is damaged");
  return std::optional(
      WallTime(Duration(static_cast<Duration::rep>(load<std::uint64_t>(*bytes, 0)))));
}

Result<void> MetaTable::put_adopted_at(const LmdbTxn& txn, std::string_view scope,
                                       WallTime at) const {
  return put_number(txn, std::string(kAdoptedPrefix) + std::string(scope),
                    static_cast<std::uint64_t>(at.time_since_epoch().count()));
}

Result<void> MetaTable::check_format(const LmdbTxn& txn) const {
  SO_TRY(const std::uint64_t format, number(txn, kMetaFormat));
  if (format == kLedgerFormat) return {};
  if (format == 0) return fail(Errc::invalid, "ledger: an LMDB file, but not one of sendonce");
  return fail(Errc::invalid, "ledger: format " + std::to_string(format) +
                                 " was written by a newer version; this one reads format " +
                                 std::to_string(kLedgerFormat));
}

}  // namespace sendonce
