#include "tests/bench/ledger/bench_store.hpp"

#ifdef SENDONCE_BENCH_SQLITE
#include <algorithm>
#include <array>

#include <sqlite3.h>

namespace sendonce::bench {
namespace {

class SqliteStore final : public BenchStore {
 public:
  static Result<std::unique_ptr<BenchStore>> make(const std::string& directory) {
    auto store = std::unique_ptr<SqliteStore>(new SqliteStore);
    if (sqlite3_open((directory + "/bench.sqlite").c_str(), &store->db_) != SQLITE_OK)
      return fail(Errc::unavailable, "sqlite3_open");
    for (const char* sql :
         {"PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA cache_size=-262144",
          "CREATE TABLE rows(key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"})
      SO_CHECK(store->execute(sql));
    SO_CHECK(
        store->prepare("INSERT INTO rows VALUES(?1, ?2) ON CONFLICT DO NOTHING", &store->insert_));
    SO_CHECK(store->prepare("UPDATE rows SET value = ?2 WHERE key = ?1", &store->update_));
    return store;
  }
  ~SqliteStore() override {
    sqlite3_finalize(insert_);
    sqlite3_finalize(update_);
    sqlite3_close(db_);
  }

  std::string_view name() const override { return "SQLite WAL FULL"; }

  Result<void> batch(std::uint64_t first, std::uint64_t count, std::int64_t settle_from) override {
    SO_CHECK(execute("BEGIN IMMEDIATE"));
    for (std::uint64_t i = 0; i < count; ++i) {
      SO_CHECK(step(insert_, first + i, 'c'));
      if (settle_from >= 0)
        SO_CHECK(step(update_, static_cast<std::uint64_t>(settle_from) + i, 'd'));
    }
    return execute("COMMIT");
  }

  Result<void> preload(std::uint64_t rows) override {
    constexpr std::uint64_t kChunk = 20'000;
    SO_CHECK(execute("PRAGMA synchronous=OFF"));
    for (std::uint64_t i = 0; i < rows; i += kChunk)
      SO_CHECK(batch(i, std::min(kChunk, rows - i), -1));
    SO_CHECK(execute("PRAGMA wal_checkpoint(TRUNCATE)"));
    return execute("PRAGMA synchronous=FULL");
  }

 private:
  Result<void> execute(const char* sql) {
    if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
      return fail(Errc::internal, std::string(sql) + ": " + sqlite3_errmsg(db_));
    return {};
  }
  Result<void> prepare(const char* sql, sqlite3_stmt** statement) {
    if (sqlite3_prepare_v2(db_, sql, -1, statement, nullptr) != SQLITE_OK)
      return fail(Errc::internal, sqlite3_errmsg(db_));
    return {};
  }
  Result<void> step(sqlite3_stmt* statement, std::uint64_t number, char fill) {
    std::array<char, 32> key{};
    fill_key(number, key.data());
    value_.fill(fill);
    sqlite3_bind_blob(statement, 1, key.data(), static_cast<int>(key.size()), SQLITE_STATIC);
    sqlite3_bind_blob(statement, 2, value_.data(), static_cast<int>(value_.size()), SQLITE_STATIC);
    const int rc = sqlite3_step(statement);
    sqlite3_reset(statement);
    if (rc != SQLITE_DONE || sqlite3_changes(db_) != 1)
      return fail(Errc::internal, std::string("step: ") + sqlite3_errmsg(db_));
    return {};
  }

  sqlite3* db_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  sqlite3_stmt* update_ = nullptr;
  std::array<char, kValueBytes> value_{};
};

}  // namespace

Result<std::unique_ptr<BenchStore>> make_sqlite(const std::string& directory) {
  return SqliteStore::make(directory);
}

}  // namespace sendonce::bench

#else

namespace sendonce::bench {

Result<std::unique_ptr<BenchStore>> make_sqlite(const std::string&) {
  return fail(Errc::unavailable, "SQLite: built without its development package");
}

}  // namespace sendonce::bench

#endif
