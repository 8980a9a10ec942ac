// What people have done, as the ledger keeps it: who asked by the kernel's word, and the verb that
// reads it.
#pragma once

#include <string>

#include "ledger/audit.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/log.hpp"
#include "plugin/module/admin/admin_protocol.hpp"
#include "plugin/module/engine_thread.hpp"

namespace sendonce {

// An entry about the request: who, when, which verb and why. What it is about and what came of it
// is for the caller to say.
[[nodiscard]] AuditEntry audit_of(const AdminRequest& request, WallTime now);

// Keeps what has been done outside of the ledger, which a full disk must not forbid: when it cannot
// be kept, the log has it instead (admin.audit_failed). Waits for a bounded time.
void keep_audit(EngineThread& engine, Log& log, AuditEntry entry);

// An entry as JSON on one line (docs/formats.md, "Audit").
[[nodiscard]] std::string audit_json(const AuditEntry& entry);

// `since` (RFC 3339) and `limit`, the newest first.
[[nodiscard]] Result<void> list_audit(EngineThread& engine, const AdminRequest& request,
                                      AdminReply& reply);

}  // namespace sendonce
