#include "classifiers/http_date.hpp"

#include <gtest/gtest.h>

namespace sendonce::test {
namespace {

TEST(HttpDate, three_forms_of_one_moment) {
  const WallTime want{std::chrono::seconds(784'111'777)};  // RFC 9110 5.6.7
  EXPECT_EQ(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), want);
  EXPECT_EQ(parse_http_date("Sunday, 06-Nov-94 08:49:37 GMT"), want);
  EXPECT_EQ(parse_http_date("Sun Nov  6 08:49:37 1994"), want);
}

TEST(HttpDate, anything_else_is_none) {
  for (const char* text : {"", "GMT", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET",
                           "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 31 Feb 2026 08:49:37 GMT",
                           "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT",
                           "Sun, xx Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT extra",
                           "1994-11-06T08:49:37Z", "a b c d e f g h i j"})
    EXPECT_FALSE(parse_http_date(text)) << text;
  EXPECT_FALSE(parse_http_date(std::string(1'000'000, ' ')));
}

}  // namespace
}  // namespace sendonce::test
