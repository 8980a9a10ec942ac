// Everything that the daemon would refuse at its start, found without starting it.
#pragma once

#include <string>

#include "config/loader.hpp"

namespace sendonce {

// The configuration with a look at its surroundings, then the credentials and certificates as the
// start reads them: keys are parsed, not only opened. Needs no network and no ledger, changes
// nothing.
[[nodiscard]] LoadResult check_installation(const std::string& path);

}  // namespace sendonce
