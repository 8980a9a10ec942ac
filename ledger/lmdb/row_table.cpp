#include "ledger/lmdb/row_table.hpp"

#include <algorithm>
#include <utility>

#include "ledger/rules.hpp"
#include "plugin/core/assert.hpp"

namespace sendonce {
namespace {

constexpr std::string_view kTablePrefix = "rows:";
// How far behind living rows at the head a forgettable one is looked for.
constexpr std::size_t kLookAhead = 1000;
// Rows whose places in the index are fetched together while it is rebuilt.
constexpr std::size_t kIndexedTogether = 64;
constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kLineBytes = 64;
constexpr Duration kLookAgain = std::chrono::minutes(1);

std::uint64_t sequence_in(const MDB_val& key) {
  std::uint64_t sequence = 0;
  SO_ASSERT(key.mv_size == sizeof sequence);
  std::memcpy(&sequence, key.mv_data, sizeof sequence);
  return sequence;
}

// LMDB fills a page from its end, so that rows in order lie backwards, which no processor foresees:
// a scan would wait for each line of memory in turn. Asked for at once they come together.
class PageReader {
 public:
  void entered(const MDB_val& value) {
    const auto* at = static_cast<const char*>(value.mv_data);
    const char* page = at - reinterpret_cast<std::uintptr_t>(at) % kPageBytes;
    if (page == page_) return;
    page_ = page;
    for (std::size_t i = 0; i < kPageBytes; i += kLineBytes) __builtin_prefetch(page + i);
  }

 private:
  const char* page_ = nullptr;
};

std::span<char> writable(const MDB_val& value) {
  return {static_cast<char*>(value.mv_data), value.mv_size};
}

}  // namespace

std::string RowTable::table_name(std::string_view scope) {
  return std::string(kTablePrefix) + std::string(scope);
}

RowTable::RowTable(std::string scope, std::size_t position, MDB_dbi table, std::uint64_t rows_max,
                   std::uint64_t seed)
    : scope_(std::move(scope)), position_(position), table_(table), index_(rows_max, seed) {}

Result<void> RowTable::rebuild(const LmdbTxn& txn,
                               const std::function<void(RowId, const RowPeek&, const Row*)>& seen) {
  index_.clear();
  overlay_.clear();
  changes_.clear();
  look_at_head_.reset();
  MDB_stat stat{};
  if (const int rc = mdb_stat(txn.get(), table_, &stat); rc != 0) return lmdb_fail("mdb_stat", rc);
  index_.reserve(stat.ms_entries);
  std::uint64_t last = 0;
  std::vector<IndexChange> read;
  read.reserve(kIndexedTogether);
  SO_TRY(const LmdbCursor cursor, LmdbCursor::open(txn, table_));
  PageReader reader;
  MDB_val k{};
  MDB_val v{};
  int rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_FIRST);
  for (; rc == 0; rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_NEXT)) {
    reader.entered(v);
    last = sequence_in(k);
    SO_TRY(const RowPeek peek, peek_row(lmdb_text(v)));
    index_.prefetch_segment(peek.key);
    read.push_back({.key = peek.key, .erase = 0, .insert = last});
    if (read.size() == kIndexedTogether) index_all(read);
    if (has_ended(peek.state) && peek.dead_letter != DeadLetter::due) {
      seen(row_id(position_, last), peek, nullptr);
      continue;
    }
    SO_TRY(const Row row, decode_row(lmdb_text(v)));
    seen(row_id(position_, last), peek, &row);
  }
  if (rc != MDB_NOTFOUND) return lmdb_fail("scan of " + scope_, rc);
  index_all(read);
  next_sequence_ = last + 1;
  first_new_sequence_ = next_sequence_;
  return {};
}

void RowTable::index_all(std::vector<IndexChange>& read) {
  for (const IndexChange& row : read) index_.prefetch_slot(row.key);
  for (const IndexChange& row : read) index_.insert(row.key, row.insert);
  read.clear();
}

Result<MDB_cursor*> RowTable::cursor(const LmdbTxn& txn) {
  if (cursor_ != nullptr) return cursor_;
  if (const int rc = mdb_cursor_open(txn.get(), table_, &cursor_); rc != 0)
    return lmdb_fail("mdb_cursor_open", rc);
  return cursor_;
}

