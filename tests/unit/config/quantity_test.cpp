#include "config/quantity.hpp"

#include <gmock/gmock.h>

#include "plugin/core/text.hpp"

namespace sendonce::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Duration, ReadsEveryUnit) {
  EXPECT_EQ(parse_duration("400ms").value(), 400ms);
  EXPECT_EQ(parse_duration("25s").value(), 25s);
  EXPECT_EQ(parse_duration("3m").value(), 3min);
  EXPECT_EQ(parse_duration("24h").value(), 24h);
  EXPECT_EQ(parse_duration("11d").value(), 11 * 24h);
  EXPECT_EQ(parse_duration("0s").value(), 0s);
}

TEST(Duration, SaysWhatIsWrong) {
  const auto why = [](std::string_view text) { return parse_duration(text).error().text; };
  EXPECT_EQ(
      why("25"),
      "the unit is missing: write a duration as a whole number and its unit (ms, s, m, h or d), "
      "for example \"25s\"");
  EXPECT_THAT(why(""), StartsWith("the value is empty"));
  EXPECT_THAT(why("-3s"), StartsWith("negative"));
  EXPECT_THAT(why("s"), StartsWith("the value does not start with a number"));
  EXPECT_THAT(why(" 3s"), StartsWith("the value does not start with a number"));
  EXPECT_THAT(why("+3s"), StartsWith("the value does not start with a number"));
  EXPECT_THAT(why("3 s"), StartsWith("the unit is unknown"));
  EXPECT_THAT(why("3S"), StartsWith("the unit is unknown"));
  EXPECT_THAT(why("3w"), StartsWith("the unit is unknown"));
  EXPECT_THAT(why("1h30m"), StartsWith("the unit is unknown"));
  EXPECT_THAT(why("1.5s"), StartsWith("fractions are not read"));
  EXPECT_THAT(why("18446744073709551616s"), StartsWith("the number is too large"));
}

TEST(Duration, NeverOverflows) {
  EXPECT_EQ(parse_duration("106751d").value(), 106751 * 24h);
  EXPECT_THAT(parse_duration("106752d").error().text, StartsWith("the value is too large"));
  EXPECT_THAT(parse_duration("18446744073709551615ms").error().text,
              StartsWith("the value is too large"));
}

TEST(Size, ReadsEveryUnit) {
  EXPECT_EQ(parse_size("256B").value(), 256U);
  EXPECT_EQ(parse_size("4KiB").value(), 4096U);
  EXPECT_EQ(parse_size("64MiB").value(), 64ULL << 20U);
  EXPECT_EQ(parse_size("8GiB").value(), 8ULL << 30U);
  EXPECT_EQ(parse_size("1TiB").value(), 1ULL << 40U);
  EXPECT_EQ(parse_size("16777215TiB").value(), 16777215ULL << 40U);
}

TEST(Size, RefusesDecimalUnitsAndOverflow) {
  EXPECT_THAT(parse_size("8GB").error().text, HasSubstr("B, KiB, MiB, GiB or TiB"));
  EXPECT_THAT(parse_size("16777216TiB").error().text, StartsWith("the value is too large"));
}

TEST(Rate, IsPerSecond) {
  EXPECT_DOUBLE_EQ(parse_rate("500/s").value(), 500);
  EXPECT_DOUBLE_EQ(parse_rate("600/m").value(), 10);
  EXPECT_DOUBLE_EQ(parse_rate("36/h").value(), 0.01);
}

TEST(Rate, RefusesZeroAndOtherForms) {
  EXPECT_THAT(parse_rate("0/s").error().text, StartsWith("a rate of 0"));
  EXPECT_THAT(parse_rate("500").error().text, StartsWith("the unit is missing"));
  EXPECT_THAT(parse_rate("500s").error().text, StartsWith("the unit is unknown"));
  EXPECT_THAT(parse_rate("1000000001/s").error().text, StartsWith("the value is too large"));
}

TEST(Quantity, TextsReadBack) {
  for (const char* text : {"0s", "400ms", "25s", "90s", "3m", "36h", "11d", "1ms"})
    EXPECT_EQ(duration_text(parse_duration(text).value()), text);
  EXPECT_EQ(duration_text(24h), "1d");
  EXPECT_EQ(duration_text(60s), "1m");
  EXPECT_EQ(duration_text(1500us), "1500us");
  for (const char* text : {"0B", "256B", "1025KiB", "8GiB", "3TiB"})
    EXPECT_EQ(size_text(parse_size(text).value()), text);
  for (const char* text : {"500/s", "601/m", "7/h", "999999999/h"})
    EXPECT_EQ(rate_text(parse_rate(text).value()), text);
  EXPECT_EQ(rate_text(10), "10/s");
  EXPECT_EQ(rate_text(1e-9), "1/h");
  EXPECT_EQ(number_text(2), "2.0");
  EXPECT_EQ(number_text(1.5), "1.5");
}

}  // namespace
}  // namespace sendonce::test
