#include "ledger/lmdb/open.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <span>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger/lmdb/audit_table.hpp"
#include "ledger/lmdb/data_file.hpp"
#include "ledger/lmdb/files.hpp"
#include "ledger/lmdb/key_record.hpp"
#include "ledger/lmdb/lmdb_store.hpp"
#include "ledger/lmdb/lmdb_tables.hpp"
#include "ledger/row_codec.hpp"
#include "plugin/core/random.hpp"
#include "plugin/core/text.hpp"
#include "plugin/core/unique_fd.hpp"

namespace sendonce {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kIdBytes = 16;
constexpr std::size_t kSecretBytes = 32;
constexpr std::uint64_t kFirstSerial = std::uint64_t{1} << 32U;  // 0 is nobody's fence

// Rows that wait for another attempt because nothing was sent: that was so when the copy was made.
Result<void> doubt_waiting_rows(const LmdbTxn& txn, MDB_dbi table) {
  SO_TRY(const LmdbCursor cursor, LmdbCursor::open(txn, table));
  MDB_val k{};
  MDB_val v{};
  int rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_FIRST);
  for (; rc == 0; rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_NEXT)) {
    SO_TRY(const RowPeek peek, peek_row(lmdb_text(v)));
    if (peek.state != State::waiting) continue;
    SO_TRY(Row row, decode_row(lmdb_text(v)));
    if (row.effect != Effect::not_sent) continue;
    row.effect = Effect::maybe_sent;
    // Nor by whom, and with which request.
    row.provider.clear();
    row.request = RequestHash{};
    std::string bytes(std::max(v.mv_size, encoded_size(row)), '\0');
    encode_row(row, std::span<char>(bytes));
    MDB_val changed = lmdb_value(bytes);
    if (const int put = mdb_cursor_put(cursor.get(), &k, &changed, MDB_CURRENT); put != 0)
      return lmdb_fail("update of a row", put);
  }
  if (rc != MDB_NOTFOUND) return lmdb_fail("scan of rows", rc);
  return {};
}

// An empty ledger's file in `directory`. Returns its id.
Result<void> write_empty_ledger(const std::string& directory, std::uint64_t map_bytes,
                                const std::string& id) {
  SO_TRY(
      const LmdbEnv env,
      LmdbEnv::open(
          {.directory = directory, .map_bytes = map_bytes, .tables_max = kTablesMax, .flags = 0}));
  SO_TRY(LmdbTxn txn, LmdbTxn::begin(env, 0));
  SO_TRY(const MetaTable meta, MetaTable::open(txn, true));
  const std::string secret = system_random_bytes(kSecretBytes);
  SO_CHECK(meta.put_number(txn, kMetaFormat, kLedgerFormat));
  SO_CHECK(meta.put_text(txn, kMetaId, id));
  SO_CHECK(meta.put_text(txn, kMetaSecret, secret));
  SO_CHECK(meta.put_number(txn, kMetaIncarnation, 0));
  SO_CHECK(meta.put_number(txn, kMetaFenceLimit, kFirstSerial));
  SO_CHECK(meta.put_number(txn, kMetaOutboxLimit, kFirstSerial));
  if (const int rc = txn.commit(); rc != 0) return lmdb_fail("commit", rc);
  return {};
}

// One transaction on a ledger that no process has open.
Result<void> change_offline(
    const LedgerOptions& options,
    const std::function<Result<void>(const LmdbTxn&, const MetaTable&)>& change,
    bool dry_run = false) {
  SO_TRY(const OwnerLock lock, OwnerLock::take(options.directory, OwnerLock::Mode::own));
  SO_TRY(const DataFileState file, check_data_file(options.directory));
  SO_TRY(const LmdbEnv env,
         LmdbEnv::open({.directory = options.directory,
                        .map_bytes = std::max(options.map_bytes, file.pages * file.page_bytes),
                        .tables_max = kTablesMax,
                        .flags = 0}));
  SO_TRY(LmdbTxn txn, LmdbTxn::begin(env, 0));
  SO_TRY(const MetaTable meta, MetaTable::open(txn, false));
  SO_CHECK(meta.check_format(txn));
  SO_CHECK(change(txn, meta));
  if (dry_run) return {};
  if (const int rc = txn.commit(); rc != 0) return lmdb_fail("commit", rc);
  return {};
}

}  // namespace

