// What Twilio reports of a text after it has taken it: the fields of its status callback.
// https://www.twilio.com/docs/messaging/api/message-resource#message-status-values
#pragma once

#include "plugin/core/verdict.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

// Total and pure. The body is the form of the callback; there is no status. `delivered` and what
// leads to it is `accepted`, with the SID as its receipt. `undelivered` and `failed` are judged by
// ErrorCode (https://www.twilio.com/docs/api/errors); a later text is a new decision in any case,
// never a repeat of this one.
[[nodiscard]] Verdict judge_twilio_callback(const CallResult& result);

}  // namespace sendonce
