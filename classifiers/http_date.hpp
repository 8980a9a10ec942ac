// HTTP-date, RFC 9110 5.6.7.
#pragma once

#include <optional>
#include <string_view>

#include "plugin/core/clock.hpp"

namespace sendonce {

// All three forms a recipient must understand: IMF-fixdate, RFC 850 and asctime. Empty when
// malformed.
[[nodiscard]] std::optional<WallTime> parse_http_date(std::string_view text);

}  // namespace sendonce