Result<std::string_view> RowTable::seek(const LmdbTxn& txn, std::uint64_t sequence) {
  cursor_at_ = 0;
  SO_TRY(MDB_cursor* const at, cursor(txn));
  MDB_val k = lmdb_sequence(sequence);
  MDB_val v{};
  const int rc = mdb_cursor_get(at, &k, &v, MDB_SET);
  // A row that is gone reads as absent; one that cannot be read must not.
  if (rc == MDB_NOTFOUND) return std::string_view();
  if (rc != 0) return lmdb_fail("read of " + scope_, rc);
  cursor_at_ = sequence;
  size_there_ = v.mv_size;
  return lmdb_text(v);
}

Result<std::uint64_t> RowTable::locate(const LmdbTxn& txn, const Key& key,
                                       std::string_view& bytes) {
  Result<std::string_view> read;
  const auto is_it = [&](std::uint64_t sequence) {
    if (!read) return false;
    read = seek(txn, sequence);
    return read && is_row_of(*read, key);
  };
  std::uint64_t found = overlay_.find(key);
  if (found == 0 || !is_it(found)) found = index_.find(key, is_it);
  if (!read) return std::unexpected(std::move(read).error());
  bytes = *read;
  return found;
}

Result<std::optional<StoredRow>> RowTable::find(const LmdbTxn& txn, const Key& key) {
  std::string_view bytes;
  SO_TRY(const std::uint64_t sequence, locate(txn, key, bytes));
  Result<std::optional<StoredRow>> found;
  if (sequence == 0) return found;
  // In place: a row is large to move.
  StoredRow& stored = found->emplace();
  stored.id = row_id(position_, sequence);
  if (auto decoded = decode_row(bytes, stored.row); !decoded)
    found = std::unexpected(std::move(decoded).error());
  return found;
}

Result<std::optional<Row>> RowTable::at(const LmdbTxn& txn, std::uint64_t sequence) {
  MDB_val k = lmdb_sequence(sequence);
  MDB_val v{};
  const int rc = mdb_get(txn.get(), table_, &k, &v);
  if (rc == MDB_NOTFOUND) return std::optional<Row>{};
  if (rc != 0) return lmdb_fail("read of " + scope_, rc);
  SO_TRY(Row row, decode_row(lmdb_text(v)));
  return std::optional(std::move(row));
}

Result<RowId> RowTable::insert(const LmdbTxn& txn, const Row& row) {
  std::uint64_t sequence = next_sequence_++;
  const std::size_t padding = has_ended(row.state) ? 0 : kClaimPadding;
  SO_TRY(MDB_cursor* const at, cursor(txn));
  cursor_at_ = 0;
  MDB_val k = lmdb_sequence(sequence);
  MDB_val v{encoded_size(row) + padding, nullptr};
  const int rc = mdb_cursor_put(at, &k, &v, MDB_APPEND | MDB_RESERVE);
  if (rc != 0) return lmdb_fail("insert into " + scope_, rc);
  encode_row(row, writable(v));
  overlay_.put(row.key, sequence);
  changes_.push_back({.key = row.key, .erase = 0, .insert = sequence});
  return row_id(position_, sequence);
}

Result<void> RowTable::update(const LmdbTxn& txn, std::uint64_t sequence, const Row& row,
                              const Key& old_key) {
  // In place when it fits: a record of another size is taken out of its page and put in again.
  if (cursor_at_ != sequence) SO_CHECK(seek(txn, sequence));
  if (cursor_at_ != sequence) return lmdb_fail("update of " + scope_, MDB_NOTFOUND);
  cursor_at_ = 0;
  MDB_val k = lmdb_sequence(sequence);
  MDB_val v{std::max(size_there_, encoded_size(row)), nullptr};
  const int rc = mdb_cursor_put(cursor_, &k, &v, MDB_CURRENT | MDB_RESERVE);
  if (rc != 0) return lmdb_fail("update of " + scope_, rc);
  encode_row(row, writable(v));
  if (row.key != old_key) {
    overlay_.put(row.key, sequence);
    changes_.push_back({.key = old_key, .erase = sequence, .insert = 0});
    changes_.push_back({.key = row.key, .erase = 0, .insert = sequence});
  }
  return {};
}

