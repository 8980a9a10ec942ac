#include "tests/bench/ledger/bench_store.hpp"

#ifdef SENDONCE_BENCH_POSTGRES
#include <algorithm>
#include <array>

#include <libpq-fe.h>

#include "plugin/cli/bench/measure.hpp"

namespace sendonce::bench {
namespace {

constexpr std::uint32_t kByteaOid = 17;

void append_u32(std::string& to, std::uint32_t value) {
  for (unsigned shift = 24;; shift -= 8) {
    to += static_cast<char>(value >> shift);
    if (shift == 0) return;
  }
}

// The binary form of a one-dimensional bytea[] (src/backend/utils/adt/arrayfuncs.c, array_recv).
class ByteaArray {
 public:
  void begin(std::uint32_t count) {
    bytes_.clear();
    for (const std::uint32_t word : {1U, 0U, kByteaOid, count, 1U}) append_u32(bytes_, word);
  }
  void add(std::string_view element) {
    append_u32(bytes_, static_cast<std::uint32_t>(element.size()));
    bytes_ += element;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_{};
};

class PostgresStore final : public BenchStore {
 public:
  static Result<std::unique_ptr<BenchStore>> make(const std::string& conninfo) {
    auto store = std::unique_ptr<PostgresStore>(new PostgresStore);
    store->connection_ = PQconnectdb(conninfo.c_str());
    if (PQstatus(store->connection_) != CONNECTION_OK)
      return fail(Errc::unavailable,
                  std::string("PostgreSQL: ") + PQerrorMessage(store->connection_));
    for (const char* sql :
         {"SET client_min_messages = error", "DROP TABLE IF EXISTS sendonce_bench",
          "CREATE TABLE sendonce_bench(key bytea PRIMARY KEY, value bytea NOT NULL)",
          "PREPARE claim(bytea[], bytea[]) AS INSERT INTO sendonce_bench SELECT * FROM "
          "unnest($1, $2) ON CONFLICT DO NOTHING",
          "PREPARE settle(bytea[], bytea[]) AS UPDATE sendonce_bench AS r SET value = n.value FROM "
          "unnest($1, $2) AS n(key, value) WHERE r.key = n.key"})
      SO_CHECK(store->execute(sql));
    return store;
  }
  ~PostgresStore() override {
    if (PQstatus(connection_) == CONNECTION_OK)
      static_cast<void>(execute("DROP TABLE IF EXISTS sendonce_bench"));
    PQfinish(connection_);
  }

  std::string_view name() const override { return "PostgreSQL"; }

  Result<void> batch(std::uint64_t first, std::uint64_t count, std::int64_t settle_from) override {
    SO_CHECK(execute("BEGIN"));
    SO_CHECK(run("claim", first, count, 'c'));
    if (settle_from >= 0)
      SO_CHECK(run("settle", static_cast<std::uint64_t>(settle_from), count, 'd'));
    return execute("COMMIT");
  }

  Result<void> preload(std::uint64_t rows) override {
    constexpr std::uint64_t kChunk = 20'000;
    for (std::uint64_t i = 0; i < rows; i += kChunk)
      SO_CHECK(batch(i, std::min(kChunk, rows - i), -1));
    return execute("CHECKPOINT");
  }

  // Of our backend; the writers that all share are not counted, which favours it.
  double server_cpu_seconds() const override {
    return std::chrono::duration<double>(
               cli::cpu_of(PQbackendPID(connection_)).value_or(Duration{}))
        .count();
  }

 private:
  Result<void> check(PGresult* result) {
    const ExecStatusType status = PQresultStatus(result);
    PQclear(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
      return fail(Errc::internal, PQerrorMessage(connection_));
    return {};
  }
  Result<void> execute(const char* sql) { return check(PQexec(connection_, sql)); }

  Result<void> run(const char* statement, std::uint64_t first, std::uint64_t count, char fill) {
    keys_.begin(static_cast<std::uint32_t>(count));
    values_.begin(static_cast<std::uint32_t>(count));
    const std::string value(kValueBytes, fill);
    std::array<char, 32> key{};
    for (std::uint64_t i = first; i < first + count; ++i) {
      fill_key(i, key.data());
      keys_.add({key.data(), key.size()});
      values_.add(value);
    }
    const std::array<const char*, 2> data{keys_.bytes().data(), values_.bytes().data()};
    const std::array<int, 2> sizes{static_cast<int>(keys_.bytes().size()),
                                   static_cast<int>(values_.bytes().size())};
    const std::array<int, 2> binary{1, 1};
    PGresult* result =
        PQexecPrepared(connection_, statement, 2, data.data(), sizes.data(), binary.data(), 0);
    const bool all = std::to_string(count) == PQcmdTuples(result);
    SO_CHECK(check(result));
    if (!all) return fail(Errc::internal, "not all rows were changed");
    return {};
  }

  PGconn* connection_ = nullptr;
  ByteaArray keys_{};
  ByteaArray values_{};
};

}  // namespace

Result<std::unique_ptr<BenchStore>> make_postgres(const std::string& conninfo) {
  if (conninfo.empty())
    return fail(Errc::unavailable, "PostgreSQL: give a running one with --postgres CONNINFO");
  return PostgresStore::make(conninfo);
}

}  // namespace sendonce::bench

#else

namespace sendonce::bench {

Result<std::unique_ptr<BenchStore>> make_postgres(const std::string&) {
  return fail(Errc::unavailable, "PostgreSQL: built without libpq");
}

}  // namespace sendonce::bench

#endif
