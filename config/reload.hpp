// What a reload would change, and whether it can. Pure.
#pragma once

#include <string>
#include <vector>

#include "config/finding.hpp"
#include "config/key_spec.hpp"
#include "config/schema.hpp"

namespace sendonce {

struct Change {
  std::string field{};  // "class.otp.retry.first"; a whole table when it came or went
  OnReload applies = OnReload::restart;
  std::string before{};  // TOML; empty: not set. "(not shown)" where it may hold a secret
  std::string after{};
};

// In the order of the new configuration, tables that went last. Credential *files* may have changed
// without any of this: a reload reads them again in any case. Moved tables are no change.
[[nodiscard]] std::vector<Change> compare(const Config& before, const Config& after);

// Those that need a restart, each with its place in the new files; of what went, the nearest table.
[[nodiscard]] Findings refused_by_reload(const std::vector<Change>& changes,
                                         const KeyPositions& positions);

}  // namespace sendonce
