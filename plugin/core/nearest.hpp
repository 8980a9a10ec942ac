// "Did you mean": the known name that was probably intended.
#pragma once

#include <span>
#include <string_view>

namespace sendonce {

// The candidate with the fewest edits (insert, delete, replace, swap of neighbours), or empty when
// none is close enough to be a slip: at most a third of the letters, at least two edits allowed.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> candidates);

}  // namespace sendonce
