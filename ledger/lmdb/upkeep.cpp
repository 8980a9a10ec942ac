#include "ledger/lmdb/upkeep.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger/binding.hpp"
#include "ledger/device.hpp"
#include "ledger/lmdb/audit_table.hpp"
#include "ledger/lmdb/data_file.hpp"
#include "ledger/lmdb/files.hpp"
#include "ledger/lmdb/lmdb_tables.hpp"
#include "ledger/lmdb/open.hpp"
#include "ledger/outbox_codec.hpp"
#include "ledger/ownership.hpp"
#include "ledger/row_codec.hpp"
#include "plugin/core/unique_fd.hpp"

namespace sendonce {
namespace {

namespace fs = std::filesystem;

// An environment to read, and what keeps it from changing under us unseen.
struct Reading {
  std::optional<OwnerLock> lock{};  // none: a daemon writes, and LMDB knows of us
  DataFileState file{};
  LmdbEnv env;
};

Result<Reading> open_reading(const std::string& directory) {
  auto lock = OwnerLock::take(directory, OwnerLock::Mode::look);
  if (!lock && lock.error().code != Errc::busy) return std::unexpected(lock.error());
  SO_TRY(const DataFileState file, check_data_file(directory));
  const unsigned alone = lock ? unsigned{MDB_NOLOCK} : 0U;
  SO_TRY(LmdbEnv env,
         LmdbEnv::open({.directory = directory,
                        .map_bytes = std::max(file.map_bytes, file.pages * file.page_bytes),
                        .tables_max = kTablesMax,
                        .flags = MDB_RDONLY | alone}));
  Reading reading{.lock = {}, .file = file, .env = std::move(env)};
  if (lock) reading.lock.emplace(std::move(*lock));
  return reading;
}

struct Tables {
  std::string id{};
  std::uint64_t incarnation = 0;
  MDB_dbi meta = 0;
  std::vector<ScanTable> rows{};
  // A ledger that has never been opened has none of them, one of an older version no bindings.
  std::optional<MDB_dbi> devices{};
  std::optional<MDB_dbi> bindings{};
  std::optional<MDB_dbi> outbox{};
  std::optional<MDB_dbi> audit{};

  [[nodiscard]] std::vector<MDB_dbi> all() const {
    std::vector<MDB_dbi> tables{meta};
    for (const ScanTable& r : rows) tables.push_back(r.table);
    if (devices) tables.push_back(*devices);
    if (bindings) tables.push_back(*bindings);
    if (outbox) tables.push_back(*outbox);
    if (audit) tables.push_back(*audit);
    return tables;
  }
};

// Their handles outlive the transaction if that is committed.
Result<Tables> open_tables(const LmdbTxn& txn) {
  Tables tables;
  SO_TRY(const MetaTable meta, MetaTable::open(txn, false));
  SO_CHECK(meta.check_format(txn));
  SO_TRY(const auto id, meta.text(txn, kMetaId));
  if (!id) return fail(Errc::corrupt, "ledger: its id is missing");
  tables.id = *id;
  SO_TRY(tables.incarnation, meta.number(txn, kMetaIncarnation));
  tables.meta = meta.table();
  SO_TRY(const std::vector<std::string> scopes, stored_scopes(txn));
  for (const std::string& scope : scopes) {
    SO_TRY(const MDB_dbi table, open_table(txn, RowTable::table_name(scope), MDB_INTEGERKEY));
    tables.rows.push_back({.scope = scope, .table = table});
  }
  if (auto devices = open_table(txn, kDeviceTable, 0)) tables.devices = *devices;
  if (auto bindings = open_table(txn, kBindingTable, 0)) tables.bindings = *bindings;
  if (auto outbox = open_table(txn, kOutboxTable, MDB_INTEGERKEY)) tables.outbox = *outbox;
  if (auto audit = open_table(txn, kAuditTable, MDB_INTEGERKEY)) tables.audit = *audit;
  return tables;
}

// ---- reading everything ------------------------------------------------------------------------

// About 10 ms of reading: a reader must not keep the daemon from reusing pages for longer.
constexpr std::size_t kRecordsPerTxn = 20'000;

class Examination {
 public:
  Examination(const LmdbEnv& env, LedgerCheck& check, std::uint64_t all,
              const CheckProgress& progress)
      : env_(env), check_(check), all_(all), progress_(progress) {}

