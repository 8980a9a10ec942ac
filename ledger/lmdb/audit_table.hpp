// The table of what people have done: entries by their sequence, the newest kAuditKept.
#pragma once

#include "ledger/audit.hpp"
#include "ledger/lmdb/env.hpp"
#include "plugin/core/error.hpp"

namespace sendonce {

[[nodiscard]] Result<void> append_audit_entry(const LmdbTxn& txn, MDB_dbi table,
                                              const AuditEntry& entry);
// The newest first. A damaged entry is passed over: it decides nothing, so it must not stop a
// commit.
[[nodiscard]] Result<AuditPage> read_audit_table(const LmdbTxn& txn, MDB_dbi table,
                                                 const AuditRead& read);

}  // namespace sendonce
