// What the answer to a lookup means to a provider that configuration describes.
#pragma once

#include "plugin/core/clock.hpp"
#include "plugin/core/look.hpp"
#include "plugin/message/http_spec.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

// Total and pure. In this order: no whole answer is undecided; the first line of the table that
// matches; a 2xx with the receipt is found. `found` needs the receipt where one is configured, and
// `absent` a line that says so: nothing else does.
[[nodiscard]] LookAnswer judge_lookup(const HttpSpec& spec, const CallResult& result, WallTime now);

}  // namespace sendonce
