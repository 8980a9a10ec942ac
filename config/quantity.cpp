#include "config/quantity.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

namespace sendonce {
namespace {

struct Unit {
  std::string_view name{};
  std::uint64_t worth = 0;
};

constexpr std::array<Unit, 5> kDurations{{{"ms", 1'000'000},
                                          {"s", 1'000'000'000},
                                          {"m", 60'000'000'000},
                                          {"h", 3'600'000'000'000},
                                          {"d", 86'400'000'000'000}}};
constexpr std::array<Unit, 5> kSizes{{{"B", 1},
                                      {"KiB", 1ULL << 10U},
                                      {"MiB", 1ULL << 20U},
                                      {"GiB", 1ULL << 30U},
                                      {"TiB", 1ULL << 40U}}};
constexpr std::array<Unit, 3> kRates{{{"/s", 1}, {"/m", 60}, {"/h", 3600}}};

// The words that belong to one kind of quantity in error texts.
struct Words {
  std::string_view what{};
  std::string_view example{};
  std::string_view units{};
};

constexpr Words kDurationWords{"a duration", "\"25s\"", "ms, s, m, h or d"};
constexpr Words kSizeWords{"a size", "\"8GiB\"", "B, KiB, MiB, GiB or TiB"};
constexpr Words kRateWords{"a rate", "\"500/s\"", "/s, /m or /h"};

struct Quantity {
  std::uint64_t number = 0;
  std::uint64_t worth = 0;
};

std::unexpected<Error> refuse(const Words& words, std::string_view why) {
  std::string text(why);
  text += ": write ";
  text += words.what;
  text += " as a whole number and its unit (";
  text += words.units;
  text += "), for example ";
  text += words.example;
  return fail(Errc::invalid, std::move(text));
}

Result<Quantity> split(std::string_view text, std::span<const Unit> units, const Words& words) {
  if (text.empty()) return refuse(words, "the value is empty");
  if (text.front() == '-') return refuse(words, "negative values make no sense here");
  Quantity out;
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, out.number);
  if (code == std::errc::result_out_of_range) return refuse(words, "the number is too large");
  if (code != std::errc{}) return refuse(words, "the value does not start with a number");
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (unit.empty()) return refuse(words, "the unit is missing");
  if (unit.front() == '.' || unit.front() == ',')
    return refuse(words, "fractions are not read, take a smaller unit");
  for (const Unit& known : units) {
    if (known.name != unit) continue;
    out.worth = known.worth;
    return out;
  }
  return refuse(words, "the unit is unknown");
}

Result<std::uint64_t> scaled(std::string_view text, std::span<const Unit> units, const Words& words,
                             std::uint64_t max) {
  SO_TRY(const Quantity quantity, split(text, units, words));
  if (quantity.number > max / quantity.worth) return refuse(words, "the value is too large");
  return quantity.number * quantity.worth;
}

std::string with_largest_unit(std::uint64_t value, std::span<const Unit> units) {
  const Unit* best = &units.front();
  for (const Unit& unit : units)
    if (value % unit.worth == 0) best = &unit;
  return std::to_string(value / best->worth) + std::string(best->name);
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<Duration::rep>::max());
  SO_TRY(const std::uint64_t ns, scaled(text, kDurations, kDurationWords, kMax));
  return Duration(static_cast<Duration::rep>(ns));
}

Result<std::uint64_t> parse_size(std::string_view text) {
  return scaled(text, kSizes, kSizeWords, std::numeric_limits<std::uint64_t>::max());
}

Result<double> parse_rate(std::string_view text) {
  constexpr std::uint64_t kMax = 1'000'000'000;  // keeps every rate exact in a double
  SO_TRY(const Quantity quantity, split(text, kRates, kRateWords));
  if (quantity.number == 0) return refuse(kRateWords, "a rate of 0 would never send");
  if (quantity.number > kMax) return refuse(kRateWords, "the value is too large");
  return static_cast<double>(quantity.number) / static_cast<double>(quantity.worth);
}

std::string size_text(std::uint64_t bytes) {
  return bytes == 0 ? "0B" : with_largest_unit(bytes, kSizes);
}

std::string rate_text(double per_second) {
  SO_ASSERT(per_second > 0);
  for (const Unit& unit : kRates) {
    const double number = per_second * static_cast<double>(unit.worth);
    const double whole = std::round(number);
    if (std::abs(number - whole) < 1e-6 && whole >= 1)
      return std::to_string(static_cast<std::uint64_t>(whole)) + std::string(unit.name);
  }
  const double an_hour = std::max(1.0, std::round(per_second * 3600));
  return std::to_string(static_cast<std::uint64_t>(an_hour)) + "/h";
}

std::string number_text(double value) {
  std::array<char, 64> buffer{};
  const auto done = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  SO_ASSERT(done.ec == std::errc{});
  std::string out(buffer.data(), done.ptr);
  if (out.find_first_not_of("-0123456789") == std::string::npos) out += ".0";
  return out;
}

}  // namespace sendonce