std::string new_ledger_id() {
  return hex(system_random_bytes(kIdBytes));
}

Result<bool> ledger_exists(const std::string& directory) {
  const std::string data = directory + "/" + kDataFile;
  std::error_code ec;
  const bool there = fs::exists(data, ec);
  if (ec) return fail(Errc::denied, data + ": " + ec.message());
  return there;
}

Result<std::string> create_ledger(const LedgerOptions& options, const std::string& id) {
  const std::string& directory = options.directory;
  SO_CHECK(make_directory(directory));
  if (options.check_file_system) SO_CHECK(check_file_system(directory, options.durability));
  SO_TRY(const OwnerLock lock, OwnerLock::take(directory, OwnerLock::Mode::create));
  const std::string data = directory + "/" + kDataFile;
  SO_TRY(const bool there, ledger_exists(directory));
  if (there) return fail(Errc::denied, data + ": there is a ledger already");
  std::error_code ec;
  // Made aside and moved into place, so that a half-made one is never taken for a ledger.
  const std::string aside = directory + "/creating";
  fs::remove_all(aside, ec);
  SO_CHECK(make_directory(aside));
  SO_CHECK(write_empty_ledger(aside, options.map_bytes, id));
  if (::rename((aside + "/" + kDataFile).c_str(), data.c_str()) != 0)
    return fail(Errc::unavailable, data + ": " + std::strerror(errno));
  fs::remove_all(aside, ec);
  SO_CHECK(sync_directory(directory));
  return id;
}

Result<std::unique_ptr<LmdbLedger>> open_ledger(LedgerOptions options) {
  SO_TRY(OwnerLock lock, OwnerLock::take(options.directory, OwnerLock::Mode::own));
  if (options.check_file_system) SO_CHECK(check_file_system(options.directory, options.durability));
  if (options.boot_id.empty()) {
    SO_TRY(options.boot_id, read_boot_id());
  }
  return LmdbLedger::open(std::move(options), std::move(lock));
}

Result<void> adopt_scope(const LedgerOptions& options, std::string_view scope, WallTime at) {
  return change_offline(options, [&](const LmdbTxn& txn, const MetaTable& meta) {
    return meta.put_adopted_at(txn, scope, at);
  });
}

Result<void> renew_ledger(const LedgerOptions& options, const std::string& id, WallTime at,
                          CopyOrigin origin) {
  return change_offline(options, [&](const LmdbTxn& txn, const MetaTable& meta) -> Result<void> {
    SO_TRY(const std::vector<std::string> stored, stored_scopes(txn));
    for (const std::string& scope : stored) {
      SO_TRY(const MDB_dbi table, open_table(txn, RowTable::table_name(scope), MDB_INTEGERKEY));
      SO_CHECK(doubt_waiting_rows(txn, table));
      SO_CHECK(meta.put_adopted_at(txn, scope, at));
    }
    for (const std::string& scope : options.scopes) SO_CHECK(meta.put_adopted_at(txn, scope, at));
    if (origin == CopyOrigin::synced) SO_CHECK(meta.remove(txn, kMetaBootId));
    return meta.put_text(txn, kMetaId, id);
  });
}

Result<std::vector<std::string>> accept_keys(const LedgerOptions& options, const KeyMarks& keys,
                                             bool dry_run) {
  KeyConflicts conflicts;
  const auto change = [&](const LmdbTxn& txn, const MetaTable& meta) -> Result<void> {
    SO_TRY(const std::vector<std::string> with_rows, scopes_with_rows(txn));
    SO_TRY(conflicts, put_key_marks(txn, meta, keys, keys.now, with_rows));
    for (const std::string& scope : conflicts.scopes)
      SO_CHECK(meta.put_adopted_at(txn, scope, keys.now));
    return {};
  };
  SO_CHECK(change_offline(options, change, dry_run));
  return std::move(conflicts.texts);
}

