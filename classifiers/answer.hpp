// What every provider's table has in common: the order of judgement, and its first and last steps,
// the effect that the transport proved and the bare HTTP status.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plugin/core/clock.hpp"
#include "plugin/core/verdict.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

// A verdict with the fault and the effect that belong to its class: `accepted` is sent, `ambiguous`
// maybe sent, everything else not sent.
[[nodiscard]] Verdict judged(VerdictClass verdict, FaultScope scope, std::string_view reason);

// No complete answer. An effect is taken as the transport proved it, never improved.
[[nodiscard]] Verdict judge_failure(const CallFailure& failure);

// The last step, when no code in the body is known. An unknown answer never ends a token and never
// counts as accepted: a 2xx that comes here had no receipt.
[[nodiscard]] Verdict judge_status(const HttpAnswer& answer, WallTime now);

// Of an endpoint that nobody knows: the request may have been carried out before it failed, or
// before it was redirected. 307 and 308 ask for the same request elsewhere (RFC
// 9110 15.4.8, 15.4.9).
[[nodiscard]] bool may_have_acted(int status);

// RFC 9110 10.2.3, seconds or a date. Empty: none, negative or unreadable.
[[nodiscard]] std::optional<Duration> retry_after(const Headers& headers, WallTime now);
// The same in another header: less than 1e9 are seconds to wait, more are a time in seconds since
// 1970, of the server's clock where it says `date`; or a date.
[[nodiscard]] std::optional<Duration> retry_in(std::string_view value, const Headers& headers,
                                               WallTime now);
// At least 1 s. More than an hour is the trouble of more than one message: it moves from the
// delivery to the provider; for a single device it is cut to an hour.
void set_retry_after(Verdict& verdict, Duration wait);

// By how much our clock is ahead of the provider's `date`; empty without a readable one.
[[nodiscard]] std::optional<Duration> clock_lead(const Headers& headers, WallTime now);
// "" or ", our clock is 3605 s ahead of the provider's" when the two differ by more than 5 minutes.
[[nodiscard]] std::string clock_remark(const Headers& headers, WallTime now);

// A page of some front end: HTML or any other markup.
[[nodiscard]] bool is_html(std::string_view body);
[[nodiscard]] bool looks_like_json(std::string_view body);  // whole or cut

// A provider's code as it may be printed: letters, digits, _ - . and at most 64 of them; else
// "unreadable code".
[[nodiscard]] std::string safe_code(std::string_view code);
// A receipt: 1 to 256 visible ASCII characters.
[[nodiscard]] bool is_receipt(std::string_view text);

}  // namespace sendonce
