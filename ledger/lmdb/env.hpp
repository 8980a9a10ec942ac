// RAII for LMDB's handles, and its errors as ours. Only ledger/lmdb includes <lmdb.h>.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <lmdb.h>

#include "plugin/core/error.hpp"

namespace sendonce {

// MAP_FULL, TXN_FULL, ENOSPC, ENOMEM: exhausted; damaged pages: corrupt; all else: unavailable.
[[nodiscard]] Errc lmdb_errc(int rc);
[[nodiscard]] std::unexpected<Error> lmdb_fail(std::string_view what, int rc);

// LMDB's values are not const-correct; it does not write through those it is given as keys and
// data.
[[nodiscard]] MDB_val lmdb_value(std::string_view bytes);
[[nodiscard]] inline std::string_view lmdb_text(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

// A sequence as the key of an MDB_INTEGERKEY table; points at `sequence`.
[[nodiscard]] inline MDB_val lmdb_sequence(std::uint64_t& sequence) {
  return {sizeof sequence, &sequence};
}

class LmdbEnv {
 public:
  struct Options {
    std::string directory{};
    std::uint64_t map_bytes = 0;
    unsigned tables_max = 0;
    unsigned flags = 0;
  };
  // MDB_NOTLS and MDB_NORDAHEAD are always set.
  [[nodiscard]] static Result<LmdbEnv> open(const Options& options);

  [[nodiscard]] MDB_env* get() const { return env_.get(); }

 private:
  explicit LmdbEnv(MDB_env* env) : env_(env) {}
  struct Close {
    void operator()(MDB_env* env) const { mdb_env_close(env); }
  };
  std::unique_ptr<MDB_env, Close> env_;
};

// Aborts unless committed. A write transaction begins and ends on one thread.
class LmdbTxn {
 public:
  [[nodiscard]] static Result<LmdbTxn> begin(const LmdbEnv& env, unsigned flags);

  // Whatever it returns, the transaction is over: never abort after a failed commit.
  [[nodiscard]] int commit() { return mdb_txn_commit(txn_.release()); }
  [[nodiscard]] MDB_txn* get() const { return txn_.get(); }

 private:
  explicit LmdbTxn(MDB_txn* txn) : txn_(txn) {}
  struct Abort {
    void operator()(MDB_txn* txn) const { mdb_txn_abort(txn); }
  };
  std::unique_ptr<MDB_txn, Abort> txn_;
};

// To be destroyed before its write transaction ends.
class LmdbCursor {
 public:
  [[nodiscard]] static Result<LmdbCursor> open(const LmdbTxn& txn, MDB_dbi table);
  [[nodiscard]] MDB_cursor* get() const { return cursor_.get(); }

 private:
  explicit LmdbCursor(MDB_cursor* cursor) : cursor_(cursor) {}
  struct Close {
    void operator()(MDB_cursor* cursor) const { mdb_cursor_close(cursor); }
  };
  std::unique_ptr<MDB_cursor, Close> cursor_;
};

}  // namespace sendonce
