// The configuration as it took effect: every key with its value, defaults included, as TOML that
// loads to the same values. Secrets appear as their references.
#pragma once

#include <string>

#include "config/schema.hpp"

namespace sendonce {

// Stable: the same values give the same text, whatever file they came from and however written.
[[nodiscard]] std::string effective_toml(const Config& config);

// SHA-256 of effective_toml in hex.
[[nodiscard]] std::string effective_hash(const Config& config);

}  // namespace sendonce