  // `examine` says what is wrong with a record, if anything is.
  using Examine = std::function<Result<void>(std::string_view key, std::string_view value)>;
  Result<void> table(const std::string& name, MDB_dbi table, const Examine& examine) {
    std::string after;
    for (bool more = true; more;) {
      SO_TRY(more, some(name, table, examine, after));
      done_ = std::min(done_, all_);
      progress_(done_, all_);
    }
    return {};
  }

 private:
  // What comes after the key `after`, of one transaction. False: that was the last.
  Result<bool> some(const std::string& name, MDB_dbi table, const Examine& examine,
                    std::string& after) {
    SO_TRY(const LmdbTxn txn, LmdbTxn::begin(env_, MDB_RDONLY));
    SO_TRY(const LmdbCursor cursor, LmdbCursor::open(txn, table));
    MDB_val k = lmdb_value(after);
    MDB_val v{};
    int rc = mdb_cursor_get(cursor.get(), &k, &v, after.empty() ? MDB_FIRST : MDB_SET_RANGE);
    if (rc == 0 && !after.empty() && lmdb_text(k) == after)
      rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_NEXT);
    std::string last = after;
    for (std::size_t i = 0; rc == 0 && i < kRecordsPerTxn; ++i) {
      if (!last.empty() && mdb_cmp_keys(txn, table, last, k) >= 0)
        return fail(Errc::corrupt, name + ": records are out of order");
      last.assign(lmdb_text(k));
      ++done_;
      if (const auto found = examine(last, lmdb_text(v)); !found) damaged(name, found.error().text);
      rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_NEXT);
    }
    if (rc != 0 && rc != MDB_NOTFOUND) return lmdb_fail("reading " + name, rc);
    after = std::move(last);
    return rc == 0;
  }

  static int mdb_cmp_keys(const LmdbTxn& txn, MDB_dbi table, std::string_view before,
                          const MDB_val& now) {
    const MDB_val old = lmdb_value(before);
    return mdb_cmp(txn.get(), table, &old, &now);
  }

  void damaged(const std::string& name, const std::string& text) {
    ++check_.damaged;
    if (check_.damages.size() < LedgerCheck::kDamagesNamed)
      check_.damages.push_back(name + ": " + text);
  }

  const LmdbEnv& env_;
  LedgerCheck& check_;
  std::uint64_t done_ = 0;
  std::uint64_t all_;
  const CheckProgress& progress_;
};

Result<std::uint64_t> sequence_of(std::string_view key) {
  std::uint64_t sequence = 0;
  if (key.size() != sizeof sequence) return fail(Errc::corrupt, "a sequence of another size");
  std::memcpy(&sequence, key.data(), sizeof sequence);
  return sequence;
}

using Examine = Examination::Examine;

Examine row_examiner(LedgerCheck& check) {
  return [&check](std::string_view key, std::string_view value) -> Result<void> {
    ++check.rows;
    SO_CHECK(sequence_of(key));
    SO_TRY(const Row row, decode_row(value));
    ++check.by_state.at(static_cast<std::size_t>(row.state));
    return {};
  };
}

Examine device_examiner(LedgerCheck& check) {
  return [&check](std::string_view, std::string_view value) -> Result<void> {
    ++check.devices;
    SO_CHECK(decode_device(value));
    return {};
  };
}

Examine binding_examiner(LedgerCheck& check) {
  return [&check](std::string_view, std::string_view value) -> Result<void> {
    ++check.bindings;
    SO_CHECK(decode_binding(value));
    return {};
  };
}

Examine outbox_examiner(LedgerCheck& check) {
  return [&check](std::string_view key, std::string_view value) -> Result<void> {
    ++check.outbox;
    SO_TRY(const std::uint64_t sequence, sequence_of(key));
    SO_CHECK(decode_outbox(OutboxSeq(sequence), value));
    return {};
  };
}

Examine audit_examiner(LedgerCheck& check) {
  return [&check](std::string_view key, std::string_view value) -> Result<void> {
    ++check.audit;
    SO_TRY(const std::uint64_t sequence, sequence_of(key));
    SO_CHECK(decode_audit(AuditSeq(sequence), value));
    return {};
  };
}

