// The core of `sendonce classify --jsonl`: a recorded answer in, the verdict out.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/verdict.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

// One line is a JSON object:
//   provider     apns, fcm, fcm-oauth, fcm-legacy, smtp, …, or transport (the connection alone), or
//                a provider that `others` knows
//   id           a name, comes back; may be absent
//   http_status  number, of smtp the reply's code; null or 0: no answer
//   headers      object of texts; names in any case
//   body         text, as received or as a library printed it; null: none
//   transport    null, or {layer, event, code, prereq_calls, …} (corpus_transport.hpp)
//   context      what only the sender knows, all optional: environment_differs, environment_proven,
//                path_proven, last_stream_below_ours (booleans), registered_at (RFC 3339), index
// and notes, which are not read: note, expected_class, why, maybe_sent, flags, alt, basis, source.
// Other members are refused. The result, without a line feed:
//   {"id","class","effect","fault","scope","reason","retry_after_s"} and, only where they say
//   something: part, message_id, invalid_since, and as true the flags receipt_missing, needs_proof,
//   ignore_device, refresh_credential, reconnect.
// invalid: "line 12: …", which member is wrong.
//
// `others` judges for providers that configuration describes or adds lines to. `known` is what the
// protocol's own table says, empty where there is none. Empty from it: no such provider.
using OtherJudge =
    std::function<std::optional<Verdict>(std::string_view provider, const CallResult& result,
                                         const std::optional<Verdict>& known, WallTime now)>;
[[nodiscard]] Result<std::string> classify_line(std::string_view line, std::size_t number,
                                                WallTime now, const OtherJudge& others = {});

}  // namespace sendonce
