// The verbs of the admin socket that read the ledger: `list` and `inspect`. The same rows and the
// same JSON are printed offline by the command line.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "ledger/lmdb/lmdb_ledger.hpp"
#include "plugin/core/error.hpp"
#include "plugin/module/admin/admin_protocol.hpp"

namespace sendonce {

// A row as JSON on one line (docs/formats.md, "Rows").
[[nodiscard]] std::string row_json(std::string_view scope, const Row& row);

// What to look for, from the arguments of a request: key, event, recipient, state, scope. `secret`
// is the ledger's: event and recipient are stored as keyed hashes.
[[nodiscard]] Result<RowFilter> filter_from(const AdminRequest& request,
                                            const LedgerSecret& secret);

[[nodiscard]] Result<void> list_rows(const LmdbLedger& ledger, const AdminRequest& request,
                                     AdminReply& reply);

}  // namespace sendonce
