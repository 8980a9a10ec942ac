// Ids that are the same on every attempt (design.md 8.4).
#pragma once

#include <string>
#include <string_view>

#include "plugin/core/error.hpp"

namespace sendonce {

// A UUID of version 8 (RFC 9562 5.8) from the first 16 bytes of a digest, in lower case. The
// apns-id comes from the key, the nid in the payload from the notification's digest.
[[nodiscard]] std::string uuid8_text(std::string_view digest);

// Whether the text may stand in a header field: RFC 9113 8.2.1 refuses control characters and
// spaces at the ends.
[[nodiscard]] Result<void> check_header_value(std::string_view text, std::string_view what,
                                              std::size_t max_bytes);

}  // namespace sendonce
