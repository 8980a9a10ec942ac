// UTF-8 as RFC 3629 has it: shortest forms only, no surrogates, nothing above U+10FFFF. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace sendonce {

// Where the first sequence begins that is not UTF-8; npos: there is none.
[[nodiscard]] std::size_t find_invalid_utf8(std::string_view text);

}  // namespace sendonce
