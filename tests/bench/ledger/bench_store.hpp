// Other stores under the ledger's work.
#pragma once

#include <memory>
#include <string>

#include "plugin/cli/bench/ledger_store.hpp"
#include "plugin/core/error.hpp"

namespace sendonce::bench {

using cli::BenchStore;
using cli::fill_key;
using cli::kValueBytes;

// Each in an empty directory of its own. Errc::unavailable: it is not installed here.
[[nodiscard]] Result<std::unique_ptr<BenchStore>> make_sqlite(const std::string& directory);
[[nodiscard]] Result<std::unique_ptr<BenchStore>> make_redis(const std::string& directory);
// On a server that runs already; makes and drops a table of its own.
[[nodiscard]] Result<std::unique_ptr<BenchStore>> make_postgres(const std::string& conninfo);

}  // namespace sendonce::bench
