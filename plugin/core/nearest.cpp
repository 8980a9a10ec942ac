#include "plugin/core/nearest.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace sendonce {
namespace {

constexpr std::size_t kLongestName = 64;

// Levenshtein distance, one row at a time; both names are at most kLongestName long.
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::array<std::size_t, kLongestName + 1> row{};
  for (std::size_t j = 0; j <= b.size(); ++j) row.at(j) = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U);
      diagonal = row.at(j);
      row.at(j) = std::min({replaced, row.at(j) + 1, row.at(j - 1) + 1});
    }
  }
  return row.at(b.size());
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known) {
  if (name.size() > kLongestName) return {};
  std::size_t least = name.size() <= 3 ? 2 : 3;  // one more than is allowed
  std::string_view nearest;
  for (const std::string_view candidate : known) {
    if (candidate.size() > kLongestName) continue;
    const std::size_t edits = edits_between(name, candidate);
    if (edits >= least) continue;
    least = edits;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace sendonce
