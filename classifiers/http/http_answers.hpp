// What an answer means to a provider that configuration describes.
#pragma once

#include "plugin/core/clock.hpp"
#include "plugin/core/verdict.hpp"
#include "plugin/message/http_spec.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

// Total and pure. In this order: the effect that the transport proved; the first line of the table
// that matches; a 2xx with the receipt; the status alone. A line may call a 2xx accepted only with
// the receipt in it, where one is configured. A 5xx that no line knows is maybe sent; it is a
// reason to ask again only where a key suppresses the repeat.
[[nodiscard]] Verdict judge_http(const HttpSpec& spec, const CallResult& result, WallTime now);

}  // namespace sendonce
