// Reads the outcome and dead-letter streams, from their beginning, into a tally.
#pragma once

#include "plugin/broker/nats/publisher.hpp"
#include "plugin/cli/demo/tally.hpp"
#include "plugin/core/error.hpp"

namespace sendonce::cli {

// After the rows: a dead letter is known by its key. Subscribes, so once per client.
[[nodiscard]] Result<void> read_streams(Publisher& client, Tally& tally);

}  // namespace sendonce::cli
