// Durations, sizes and rates as people write them: a whole number and its unit, nothing else.
// Pure and total; an error says what to write, never what was written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"

namespace sendonce {

[[nodiscard]] Result<Duration> parse_duration(std::string_view text);   // ms, s, m, h, d
[[nodiscard]] Result<std::uint64_t> parse_size(std::string_view text);  // B, KiB, MiB, GiB, TiB
[[nodiscard]] Result<double> parse_rate(std::string_view text);  // /s, /m, /h; never 0; a second

// The shortest form that reads back to the same value: "25s", "8GiB", "600/m".
[[nodiscard]] std::string size_text(std::uint64_t bytes);
[[nodiscard]] std::string rate_text(double per_second);
[[nodiscard]] std::string number_text(double value);  // "2.0": always with a fraction

}  // namespace sendonce
