// CRC-32C (Castagnoli, RFC 3720 appendix B.4): what guards every stored record.
#pragma once

#include <cstdint>
#include <string_view>

namespace sendonce {

[[nodiscard]] std::uint32_t crc32c(std::string_view bytes);

// The table-driven form, for machines without the instruction and for tests.
[[nodiscard]] std::uint32_t crc32c_portable(std::string_view bytes);

}  // namespace sendonce
