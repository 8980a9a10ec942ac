// "Did you mean": the known name closest to one that is not known.
#pragma once

#include <span>
#include <string_view>

namespace sendonce {

// Empty when none is near enough to be a slip: at most 2 edits, 1 for names of up to 3 characters.
[[nodiscard]] std::string_view nearest_name(std::string_view name,
                                            std::span<const std::string_view> known);

}  // namespace sendonce
