// Looking for rows without the index, by what an operator knows of them: on a reader thread of the
// owning process, or offline. Reads in short transactions, so that no reader pins old pages for
// long (a pinned one makes the file grow without end).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/device.hpp"
#include "ledger/lmdb/env.hpp"
#include "ledger/row.hpp"
#include "plugin/core/error.hpp"

namespace sendonce {

// All conditions that are set have to hold.
struct RowFilter {
  std::optional<std::string> scope{};
  std::optional<Key> key{};
  std::optional<LookupHash> event{};
  std::optional<LookupHash> recipient{};
  std::optional<LookupHash> campaign{};
  std::optional<State> state{};
  std::optional<DeadLetter> dead_letter{};
};

// Oldest first within a scope. False ends the scan.
using RowVisitor = std::function<bool(std::string_view scope, const Row& row)>;

struct ScanTable {
  std::string scope{};
  MDB_dbi table = 0;
};
// Asked before each transaction, of 20,000 rows at most: false ends the scan.
using ScanGoesOn = std::function<bool()>;
[[nodiscard]] Result<void> scan_rows(const LmdbEnv& env, const std::vector<ScanTable>& tables,
                                     const RowFilter& filter, const RowVisitor& visit,
                                     const ScanGoesOn& goes_on = {});

// In the order of their hashes. False ends the scan.
using DeviceVisitor = std::function<bool(const DeviceHash& hash, const DeviceRow& row)>;
[[nodiscard]] Result<void> scan_device_table(const LmdbEnv& env, MDB_dbi table,
                                             const DeviceVisitor& visit,
                                             const ScanGoesOn& goes_on = {});

}  // namespace sendonce
