// The table of single values: what the ledger is, and the serials it has given away.
//
//   format        u32, 1
//   id            text, 32 hex digits, random
//   secret        32 random bytes
//   incarnation   u32, one more with every open
//   fence_limit   u64, no fence at or above it has been given away
//   outbox_limit  u64, likewise
//   boot_id       text, there while a ledger of durability "process" is open or was not closed
//   adopted:SCOPE i64, nanoseconds since the Unix epoch
//   recipe:SCOPE  text, the key recipe in force, see recipe_text()
//   recipe_before:SCOPE  i64, nanoseconds since the Unix epoch, when it was replaced; then text
//   app:PROVIDER  text, the provider's app scope, part of its keys
//   normal_forms  u64, version of the normal forms in keys
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ledger/lmdb/env.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"

namespace sendonce {

inline constexpr std::uint32_t kLedgerFormat = 1;
inline constexpr std::string_view kMetaFormat = "format";
inline constexpr std::string_view kMetaId = "id";
inline constexpr std::string_view kMetaSecret = "secret";
inline constexpr std::string_view kMetaIncarnation = "incarnation";
inline constexpr std::string_view kMetaFenceLimit = "fence_limit";
inline constexpr std::string_view kMetaOutboxLimit = "outbox_limit";
inline constexpr std::string_view kMetaBootId = "boot_id";

class MetaTable {
 public:
  // Opens the table in `txn`; with `create` it is made when missing, else that is Errc::invalid.
  [[nodiscard]] static Result<MetaTable> open(const LmdbTxn& txn, bool create);

  [[nodiscard]] Result<std::optional<std::string>> text(const LmdbTxn& txn,
                                                        std::string_view key) const;
  [[nodiscard]] Result<void> put_text(const LmdbTxn& txn, std::string_view key,
                                      std::string_view value) const;
  [[nodiscard]] Result<void> remove(const LmdbTxn& txn, std::string_view key) const;

  // Stored as 8 bytes, little endian. A missing one reads as 0.
  [[nodiscard]] Result<std::uint64_t> number(const LmdbTxn& txn, std::string_view key) const;
  [[nodiscard]] Result<void> put_number(const LmdbTxn& txn, std::string_view key,
                                        std::uint64_t value) const;

  [[nodiscard]] Result<std::optional<WallTime>> adopted_at(const LmdbTxn& txn,
                                                           std::string_view scope) const;
  [[nodiscard]] Result<void> put_adopted_at(const LmdbTxn& txn, std::string_view scope,
                                            WallTime at) const;

  // Refuses a foreign file and a format that is not ours.
  [[nodiscard]] Result<void> check_format(const LmdbTxn& txn) const;

  [[nodiscard]] MDB_dbi table() const { return table_; }

 private:
  explicit MetaTable(MDB_dbi table) : table_(table) {}
  MDB_dbi table_;
};

}  // namespace sendonce
