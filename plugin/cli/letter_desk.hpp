// Dead letters and their replay for the page, by the code of `dlq`.
#pragma once

#include <cstdint>
#include <string>

#include "config/schema.hpp"
#include "plugin/core/error.hpp"

namespace sendonce::cli {

// {"items":[...],"depth":N,"more":bool}, as `dlq list --json` has them, the oldest first, from the
// sequence `from` on. `limit` 0: the depth alone. A connection to NATS is made for each call.
[[nodiscard]] Result<std::string> letters_json(const Config& config, std::uint64_t from,
                                               std::int64_t limit);

// {"sequence":N,"done":bool,"text":"..."}, as `dlq replay --json` has it. invalid: no such letter.
[[nodiscard]] Result<std::string> replay_json(const Config& config, std::uint64_t sequence,
                                              bool force, const std::string& reason);

}  // namespace sendonce::cli
