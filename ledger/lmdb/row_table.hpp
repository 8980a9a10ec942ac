// The rows of one key scope: an LMDB table in the order of arrival, and the index of its keys in
// memory. Inserts append, updates hit recent pages, expiry eats from the head.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ledger/key_index.hpp"
#include "ledger/lmdb/env.hpp"
#include "ledger/lmdb/overlay.hpp"
#include "ledger/row_codec.hpp"
#include "ledger/store.hpp"

namespace sendonce {

class RowTable {
 public:
  [[nodiscard]] static std::string table_name(std::string_view scope);

  // `position` is the table's number in row ids.
  RowTable(std::string scope, std::size_t position, MDB_dbi table, std::uint64_t rows_max,
           std::uint64_t seed);

  // Fills the index from the stored rows; `seen` is told of each of them. One read transaction.
  [[nodiscard]] Result<void> rebuild(
      const LmdbTxn& txn, const std::function<void(RowId, const RowPeek&, const Row*)>& seen);

  // See KeyIndex.
  [[nodiscard]] const KeyIndex& index() const { return index_; }

  // ---- within a write transaction; then exactly one of the two at the end
  [[nodiscard]] Result<std::optional<StoredRow>> find(const LmdbTxn& txn, const Key& key);
  [[nodiscard]] Result<std::optional<Row>> at(const LmdbTxn& txn, std::uint64_t sequence);
  [[nodiscard]] Result<RowId> insert(const LmdbTxn& txn, const Row& row);
  [[nodiscard]] Result<void> update(const LmdbTxn& txn, std::uint64_t sequence, const Row& row,
                                    const Key& old_key);
  [[nodiscard]] Result<void> expire(const LmdbTxn& txn, WallTime memory_now, std::size_t max,
                                    Expiry& expiry);
  void committed();
  void abandoned();

  [[nodiscard]] const std::string& scope() const { return scope_; }
  [[nodiscard]] MDB_dbi table() const { return table_; }

 private:
  struct IndexChange {
    Key key{};
    std::uint64_t erase = 0;  // sequence; 0: none
    std::uint64_t insert = 0;
  };
  struct HeadRow {
    std::uint64_t sequence = 0;
    Key key{};
    bool forget = false;
    std::string bytes{};  // of one that lives on
  };

  // The one cursor of the open transaction: rows are claimed and settled in about the order in
  // which they lie, so that the next one is as a rule on the page where it stands.
  [[nodiscard]] Result<MDB_cursor*> cursor(const LmdbTxn& txn);
  // Stands on the row; its bytes are good until the next write.
  [[nodiscard]] Result<std::string_view> seek(const LmdbTxn& txn, std::uint64_t sequence);
  // Puts what has been read into the index; its cache misses overlap.
  void index_all(std::vector<IndexChange>& read);
  // The sequence of `key`'s row and its bytes; 0 when there is none.
  [[nodiscard]] Result<std::uint64_t> locate(const LmdbTxn& txn, const Key& key,
                                             std::string_view& bytes);
  [[nodiscard]] Result<std::vector<HeadRow>> read_head(const LmdbTxn& txn, WallTime memory_now,
                                                       std::size_t max,
                                                       std::optional<WallTime>& next);
  [[nodiscard]] Result<void> append(const LmdbTxn& txn, std::string_view bytes,
                                    std::uint64_t sequence);

  std::string scope_;
  std::size_t position_;
  MDB_dbi table_;
  KeyIndex index_;
  Overlay overlay_{};
  std::vector<IndexChange> changes_{};
  MDB_cursor* cursor_ = nullptr;  // LMDB closes it with the open transaction
  // The row where the cursor stands, which is as a rule the one to be updated next; 0: elsewhere.
  std::uint64_t cursor_at_ = 0;
  std::size_t size_there_ = 0;
  std::uint64_t next_sequence_ = 1;
  std::uint64_t first_new_sequence_ = 1;         // of the open transaction
  std::optional<WallTime> look_at_head_{};       // nothing to expire before then
  std::optional<WallTime> next_look_at_head_{};  // once the open transaction is committed
};

}  // namespace sendonce
