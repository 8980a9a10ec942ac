// Directories of a ledger.
#pragma once

#include <string>

#include "plugin/core/error.hpp"

namespace sendonce {

// Makes it, for its owner alone, unless it is there. denied: it cannot be made.
[[nodiscard]] Result<void> make_directory(const std::string& directory);
// What was made, renamed or removed in it is on the disk afterwards.
[[nodiscard]] Result<void> sync_directory(const std::string& directory);

}  // namespace sendonce
