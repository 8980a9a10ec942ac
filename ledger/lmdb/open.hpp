// Making, opening and looking at a ledger on disk. Any thread; blocking.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/ledger_options.hpp"
#include "ledger/lmdb/lmdb_ledger.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"

namespace sendonce {

[[nodiscard]] std::string new_ledger_id();  // random

// Whether there is one in the directory, sound or not. denied: it cannot be looked into.
[[nodiscard]] Result<bool> ledger_exists(const std::string& directory);

// Makes an empty ledger in `options.directory`, which is made when missing; its parent has to be
// there. Returns the ledger's id. denied: there is a ledger already. Appears whole or not at all.
[[nodiscard]] Result<std::string> create_ledger(const LedgerOptions& options,
                                                const std::string& id = new_ledger_id());

// Takes the owner lock and opens. busy: another process owns it; invalid: none there, foreign, of
// a newer format, on an unfit file system, its keys were made in another way; corrupt: torn,
// truncated, or memory lost with a reboot.
[[nodiscard]] Result<std::unique_ptr<LmdbLedger>> open_ledger(LedgerOptions options);

// Stores that this ledger has taken over `scope` at `at`: of a message stored before then whose key
// it does not know, it answers that it may have been sent (docs/operations.md, "Adopting").
// Offline, takes the owner lock.
[[nodiscard]] Result<void> adopt_scope(const LedgerOptions& options, std::string_view scope,
                                       WallTime at);

// Gives a copy of a ledger that was put back the id `id`: what the original has done since, nobody
// knows. All scopes count as adopted at `at`, and a delivery that was to be tried again may have
// been sent meanwhile. Rows and secret stay. Offline, takes the owner lock.
enum class CopyOrigin : std::uint8_t {
  unknown,
  synced,  // by copy_ledger(): whole on the disk, so no reboot has taken anything of it
};
[[nodiscard]] Result<void> renew_ledger(const LedgerOptions& options, const std::string& id,
                                        WallTime at, CopyOrigin origin = CopyOrigin::unknown);

// Stores `keys` as what keys are made of from now on, whatever they were made of before: of the
// scopes whose keys change it is as if they were adopted at `keys.now`. Returns what has changed.
// With `dry_run` nothing is stored. Offline, takes the owner lock.
[[nodiscard]] Result<std::vector<std::string>> accept_keys(const LedgerOptions& options,
                                                           const KeyMarks& keys, bool dry_run);

// A ledger that no process has open, to look at. Creates and changes nothing, holds the owner lock
// for as long as it lives.
class LedgerReader {
 public:
  [[nodiscard]] static Result<std::unique_ptr<LedgerReader>> open(const std::string& directory);
  ~LedgerReader();

  [[nodiscard]] Result<void> scan(const RowFilter& filter, const RowVisitor& visit) const;
  // The newest first; nothing of a ledger of an older version, which has no such table.
  [[nodiscard]] Result<AuditPage> audit(const AuditRead& read) const;
  [[nodiscard]] const LedgerStats& stats() const { return stats_; }
  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] Incarnation incarnation() const { return incarnation_; }
  [[nodiscard]] const LedgerSecret& secret() const { return secret_; }
  [[nodiscard]] std::vector<std::string> scopes() const;

 private:
  struct Open;
  explicit LedgerReader(OwnerLock lock);
  Result<void> read(const std::string& directory);

  OwnerLock lock_;
  std::unique_ptr<Open> open_;
  std::string id_{};
  Incarnation incarnation_{};
  LedgerSecret secret_{};
  LedgerStats stats_{};
};

}  // namespace sendonce
