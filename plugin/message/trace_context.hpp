// W3C Trace Context, level 1 (https://www.w3.org/TR/trace-context-1/): which trace of the
// producer's a message belongs to. It goes on to the outcome events and the log, and never to a
// provider.
#pragma once

#include <string_view>

#include "plugin/broker/broker.hpp"

namespace sendonce {

// The header `traceparent` (of CloudEvents' binary mode: `ce-traceparent`) in any case of letters,
// as it came. Empty when there is none, or more than one, or it is malformed (3.2.2): it is then
// ignored.
[[nodiscard]] std::string_view traceparent_of(const MessageHeaders& headers);
// The 32 hex digits that name the trace; of "" they are "".
[[nodiscard]] std::string_view trace_id_of(std::string_view traceparent);

}  // namespace sendonce
