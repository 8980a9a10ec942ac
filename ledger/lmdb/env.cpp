#include "ledger/lmdb/env.hpp"

#include <cerrno>

namespace sendonce {

Errc lmdb_errc(int rc) {
  switch (rc) {
    case MDB_MAP_FULL:
    case MDB_TXN_FULL:
    case MDB_READERS_FULL:
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
      return Errc::exhausted;
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INVALID:
    case MDB_VERSION_MISMATCH:
      return Errc::corrupt;
    default:
      return Errc::unavailable;
  }
}

std::unexpected<Error> lmdb_fail(std::string_view what, int rc) {
  return fail(lmdb_errc(rc), "ledger: " + std::string(what) + ": " + mdb_strerror(rc));
}

MDB_val lmdb_value(std::string_view bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};
}

Result<LmdbEnv> LmdbEnv::open(const Options& options) {
  MDB_env* raw = nullptr;
  if (const int rc = mdb_env_create(&raw); rc != 0) return lmdb_fail("mdb_env_create", rc);
  LmdbEnv env(raw);
  if (const int rc = mdb_env_set_mapsize(raw, options.map_bytes); rc != 0)
    return lmdb_fail("mdb_env_set_mapsize", rc);
  if (const int rc = mdb_env_set_maxdbs(raw, options.tables_max); rc != 0)
    return lmdb_fail("mdb_env_set_maxdbs", rc);
  const unsigned flags = options.flags | MDB_NOTLS | MDB_NORDAHEAD;
  if (const int rc = mdb_env_open(raw, options.directory.c_str(), flags, 0600); rc != 0)
    return lmdb_fail("open " + options.directory, rc);
  return env;
}

Result<LmdbTxn> LmdbTxn::begin(const LmdbEnv& env, unsigned flags) {
  MDB_txn* txn = nullptr;
  if (const int rc = mdb_txn_begin(env.get(), nullptr, flags, &txn); rc != 0)
    return lmdb_fail("mdb_txn_begin", rc);
  return LmdbTxn(txn);
}

Result<LmdbCursor> LmdbCursor::open(const LmdbTxn& txn, MDB_dbi table) {
  MDB_cursor* cursor = nullptr;
  if (const int rc = mdb_cursor_open(txn.get(), table, &cursor); rc != 0)
    return lmdb_fail("mdb_cursor_open", rc);
  return LmdbCursor(cursor);
}

}  // namespace sendonce
