// A measured ratio beside its goal and floor (docs/performance.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sendonce::cli {

struct Ratio {
  std::string id{};    // P8
  std::string what{};  // "rate : SQLite, 1,000,000 rows"
  double value = 0;
  double goal = 0;
  double floor = 0;
};

// A goal beyond the floor in which direction? Both are limits of the same side.
[[nodiscard]] bool more_is_better(const Ratio& ratio);
// goal, floor (reached at least), or missed.
[[nodiscard]] std::string_view grade(const Ratio& ratio);
// One line each, aligned.
[[nodiscard]] std::string ratio_lines(const std::vector<Ratio>& ratios);
// The members of a JSON array of objects.
[[nodiscard]] std::string ratio_json(const std::vector<Ratio>& ratios);

}  // namespace sendonce::cli
