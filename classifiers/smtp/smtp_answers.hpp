// What the reply of a mail server means (RFC 5321 4.2, RFC 3463, RFC 4954, RFC 7504).
#pragma once

#include "plugin/core/verdict.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

// Total and pure. The transport's effect first; then a 2xx to the end of the message; then the
// enhanced status, where its class agrees with the code's; then the code; texts only decide whose
// fault a refusal is that ends no address. An address ends by an enhanced status that speaks of the
// mailbox (or 521 and 556 to RCPT) and by nothing else. Refusals are not_sent.
//
// With step `none`, of an answer that was recorded without one, a 2xx counts as accepted only if it
// names a queue id. The receipt is that id, where the text has one.
[[nodiscard]] Verdict judge_smtp(const CallResult& result);

}  // namespace sendonce
