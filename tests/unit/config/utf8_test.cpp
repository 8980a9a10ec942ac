#include "plugin/core/utf8.hpp"

#include <gtest/gtest.h>

namespace sendonce::test {
namespace {

TEST(Utf8, TakesEveryLength) {
  for (const std::string_view good :
       {"", "plain", "\x7f", "\u00e9", "\u20ac", "\U0001f600", "a\u00e9b\u20acc\U0001f600d",
        "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf",
        "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_EQ(find_invalid_utf8(good), std::string_view::npos) << good;
}

TEST(Utf8, RefusesOtherForms) {
  for (const std::string_view bad : {"\x80",
                                     "\xbf",
                                     "\xc0\x80",
                                     "\xc1\xbf",
                                     "\xc2",
                                     "\xc2\x41",
                                     "\xe0\x80\x80",
                                     "\xe0\x9f\xbf",
                                     "\xe2\x82",
                                     "\xe2\x28\xa1",
                                     "\xe2\x82\x28",
                                     "\xed\xa0\x80",
                                     "\xed\xbf\xbf",
                                     "\xf0\x80\x80\x80",
                                     "\xf0\x8f\xbf\xbf",
                                     "\xf0\x9f\x98",
                                     "\xf4\x90\x80\x80",
                                     "\xf5\x80\x80\x80",
                                     "\xff",
                                     "\xfe"})
    EXPECT_EQ(find_invalid_utf8(bad), 0U) << bad.size();
}

TEST(Utf8, NamesTheFirstPlace) {
  EXPECT_EQ(find_invalid_utf8("ab\u00e9\xff\xff"), 4U);
  EXPECT_EQ(find_invalid_utf8("ab\xe2\x82"), 2U);
}

}  // namespace
}  // namespace sendonce::test