Result<void> examine_all(Examination& examination, const Tables& tables, LedgerCheck& check) {
  for (const ScanTable& rows : tables.rows)
    SO_CHECK(examination.table("rows of " + rows.scope, rows.table, row_examiner(check)));
  if (tables.devices)
    SO_CHECK(examination.table("devices", *tables.devices, device_examiner(check)));
  if (tables.audit) SO_CHECK(examination.table("audit", *tables.audit, audit_examiner(check)));
  if (tables.bindings)
    SO_CHECK(examination.table("bindings", *tables.bindings, binding_examiner(check)));
  if (!tables.outbox) return {};
  return examination.table("outbox", *tables.outbox, outbox_examiner(check));
}

// ---- copying -----------------------------------------------------------------------------------

Result<std::uint64_t> synced_size(const std::string& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat st{};
  if (!fd || ::fsync(fd.get()) != 0 || ::fstat(fd.get(), &st) != 0)
    return fail(Errc::unavailable, file + ": " + std::strerror(errno));
  return static_cast<std::uint64_t>(st.st_size);
}

// A compact copy of an open ledger in the new directory `to`, a ledger's in all it needs. Returns
// its bytes.
Result<std::uint64_t> write_copy(const LmdbEnv& env, const std::string& to) {
  std::error_code ec;
  fs::remove_all(to, ec);
  // It must be ours: who made it could read the secret.
  if (::mkdir(to.c_str(), 0700) != 0) return fail(Errc::denied, to + ": " + std::strerror(errno));
  if (const int rc = mdb_env_copy2(env.get(), to.c_str(), MDB_CP_COMPACT); rc != 0) {
    fs::remove_all(to, ec);
    return lmdb_fail("copy to " + to, rc);
  }
  const std::string data = to + "/" + kDataFile;
  if (::chmod(data.c_str(), S_IRUSR | S_IWUSR) != 0)
    return fail(Errc::unavailable, data + ": " + std::strerror(errno));
  SO_TRY(const OwnerLock its_own, OwnerLock::take(to, OwnerLock::Mode::create));
  return synced_size(data);
}

// `aside` is a directory in `directory`, gone afterwards.
Result<void> move_data_file(const std::string& aside, const std::string& directory) {
  const std::string data = directory + "/" + kDataFile;
  if (::rename((aside + "/" + kDataFile).c_str(), data.c_str()) != 0)
    return fail(Errc::unavailable, data + ": " + std::strerror(errno));
  std::error_code ec;
  fs::remove_all(aside, ec);
  fs::remove(directory + "/lock.mdb", ec);  // it tells of the transactions of another file
  return sync_directory(directory);
}

std::string parent_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

}  // namespace

Result<LedgerSizes> ledger_sizes(const std::string& directory) {
  SO_TRY(const Reading reading, open_reading(directory));
  SO_TRY(const LmdbTxn txn, LmdbTxn::begin(reading.env, MDB_RDONLY));
  SO_TRY(const Tables tables, open_tables(txn));
  LedgerSizes sizes{.id = tables.id,
                    .incarnation = tables.incarnation,
                    .file_bytes = reading.file.file_bytes,
                    .map_bytes = reading.file.map_bytes,
                    .running = !reading.lock};
  for (const ScanTable& rows : tables.rows) {
    SO_TRY(const std::uint64_t count, entries(txn, rows.table));
    sizes.scopes.push_back({.name = rows.scope, .rows = count});
    sizes.rows += count;
  }
  if (tables.devices) {
    SO_TRY(sizes.devices, entries(txn, *tables.devices));
  }
  if (tables.bindings) {
    SO_TRY(sizes.bindings, entries(txn, *tables.bindings));
  }
  if (tables.outbox) {
    SO_TRY(sizes.outbox, entries(txn, *tables.outbox));
  }
  if (tables.audit) {
    SO_TRY(sizes.audit, entries(txn, *tables.audit));
  }
  SO_TRY(sizes.used_bytes, bytes_in_use(txn, tables.all()));
  return sizes;
}

