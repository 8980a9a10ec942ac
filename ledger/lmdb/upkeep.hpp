// Looking after a ledger as a whole: how large it is, whether it is sound, copying it. Beside its
// daemon as a reader that LMDB knows of, else under the owner lock. Any process but the daemon's:
// a second environment would take the file locks of the first along. Blocking.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ledger/audit.hpp"
#include "ledger/ledger_options.hpp"
#include "ledger/lmdb/row_scan.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"

namespace sendonce {

struct LedgerSizes {
  struct Scope {
    std::string name{};
    std::uint64_t rows = 0;
  };
  std::string id{};
  std::uint64_t incarnation = 0;
  std::vector<Scope> scopes{};
  std::uint64_t rows = 0;
  std::uint64_t devices = 0;
  std::uint64_t bindings = 0;
  std::uint64_t outbox = 0;
  std::uint64_t audit = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t used_bytes = 0;  // of it; the rest is free for new rows
  std::uint64_t map_bytes = 0;
  bool running = false;  // a daemon has it open
};
// invalid, corrupt, denied: as with opening it.
[[nodiscard]] Result<LedgerSizes> ledger_sizes(const std::string& directory);

struct LedgerCheck {
  static constexpr std::size_t kStates = 7;  // by State, from 0
  static constexpr std::size_t kDamagesNamed = 20;

  std::string id{};
  std::uint64_t rows = 0;
  std::array<std::uint64_t, kStates> by_state{};
  std::uint64_t devices = 0;
  std::uint64_t bindings = 0;
  std::uint64_t outbox = 0;
  std::uint64_t audit = 0;
  std::uint64_t damaged = 0;           // records of any kind
  std::vector<std::string> damages{};  // the first of them, without keys

  [[nodiscard]] bool sound() const { return damaged == 0; }
};
// Called now and then with how many of how many records have been read.
using CheckProgress = std::function<void(std::uint64_t done, std::uint64_t all)>;
// Reads every record in use: its checksum, its form, its place. Damage to a record is counted;
// damage that keeps LMDB from going on is an error (corrupt), or the end of the process, so let a
// child do it.
[[nodiscard]] Result<LedgerCheck> check_ledger(const std::string& directory,
                                               const CheckProgress& progress);

// Every row, of all scopes, oldest first within one. False from `visit` ends it.
[[nodiscard]] Result<void> scan_ledger(const std::string& directory, const RowVisitor& visit);

// Every entry of the audit, oldest first. False from `visit` ends it.
using AuditVisitor = std::function<bool(const AuditEntry& entry)>;
[[nodiscard]] Result<void> scan_audit(const std::string& directory, const AuditVisitor& visit);

// Writes a copy as of one moment, without free pages, to `to`, which is made and must not be there
// (denied). Appears whole or not at all, and is on the disk when this returns. While the daemon
// runs it cannot reuse pages that are freed meanwhile. Returns the copy's bytes.
[[nodiscard]] Result<std::uint64_t> copy_ledger(const std::string& directory,
                                                const std::string& to);

// Puts a copy in `options.directory`, which holds no ledger, under the id `id`: the consumers know
// another, so that nothing is sent before somebody has adopted them (renew_ledger()).
[[nodiscard]] Result<void> restore_ledger(const LedgerOptions& options, const std::string& from,
                                          const std::string& id, WallTime at);

// Writes the ledger anew without free pages. Offline. Returns its bytes.
[[nodiscard]] Result<std::uint64_t> compact_ledger(const std::string& directory);

}  // namespace sendonce
