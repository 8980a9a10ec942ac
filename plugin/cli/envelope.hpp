// Envelopes and keys on the command line.
#pragma once

#include <string>

#include "plugin/cli/commands.hpp"
#include "plugin/core/error.hpp"

namespace sendonce::cli {

// The envelope that the options describe, or that stands in the file they name; checked by the
// decoder that the sidecar uses.
[[nodiscard]] Result<std::string> envelope_of(const PublishOptions& options);

}  // namespace sendonce::cli
