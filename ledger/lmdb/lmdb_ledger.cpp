#include "ledger/lmdb/lmdb_ledger.hpp"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <utility>

#include "ledger/bytes.hpp"
#include "ledger/lmdb/data_file.hpp"
#include "ledger/lmdb/key_record.hpp"
#include "ledger/lmdb/lmdb_store.hpp"
#include "ledger/lmdb/lmdb_tables.hpp"
#include "plugin/core/crash_point.hpp"

namespace sendonce {
namespace {

constexpr std::uint64_t kSerialsReserved = std::uint64_t{1} << 32U;
constexpr std::uint64_t kRowBytes = 200;           // about, to guess how many rows a map can hold
constexpr std::uint64_t kFullDiskBytes = 1 << 20;  // less free than this explains an EIO
constexpr Duration kLookAtDisk = std::chrono::seconds(1);
constexpr std::uint64_t kRebuildStep = 100'000;

// Claims stop above 85 % of the map and start again below 80 %.
bool map_runs_full(std::uint64_t used, std::uint64_t map, bool stopped) {
  return used > map / 100 * (stopped ? 80 : 85);
}

}  // namespace

struct LmdbLedger::Open {
  LmdbEnv env;
  LmdbTables tables;
};

LmdbLedger::LmdbLedger(LedgerOptions options, OwnerLock lock)
    : options_(std::move(options)), lock_(std::move(lock)) {}

Result<std::unique_ptr<LmdbLedger>> LmdbLedger::open(LedgerOptions options, OwnerLock lock) {
  std::unique_ptr<LmdbLedger> ledger(new LmdbLedger(std::move(options), std::move(lock)));
  SO_CHECK(ledger->open_environment(true));
  return ledger;
}

LmdbLedger::~LmdbLedger() {
  // A failure leaves the boot id in place, which is the safe reading of an unclean end.
  if (open_ && !lost_) static_cast<void>(close_cleanly());
}

Result<void> LmdbLedger::open_environment(bool new_incarnation) {
  auto opened = try_open(new_incarnation);
  if (!opened) open_.reset();
  lost_ = !opened;
  return opened;
}

Result<void> LmdbLedger::try_open(bool new_incarnation) {
  SO_TRY(const DataFileState file, check_data_file(options_.directory));
  const std::uint64_t map = std::max(options_.map_bytes, file.pages * file.page_bytes);
  SO_TRY(LmdbEnv env, LmdbEnv::open({.directory = options_.directory,
                                     .map_bytes = map,
                                     .tables_max = kTablesMax,
                                     .flags = options_.durability == LedgerDurability::process
                                                  ? static_cast<unsigned>(MDB_NOSYNC)
                                                  : 0U}));
  SO_TRY(LmdbTxn txn, LmdbTxn::begin(env, 0));
  SO_TRY(const MetaTable meta, MetaTable::open(txn, false));
  SO_CHECK(meta.check_format(txn));
  SO_TRY(const auto id, meta.text(txn, kMetaId));
  SO_TRY(const auto secret, meta.text(txn, kMetaSecret));
  if (!id || !secret || secret->size() < sizeof(std::uint64_t))
    return fail(Errc::corrupt, "ledger: its id or secret is missing");
  // Read by other threads while a recovery runs: written once.
  if (new_incarnation) {
    id_ = *id;
    secret_ = LedgerSecret(*secret);
  } else if (*id != id_ || *secret != secret_.expose()) {
    return fail(Errc::corrupt, "ledger: another one lies in its place");
  }
  events_ = std::make_unique<EventBatch>("sendonce/" + id_);
  SO_TRY(LmdbTables tables,
         LmdbTables::open(txn, options_.scopes, map / kRowBytes, load<std::uint64_t>(*secret, 0)));
  open_ = std::make_unique<Open>(Open{.env = std::move(env), .tables = std::move(tables)});
  stats_.map_bytes = map;
  SO_CHECK(begin_life(txn, new_incarnation));
  if (const int rc = txn.commit(); rc != 0) return std::unexpected(commit_error(rc));
  if (const int rc = mdb_env_sync(open_->env.get(), 1); rc != 0) return lmdb_fail("sync", rc);
  check_readers();
  SO_CHECK(rebuild());
  return new_incarnation && options_.keys ? check_keys() : Result<void>{};
}

Result<void> LmdbLedger::begin_life(const LmdbTxn& txn, bool new_incarnation) {
  const MetaTable& meta = open_->tables.meta;
  SO_CHECK(check_boot_id(txn));
  if (options_.durability == LedgerDurability::process) {
    SO_CHECK(meta.put_text(txn, kMetaBootId, options_.boot_id));
  } else {
    SO_CHECK(meta.remove(txn, kMetaBootId));
  }
  if (!new_incarnation) return {};
  SO_TRY(const std::uint64_t incarnation, meta.number(txn, kMetaIncarnation));
  life_.incarnation = Incarnation(static_cast<std::uint32_t>(incarnation + 1));
  SO_CHECK(meta.put_number(txn, kMetaIncarnation, incarnation + 1));
  // Serials start above everything that earlier incarnations may have given away.
  SO_TRY(life_.next_fence, meta.number(txn, kMetaFenceLimit));
  SO_TRY(life_.next_outbox, meta.number(txn, kMetaOutboxLimit));
  fence_limit_ = life_.next_fence + kSerialsReserved;
  outbox_limit_ = life_.next_outbox + kSerialsReserved;
  SO_CHECK(meta.put_number(txn, kMetaFenceLimit, fence_limit_));
  return meta.put_number(txn, kMetaOutboxLimit, outbox_limit_);
}

Result<void> LmdbLedger::check_boot_id(const LmdbTxn& txn) const {
  SO_TRY(const auto stored, open_->tables.meta.text(txn, kMetaBootId));
  if (!stored || *stored == options_.boot_id) return {};
  return fail(Errc::corrupt,
              "ledger: durability \"process\", and the host was restarted before the ledger was "
              "closed: what it last recorded is lost. Make a new ledger and adopt the classes");
}

// After the rebuild, which has found the newest message: with it goes the second clock of law 13.
Result<void> LmdbLedger::check_keys() {
  const LmdbTables& tables = open_->tables;
  SO_TRY(LmdbTxn txn, LmdbTxn::begin(open_->env, 0));
  SO_TRY(const std::vector<std::string> with_rows, scopes_with_rows(txn));
  const WallTime memory_now = memory_clock(options_.keys->now, life_.newest_stored);
  SO_TRY(const KeyConflicts conflicts,
         put_key_marks(txn, tables.meta, *options_.keys, memory_now, with_rows));
  if (!conflicts.texts.empty()) return fail(Errc::invalid, conflicts.texts.front());
  if (const int rc = txn.commit(); rc != 0) return std::unexpected(commit_error(rc));
  return {};
}

Result<void> LmdbLedger::rebuild() {
  SO_TRY(const LmdbTxn txn, LmdbTxn::begin(open_->env, MDB_RDONLY));
  life_.agenda.clear();
  life_.open_rows = 0;
  SO_TRY(const std::uint64_t total, open_->tables.row_count(txn));
  std::uint64_t done = 0;
  const auto seen = [&](RowId id, const RowPeek& peek, const Row* open_row) {
    life_.newest_stored = std::max(life_.newest_stored, peek.created);
    if (!has_ended(peek.state)) ++life_.open_rows;
    if (open_row != nullptr) {
      if (const auto due = due_time(*open_row, life_.incarnation)) life_.agenda.add(id, *due);
    }
    ++done;
    if (options_.progress && (done % kRebuildStep == 0 || done == total))
      options_.progress(done, total);
  };
  for (RowTable& table : open_->tables.rows) SO_CHECK(table.rebuild(txn, seen));
  SO_CHECK(open_->tables.rebuild_devices(txn));
  SO_TRY(const LedgerStats stats, read_stats(txn));
  reserved_bytes_ = 0;
  disk_looked_at_.reset();
  publish(stats, WallTime{});
  return {};
}

Result<std::vector<TicketedReply>> LmdbLedger::commit(std::span<const TicketedRequest> batch,
                                                      WallTime now) {
  if (lost_ || !open_) return fail(Errc::unavailable, "ledger: in doubt, recover it first");
  SO_TRY(LmdbTxn txn, LmdbTxn::begin(open_->env, 0));
  LmdbStore store(txn, open_->tables);
  Batch work(store, life_, *events_, now);
  const std::uint64_t fence_limit = fence_limit_;
  const std::uint64_t outbox_limit = outbox_limit_;
  const auto failed = [&](Error error) {
    fence_limit_ = fence_limit;
    outbox_limit_ = outbox_limit;
    return give_up(work, store, std::move(error));
  };
  if (auto error = injected(CommitStage::write)) return failed(*std::move(error));
  if (auto done = reserve_serials(txn, batch.size()); !done) return failed(std::move(done).error());
  store.prefetch(batch);
  std::vector<TicketedReply> replies;
  replies.reserve(batch.size());
  for (const TicketedRequest& request : batch) {
    auto reply = work.apply(request);
    if (!reply) return failed(std::move(reply).error());
    replies.push_back({.ticket = request.ticket, .reply = std::move(*reply)});
  }
  if (auto done = work.finish(); !done) return failed(std::move(done).error());
  auto stats = read_stats(txn);
  if (!stats) return failed(std::move(stats).error());
  if (auto error = injected(CommitStage::before_commit)) return failed(*std::move(error));
  crash_point(CrashPoint::commit_begun);
  if (const int rc = txn.commit(); rc != 0) return failed(commit_error(rc));
  crash_point(CrashPoint::commit_done);
  if (auto error = injected(CommitStage::after_commit)) return failed(*std::move(error));
  store.committed();
  work.committed();
  publish(*stats, now);
  if (work.swept()) check_readers();
  return replies;
}

std::unexpected<Error> LmdbLedger::give_up(Batch& work, LmdbStore& store, Error error) {
  store.abandoned();
  work.abandoned();
  if (error.code == Errc::exhausted) {
    life_.claims_stopped = true;
    stats_.claims_stopped = true;
  } else {
    lost_ = true;
  }
  return std::unexpected(std::move(error));
}

Result<void> LmdbLedger::recover() {
  recovering_ = true;
  const std::unique_lock alone(open_mutex_);
  recovering_ = false;
  open_.reset();
  return open_environment(false);
}

Result<void> LmdbLedger::reserve_serials(const LmdbTxn& txn, std::size_t requests) {
  // A request takes two fences (a claim that tells of a reuse) and makes two events at most, a
  // sweep as many as it has rows.
  const MetaTable& meta = open_->tables.meta;
  if (life_.next_fence + 2 * requests >= fence_limit_) {
    fence_limit_ += kSerialsReserved;
    SO_CHECK(meta.put_number(txn, kMetaFenceLimit, fence_limit_));
  }
  if (life_.next_outbox + kSweepMax + 2 * requests >= outbox_limit_) {
    outbox_limit_ += kSerialsReserved;
    SO_CHECK(meta.put_number(txn, kMetaOutboxLimit, outbox_limit_));
  }
  return {};
}

Result<LedgerStats> LmdbLedger::read_stats(const LmdbTxn& txn) const {
  LedgerStats stats;
  stats.map_bytes = stats_.map_bytes;
  SO_TRY(stats.rows, open_->tables.row_count(txn));
  SO_TRY(stats.used_bytes, open_->tables.used_bytes(txn));
  SO_TRY(const OutboxState outbox, outbox_state(txn, open_->tables.outbox));
  stats.outbox_entries = outbox.entries;
  stats.outbox_oldest = outbox.oldest;
  stats.outbox_last = outbox.last;
  return stats;
}

void LmdbLedger::publish(const LedgerStats& stats, WallTime now) {
  const bool stopped = stats_.claims_stopped;
  stats_ = stats;
  stats_.open_rows = life_.open_rows;
  watch_disk(now);
  life_.claims_stopped = disk_low_ || map_runs_full(stats_.used_bytes, stats_.map_bytes, stopped);
  stats_.claims_stopped = life_.claims_stopped;
}

void LmdbLedger::watch_disk(WallTime now) {
  MDB_envinfo info{};
  mdb_env_info(open_->env.get(), &info);
  MDB_stat stat{};
  mdb_env_stat(open_->env.get(), &stat);
  const std::uint64_t end = (std::uint64_t{info.me_last_pgno} + 1) * stat.ms_psize;
  const bool short_of_reserve =
      end + options_.reserve_bytes / 2 > reserved_bytes_ && reserved_bytes_ < stats_.map_bytes;
  const bool time_to_look =
      !disk_looked_at_ || now >= *disk_looked_at_ + kLookAtDisk || now < *disk_looked_at_;
  if (!time_to_look && (!short_of_reserve || disk_low_)) return;
  disk_looked_at_ = now;
  disk_low_ = free_disk_bytes(options_.directory) < options_.disk_low_bytes;
  if (!short_of_reserve) return;
  const std::uint64_t want = std::min(end + options_.reserve_bytes, stats_.map_bytes);
  const auto reserved = reserve_data_file(options_.directory, want);
  if (reserved.value_or(false)) {
    reserved_bytes_ = want;
  } else {
    disk_low_ = true;
  }
}

// A reader that died in its transaction would make the file grow without end.
void LmdbLedger::check_readers() {
  int dead = 0;
  static_cast<void>(mdb_reader_check(open_->env.get(), &dead));
}

Error LmdbLedger::commit_error(int rc) const {
  // A write cut short by a full disk shows as EIO.
  const bool full = rc == EIO && free_disk_bytes(options_.directory) < kFullDiskBytes;
  return lmdb_fail("commit", full ? ENOSPC : rc).error();
}

std::optional<Error> LmdbLedger::injected(CommitStage stage) const {
  if (!options_.fault) return std::nullopt;
  const auto code = options_.fault(stage);
  if (!code) return std::nullopt;
  return Error{.code = *code, .text = "injected"};
}

std::size_t LmdbLedger::index_bytes() const {
  std::size_t bytes = open_->tables.device_index.memory_bytes();
  for (const RowTable& table : open_->tables.rows) bytes += table.index().memory_bytes();
  return bytes;
}

Result<void> LmdbLedger::scan_beside_recovery(
    const ScanGoesOn& goes_on,
    const std::function<Result<void>(const Open&, const ScanGoesOn&)>& scan) const {
  const std::shared_lock open_stays(open_mutex_);
  if (!open_) return fail(Errc::unavailable, "ledger: not open");
  bool in_the_way = false;
  SO_CHECK(scan(*open_, [&] {
    in_the_way = recovering_;
    return !in_the_way && (!goes_on || goes_on());
  }));
  if (in_the_way) return fail(Errc::unavailable, "ledger: it is being recovered, ask again");
  return {};
}

Result<void> LmdbLedger::scan(const RowFilter& filter, const RowVisitor& visit,
                              const ScanGoesOn& goes_on) const {
  return scan_beside_recovery(goes_on, [&](const Open& open, const ScanGoesOn& on) {
    std::vector<ScanTable> tables;
    for (const RowTable& table : open.tables.rows)
      tables.push_back({.scope = table.scope(), .table = table.table()});
    return scan_rows(open.env, tables, filter, visit, on);
  });
}

Result<void> LmdbLedger::scan_devices(const DeviceVisitor& visit, const ScanGoesOn& goes_on) const {
  return scan_beside_recovery(goes_on, [&](const Open& open, const ScanGoesOn& on) {
    return scan_device_table(open.env, open.tables.devices, visit, on);
  });
}

Result<void> LmdbLedger::close_cleanly() {
  if (options_.durability != LedgerDurability::process) return {};
  // First all rows, then the word that all rows are there.
  if (const int rc = mdb_env_sync(open_->env.get(), 1); rc != 0) return lmdb_fail("sync", rc);
  SO_TRY(LmdbTxn txn, LmdbTxn::begin(open_->env, 0));
  SO_CHECK(open_->tables.meta.remove(txn, kMetaBootId));
  if (const int rc = txn.commit(); rc != 0) return lmdb_fail("commit", rc);
  if (const int rc = mdb_env_sync(open_->env.get(), 1); rc != 0) return lmdb_fail("sync", rc);
  return {};
}

}  // namespace sendonce