Result<std::vector<RowTable::HeadRow>> RowTable::read_head(const LmdbTxn& txn, WallTime memory_now,
                                                           std::size_t max,
                                                           std::optional<WallTime>& next) {
  std::vector<HeadRow> head;
  std::size_t forgettable_end = 0;  // how much of `head` is worth acting on
  SO_TRY(const LmdbCursor cursor, LmdbCursor::open(txn, table_));
  MDB_val k{};
  MDB_val v{};
  int rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_FIRST);
  for (; rc == 0 && head.size() < max && head.size() - forgettable_end < kLookAhead;
       rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_NEXT)) {
    SO_TRY(const RowPeek peek, peek_row(lmdb_text(v)));
    HeadRow row{.sequence = sequence_in(k), .key = peek.key, .forget = false, .bytes = {}};
    // Rows of this very transaction are not moved: their ids are already spoken for.
    if (row.sequence >= first_new_sequence_) break;
    row.forget = may_forget(peek.state, peek.dead_letter, peek.keep_until, memory_now);
    if (!row.forget) {
      row.bytes = lmdb_text(v);
      const WallTime again = has_ended(peek.state) ? peek.keep_until : memory_now + kLookAgain;
      next = std::min(next.value_or(again), again);
    }
    head.push_back(std::move(row));
    if (head.back().forget) forgettable_end = head.size();
  }
  if (rc != 0 && rc != MDB_NOTFOUND) return lmdb_fail("scan of " + scope_, rc);
  head.resize(forgettable_end);
  return head;
}

Result<void> RowTable::append(const LmdbTxn& txn, std::string_view bytes, std::uint64_t sequence) {
  MDB_val k = lmdb_sequence(sequence);
  MDB_val v = lmdb_value(bytes);
  if (const int rc = mdb_put(txn.get(), table_, &k, &v, MDB_APPEND); rc != 0)
    return lmdb_fail("append to " + scope_, rc);
  return {};
}

Result<void> RowTable::expire(const LmdbTxn& txn, WallTime memory_now, std::size_t max,
                              Expiry& expiry) {
  const auto note_next = [&expiry](WallTime at) {
    expiry.next = std::min(expiry.next.value_or(at), at);
  };
  if (look_at_head_ && memory_now < *look_at_head_) {
    note_next(*look_at_head_);
    return {};
  }
  std::optional<WallTime> next;
  SO_TRY(const std::vector<HeadRow> head, read_head(txn, memory_now, max, next));
  cursor_at_ = 0;
  for (const HeadRow& row : head) {
    std::uint64_t sequence = row.sequence;
    MDB_val k = lmdb_sequence(sequence);
    if (const int rc = mdb_del(txn.get(), table_, &k, nullptr); rc != 0)
      return lmdb_fail("delete from " + scope_, rc);
    changes_.push_back({.key = row.key, .erase = row.sequence, .insert = 0});
    if (row.forget) {
      ++expiry.removed;
      continue;
    }
    const std::uint64_t to = next_sequence_++;
    SO_CHECK(append(txn, row.bytes, to));
    overlay_.put(row.key, to);
    changes_.push_back({.key = row.key, .erase = 0, .insert = to});
    expiry.moved.emplace_back(row_id(position_, row.sequence), row_id(position_, to));
  }
  // Something was found: there may be more. Nothing: not before the earliest of the rows seen.
  next_look_at_head_ = head.empty() ? next.value_or(memory_now + kLookAgain) : memory_now;
  note_next(*next_look_at_head_);
  return {};
}

void RowTable::committed() {
  for (const IndexChange& change : changes_) {
    if (change.erase != 0) index_.erase(change.key, change.erase);
    if (change.insert != 0) index_.insert(change.key, change.insert);
  }
  if (next_look_at_head_) look_at_head_ = next_look_at_head_;
  abandoned();
}

void RowTable::abandoned() {
  changes_.clear();
  overlay_.clear();
  next_look_at_head_.reset();
  cursor_ = nullptr;
  cursor_at_ = 0;
  first_new_sequence_ = next_sequence_;
}

}  // namespace sendonce
