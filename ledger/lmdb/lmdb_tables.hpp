// The tables of an open ledger and what is kept of them in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ledger/key_index.hpp"
#include "ledger/lmdb/env.hpp"
#include "ledger/lmdb/meta_table.hpp"
#include "ledger/lmdb/row_table.hpp"
#include "plugin/core/clock.hpp"

namespace sendonce {

// The device table's hash in the form the index takes.
[[nodiscard]] Key device_key(const DeviceHash& hash);
// Any bits of it: the table itself is asked on a hit.
[[nodiscard]] std::uint64_t device_bits(const DeviceHash& hash);

// All key scopes that have a table.
[[nodiscard]] Result<std::vector<std::string>> stored_scopes(const LmdbTxn& txn);
[[nodiscard]] Result<std::vector<std::string>> scopes_with_rows(const LmdbTxn& txn);
[[nodiscard]] Result<MDB_dbi> open_table(const LmdbTxn& txn, const std::string& name,
                                         unsigned flags);
// How many records the table holds.
[[nodiscard]] Result<std::uint64_t> entries(const LmdbTxn& txn, MDB_dbi table);
// Pages in use by these tables and by LMDB's own trees, free ones not counted.
[[nodiscard]] Result<std::uint64_t> bytes_in_use(const LmdbTxn& txn, std::vector<MDB_dbi> tables);
inline constexpr const char* kOutboxTable = "outbox";
inline constexpr const char* kDeviceTable = "devices";
inline constexpr const char* kAuditTable = "audit";
inline constexpr const char* kBindingTable = "bindings";
inline constexpr unsigned kTablesMax = 256;

struct LmdbTables {
  MetaTable meta;
  MDB_dbi outbox = 0;
  MDB_dbi devices = 0;
  MDB_dbi audit = 0;
  MDB_dbi bindings = 0;
  bool any_bindings = false;    // else nothing is looked up
  std::string bindings_seen{};  // the last key that forget_bindings() has looked at
  // The configured scopes in their order, then those that no class uses any more.
  std::vector<RowTable> rows{};
  std::vector<std::optional<WallTime>> adopted{};
  KeyIndex device_index;

  // Opens all tables in a write transaction, making those that are missing.
  [[nodiscard]] static Result<LmdbTables> open(const LmdbTxn& txn,
                                               const std::vector<std::string>& scopes,
                                               std::uint64_t rows_max, std::uint64_t seed);
  [[nodiscard]] Result<void> rebuild_devices(const LmdbTxn& txn);

  // Pages in use by all trees, free ones not counted.
  [[nodiscard]] Result<std::uint64_t> used_bytes(const LmdbTxn& txn) const;
  [[nodiscard]] Result<std::uint64_t> row_count(const LmdbTxn& txn) const;
};

}  // namespace sendonce
