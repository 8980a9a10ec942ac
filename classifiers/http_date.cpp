#include "classifiers/http_date.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

int number(std::string_view text) {
  if (text.empty() || text.size() > 4) return -1;
  int value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

int month_number(std::string_view text) {
  for (std::size_t i = 0; i < kMonths.size(); ++i)
    if (kMonths[i] == text) return static_cast<int>(i) + 1;
  return -1;
}

// Words between spaces, commas and hyphens; more than 6 are none of ours.
std::size_t split(std::string_view text, std::array<std::string_view, 6>& words) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t first = text.find_first_not_of(" ,-", at);
    if (first == std::string_view::npos) break;
    if (count == words.size()) return 0;
    at = std::min(text.find_first_of(" ,-", first), text.size());
    words[count++] = text.substr(first, at - first);
  }
  return count;
}

}  // namespace

std::optional<WallTime> parse_http_date(std::string_view text) {
  if (text.size() > 64) return std::nullopt;
  std::array<std::string_view, 6> words{};
  const std::size_t count = split(text, words);
  const bool asctime = count == 5;  // Sun Nov  6 08:49:37 1994
  if (!asctime && (count != 6 || words[5] != "GMT")) return std::nullopt;
  const int day = number(words[asctime ? 2 : 1]);
  const int month = month_number(words[asctime ? 1 : 2]);
  int year = number(words[asctime ? 4 : 3]);
  const std::string_view time = words[asctime ? 3 : 4];
  if (day < 0 || month < 0 || year < 0 || time.size() != 8) return std::nullopt;
  if (words[asctime ? 4 : 3].size() == 2) year += year < 70 ? 2000 : 1900;
  std::array<char, 64> date{};
  std::snprintf(date.data(), date.size(), "%04d-%02d-%02dT", year, month, day);
  return parse_rfc3339(std::string(date.data()).append(time).append("Z"));
}

}  // namespace sendonce
