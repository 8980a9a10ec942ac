#include "plugin/message/text_rule.hpp"

#include <string>

#include <gtest/gtest.h>

namespace sendonce {
namespace {

constexpr TextRule rule(Alphabet alphabet) {
  return {.min_bytes = 0, .max_bytes = 100, .alphabet = alphabet, .expected = ""};
}

bool one_line(std::string_view text) {
  return obeys(text, rule(Alphabet::one_line));
}

TEST(TextRule, CountsBytes) {
  constexpr TextRule kTwoToFour{2, 4, Alphabet::text, ""};
  EXPECT_FALSE(obeys("a", kTwoToFour));
  EXPECT_TRUE(obeys("ab", kTwoToFour));
  EXPECT_TRUE(obeys("\xc3\xbc\xc3\xbc", kTwoToFour));
  EXPECT_FALSE(obeys("abcde", kTwoToFour));
  EXPECT_FALSE(obeys("\xc3\xbc\xc3\xbc\xc3\xbc", kTwoToFour));
}

TEST(TextRule, EmptyIsAMatterOfLengthAlone) {
  for (const Alphabet a : {Alphabet::text, Alphabet::one_line, Alphabet::visible_ascii,
                           Alphabet::base64url, Alphabet::name})
    EXPECT_TRUE(obeys("", rule(a)));
}

// Eight bytes are looked at together: the offender is put at every place.
TEST(TextRule, SeesControlsAnywhere) {
  for (const std::string control : {"\x01", "\x1f", "\n", "\x7f", "\xc2\x80", "\xc2\x9f"}) {
    for (std::size_t before = 0; before < 20; ++before) {
      for (std::size_t after = 0; after < 20; ++after) {
        const std::string text =
            std::string(before, 'a').append(control).append(std::string(after, '~'));
        ASSERT_FALSE(one_line(text)) << before << " " << after;
      }
    }
  }
  EXPECT_FALSE(one_line(std::string_view("a\0", 2)));
}

TEST(TextRule, LetsOtherTextPass) {
  EXPECT_TRUE(one_line("plain ascii, with spaces ~"));
  EXPECT_TRUE(one_line("\xc2\xa0\xc2\xbf"));               // U+00A0, U+00BF
  EXPECT_TRUE(one_line("\xe2\x82\x80 \xf0\x9f\x99\x82"));  // continuation bytes below 0xA0
  EXPECT_TRUE(one_line("\xc3\x82\xc3\x80"));
}

TEST(TextRule, TextMayHaveLineBreaksAndTabs) {
  EXPECT_TRUE(obeys("a\tb\r\nc \xc3\xbc \x7f", rule(Alphabet::text)));
  EXPECT_FALSE(obeys("a\x0b", rule(Alphabet::text)));
  EXPECT_FALSE(obeys(std::string_view("\0", 1), rule(Alphabet::text)));
}

TEST(TextRule, VisibleAsciiHasNoSpace) {
  EXPECT_TRUE(obeys("!abcdefghijklmnop~", rule(Alphabet::visible_ascii)));
  for (const std::string_view text : {" ", "abcdefgh i", "\x7f", "abcdefgh\xc3\xbc", "a\n"})
    EXPECT_FALSE(obeys(text, rule(Alphabet::visible_ascii))) << text;
}

TEST(TextRule, NarrowAlphabets) {
  EXPECT_TRUE(obeys("AZaz09-_==", rule(Alphabet::base64url)));
  EXPECT_FALSE(obeys("a+b", rule(Alphabet::base64url)));
  EXPECT_FALSE(obeys("a.b", rule(Alphabet::base64url)));
  EXPECT_TRUE(obeys("my_apns-2.eu", rule(Alphabet::name)));
  EXPECT_FALSE(obeys("a=b", rule(Alphabet::name)));
  EXPECT_FALSE(obeys("a b", rule(Alphabet::name)));
}

}  // namespace
}  // namespace sendonce
