// Ids and references that are the same on every attempt.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "plugin/core/error.hpp"
#include "plugin/core/ids.hpp"

namespace sendonce {

// A UUID of version 8 (RFC 9562 5.8) from the first 16 bytes of a delivery key.
[[nodiscard]] std::array<std::uint8_t, 16> uuid_from(const Key& key);

// Whether the text may stand in a header field: RFC 9113 8.2.1 refuses control characters and
// spaces at the ends.
[[nodiscard]] Result<void> check_header_value(std::string_view text, std::string_view what,
                                              std::size_t max_bytes);

}  // namespace sendonce