struct LedgerReader::Open {
  LmdbEnv env;
  std::vector<ScanTable> tables{};
  std::optional<MDB_dbi> audit{};
};

LedgerReader::LedgerReader(OwnerLock lock) : lock_(std::move(lock)) {}
LedgerReader::~LedgerReader() = default;

Result<std::unique_ptr<LedgerReader>> LedgerReader::open(const std::string& directory) {
  SO_TRY(OwnerLock lock, OwnerLock::take(directory, OwnerLock::Mode::look));
  std::unique_ptr<LedgerReader> reader(new LedgerReader(std::move(lock)));
  SO_CHECK(reader->read(directory));
  return reader;
}

Result<void> LedgerReader::read(const std::string& directory) {
  SO_TRY(const DataFileState file, check_data_file(directory));
  SO_TRY(LmdbEnv env, LmdbEnv::open({.directory = directory,
                                     .map_bytes = file.pages * file.page_bytes,
                                     .tables_max = kTablesMax,
                                     .flags = MDB_RDONLY | MDB_NOLOCK}));
  open_ = std::make_unique<Open>(Open{.env = std::move(env)});
  SO_TRY(LmdbTxn txn, LmdbTxn::begin(open_->env, MDB_RDONLY));
  SO_TRY(const MetaTable meta, MetaTable::open(txn, false));
  SO_CHECK(meta.check_format(txn));
  SO_TRY(const auto id, meta.text(txn, kMetaId));
  SO_TRY(const auto secret, meta.text(txn, kMetaSecret));
  if (!id || !secret) return fail(Errc::corrupt, "ledger: its id or secret is missing");
  id_ = *id;
  secret_ = LedgerSecret(*secret);
  SO_TRY(const std::uint64_t incarnation, meta.number(txn, kMetaIncarnation));
  incarnation_ = Incarnation(static_cast<std::uint32_t>(incarnation));
  SO_TRY(const std::vector<std::string> scopes, stored_scopes(txn));
  std::vector<MDB_dbi> all{meta.table()};
  for (const std::string& scope : scopes) {
    SO_TRY(const MDB_dbi table, open_table(txn, RowTable::table_name(scope), MDB_INTEGERKEY));
    all.push_back(table);
    open_->tables.push_back({.scope = scope, .table = table});
    SO_TRY(const std::uint64_t rows, entries(txn, table));
    stats_.rows += rows;
  }
  for (const char* name : {kDeviceTable, kBindingTable})
    if (auto table = open_table(txn, name, 0)) all.push_back(*table);
  if (auto audit = open_table(txn, kAuditTable, MDB_INTEGERKEY)) {
    all.push_back(*audit);
    open_->audit = *audit;
  }
  stats_.map_bytes = file.map_bytes;
  // A ledger that has never been opened has no outbox yet.
  if (auto outbox = open_table(txn, kOutboxTable, MDB_INTEGERKEY)) {
    all.push_back(*outbox);
    SO_TRY(const OutboxState state, outbox_state(txn, *outbox));
    stats_.outbox_entries = state.entries;
    stats_.outbox_oldest = state.oldest;
    stats_.outbox_last = state.last;
  }
  SO_TRY(stats_.used_bytes, bytes_in_use(txn, std::move(all)));
  // Ends the transaction and keeps the tables' handles.
  if (const int rc = txn.commit(); rc != 0) return lmdb_fail("commit", rc);
  return {};
}

Result<void> LedgerReader::scan(const RowFilter& filter, const RowVisitor& visit) const {
  return scan_rows(open_->env, open_->tables, filter, visit);
}

Result<AuditPage> LedgerReader::audit(const AuditRead& read) const {
  if (!open_->audit) return AuditPage{};
  SO_TRY(const LmdbTxn txn, LmdbTxn::begin(open_->env, MDB_RDONLY));
  return read_audit_table(txn, *open_->audit, read);
}

std::vector<std::string> LedgerReader::scopes() const {
  std::vector<std::string> names;
  for (const ScanTable& table : open_->tables) names.push_back(table.scope);
  return names;
}

}  // namespace sendonce