Result<LedgerCheck> check_ledger(const std::string& directory, const CheckProgress& progress) {
  SO_TRY(const Reading reading, open_reading(directory));
  SO_TRY(LmdbTxn txn, LmdbTxn::begin(reading.env, MDB_RDONLY));
  SO_TRY(const Tables tables, open_tables(txn));
  std::uint64_t all = 0;
  for (const MDB_dbi table : tables.all()) {
    SO_TRY(const std::uint64_t count, entries(txn, table));
    all += count;
  }
  if (const int rc = txn.commit(); rc != 0) return lmdb_fail("commit", rc);
  LedgerCheck check{.id = tables.id};
  Examination examination(reading.env, check, all, progress);
  SO_CHECK(examine_all(examination, tables, check));
  return check;
}

Result<void> scan_ledger(const std::string& directory, const RowVisitor& visit) {
  SO_TRY(const Reading reading, open_reading(directory));
  SO_TRY(LmdbTxn txn, LmdbTxn::begin(reading.env, MDB_RDONLY));
  SO_TRY(const Tables tables, open_tables(txn));
  if (const int rc = txn.commit(); rc != 0) return lmdb_fail("commit", rc);
  return scan_rows(reading.env, tables.rows, {}, visit);
}

Result<void> scan_audit(const std::string& directory, const AuditVisitor& visit) {
  SO_TRY(const Reading reading, open_reading(directory));
  SO_TRY(const LmdbTxn txn, LmdbTxn::begin(reading.env, MDB_RDONLY));
  SO_TRY(const Tables tables, open_tables(txn));
  if (!tables.audit) return {};
  // Few enough to be read at once.
  SO_TRY(const AuditPage page, read_audit_table(txn, *tables.audit, {.max_entries = kAuditKept}));
  for (auto entry = page.entries.rbegin(); entry != page.entries.rend(); ++entry)
    if (!visit(*entry)) break;
  return {};
}

Result<std::uint64_t> copy_ledger(const std::string& directory, const std::string& to) {
  std::error_code ec;
  if (fs::exists(to, ec)) return fail(Errc::denied, to + ": is there already");
  SO_TRY(const Reading reading, open_reading(directory));
  const std::string aside = to + ".partial";
  SO_TRY(const std::uint64_t bytes, write_copy(reading.env, aside));
  SO_CHECK(sync_directory(aside));
  if (::rename(aside.c_str(), to.c_str()) != 0)
    return fail(Errc::unavailable, to + ": " + std::strerror(errno));
  SO_CHECK(sync_directory(parent_of(to)));
  return bytes;
}

Result<void> restore_ledger(const LedgerOptions& options, const std::string& from,
                            const std::string& id, WallTime at) {
  SO_CHECK(make_directory(options.directory));
  if (options.check_file_system) SO_CHECK(check_file_system(options.directory, options.durability));
  SO_TRY(const OwnerLock lock, OwnerLock::take(options.directory, OwnerLock::Mode::create));
  SO_TRY(const bool there, ledger_exists(options.directory));
  if (there)
    return fail(Errc::denied, options.directory + ": holds a ledger; move " + kDataFile +
                                  " away first, and keep it until all is well");
  const std::string aside = options.directory + "/restoring";
  {
    SO_TRY(const Reading reading, open_reading(from));
    SO_CHECK(write_copy(reading.env, aside));
  }
  LedgerOptions renewed = options;
  renewed.directory = aside;
  SO_CHECK(renew_ledger(renewed, id, at, CopyOrigin::synced));
  return move_data_file(aside, options.directory);
}

Result<std::uint64_t> compact_ledger(const std::string& directory) {
  SO_TRY(const OwnerLock lock, OwnerLock::take(directory, OwnerLock::Mode::own));
  SO_TRY(const DataFileState file, check_data_file(directory));
  const std::string aside = directory + "/compacting";
  std::uint64_t bytes = 0;
  {
    SO_TRY(const LmdbEnv env, LmdbEnv::open({.directory = directory,
                                             .map_bytes = file.pages * file.page_bytes,
                                             .tables_max = kTablesMax,
                                             .flags = MDB_RDONLY | MDB_NOLOCK}));
    SO_TRY(bytes, write_copy(env, aside));
  }
  SO_CHECK(move_data_file(aside, directory));
  return bytes;
}

}  // namespace sendonce
