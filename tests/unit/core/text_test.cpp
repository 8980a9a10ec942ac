#include "plugin/core/text.hpp"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "plugin/core/random.hpp"

namespace sendonce {
namespace {

using std::literals::string_literals::operator""s;
using std::literals::chrono_literals::operator""s;
using std::literals::chrono_literals::operator""ns;

std::string json(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string seconds_of(std::string_view text) {
  const auto time = parse_rfc3339(text);
  return time ? rfc3339(*time) : "none";
}

TEST(Hex, GoesBothWays) {
  const std::string bytes = "\x00\x7f\x80\xff"s;
  EXPECT_EQ(hex(bytes), "007f80ff");
  EXPECT_EQ(unhex("007f80ff"), bytes);
  EXPECT_EQ(unhex("007F80FF"), bytes);
  EXPECT_EQ(unhex(""), "");
}

TEST(Hex, RefusesWhatIsNone) {
  EXPECT_FALSE(unhex("0"));
  EXPECT_FALSE(unhex("0g"));
  EXPECT_FALSE(unhex(" 0"));
  EXPECT_FALSE(unhex("0x00"));
}

TEST(ShortKey, IsEightDigits) {
  Key key;
  key.bytes[0] = 0xab;
  key.bytes[4] = 0xff;
  EXPECT_EQ(short_key(key), "ab000000");
}

// RFC 4648 10, without padding.
// Every byte at every place among nine, so that it is seen in a whole word and in what is left.
TEST(Text, lower_hex_is_digits_and_a_to_f) {
  EXPECT_TRUE(is_lower_hex(""));
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto c = static_cast<char>(byte);
    const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    for (std::size_t at = 0; at < 9; ++at) {
      std::string text = "0123cdef9";
      text[at] = c;
      EXPECT_EQ(is_lower_hex(text), digit) << byte << " at " << at;
    }
  }
}

TEST(Base64Url, TestVectors) {
  EXPECT_EQ(base64url(""), "");
  EXPECT_EQ(base64url("f"), "Zg");
  EXPECT_EQ(base64url("fo"), "Zm8");
  EXPECT_EQ(base64url("foo"), "Zm9v");
  EXPECT_EQ(base64url("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64url("\xfb\xff\xfe"), "-__-");
}

TEST(Base64Url, ReadsBackWhatItWrote) {
  Random random(7);
  for (std::size_t size = 0; size < 70; ++size) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(random.below(256)));
    EXPECT_EQ(unbase64url(base64url(bytes)), bytes);
  }
}

TEST(Base64Url, RefusesWhatIsNone) {
  EXPECT_FALSE(unbase64url("Z"));     // no byte
  EXPECT_FALSE(unbase64url("Zh"));    // left-over bits
  EXPECT_FALSE(unbase64url("Zg=="));  // padding
  EXPECT_FALSE(unbase64url("Zm+v"));  // the other alphabet
  EXPECT_FALSE(unbase64url("Zm9v\n"));
}

TEST(Uuid, HasItsHyphens) {
  Nid nid;
  for (std::size_t i = 0; i < nid.bytes.size(); ++i) nid.bytes.at(i) = static_cast<std::uint8_t>(i);
  EXPECT_EQ(uuid_text(nid.bytes), "00010203-0405-0607-0809-0a0b0c0d0e0f");
}

TEST(JsonString, EscapesWhatMustBe) {
  EXPECT_EQ(json(""), R"("")");
  EXPECT_EQ(json("plain"), R"("plain")");
  EXPECT_EQ(json("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(json("\n\r\t"), R"("\n\r\t")");
  EXPECT_EQ(json("\x01\x1f\b\f"s), R"("\u0001\u001f\u0008\u000c")");
  EXPECT_EQ(json("\0"s), R"("\u0000")");
  EXPECT_EQ(json("/\x7f"), "\"/\x7f\"");
  EXPECT_EQ(json("gr\xc3\xbc\xc3\x9f"), "\"gr\xc3\xbc\xc3\x9f\"");
}

// Strings are looked at eight bytes at a time: every place an escape can have, before and after.
TEST(JsonString, EscapesAtEveryOffset) {
  for (const char special : {'"', '\\', '\n', '\x01'}) {
    for (std::size_t size = 1; size < 40; ++size) {
      for (std::size_t at = 0; at < size; ++at) {
        std::string text(size, '\xc3');  // a high byte must not hide its neighbour
        for (std::size_t i = 0; i < size; i += 2) text[i] = ' ';
        text[at] = special;
        std::string escape = json(std::string(1, special));
        escape = escape.substr(1, escape.size() - 2);
        std::string expected = "\"";
        expected.append(text, 0, at).append(escape).append(text, at + 1).append("\"");
        ASSERT_EQ(json(text), expected) << "size " << size << " at " << at;
      }
    }
  }
}

TEST(JsonString, AnEmptyViewPointsNowhere) {
  EXPECT_EQ(json(std::string_view{}), R"("")");
}

TEST(JsonString, AppendsToWhatIsThere) {
  std::string out = "x";
  append_json_string(out, "a\nb");
  EXPECT_EQ(out, "x\"a\\nb\"");
}

TEST(Number, Extremes) {
  std::string out;
  append_number(out, std::numeric_limits<std::int64_t>::min());
  out.push_back(' ');
  append_number(out, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(out, "-9223372036854775808 9223372036854775807");
}

TEST(Rfc3339, WritesUtcWithMilliseconds) {
  EXPECT_EQ(rfc3339(WallTime{}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(rfc3339(WallTime(1'793'520'000s + 123'456'789ns)), "2026-11-01T08:00:00.123Z");
  EXPECT_EQ(rfc3339(WallTime(-1ns)), "1969-12-31T23:59:59.999Z");
}

// RFC 3339 5.8.
TEST(Rfc3339, ReadsItsExamples) {
  EXPECT_EQ(seconds_of("1985-04-12T23:20:50.52Z"), "1985-04-12T23:20:50.520Z");
  EXPECT_EQ(seconds_of("1996-12-19T16:39:57-08:00"), "1996-12-20T00:39:57.000Z");
  EXPECT_EQ(seconds_of("1990-12-31T23:59:60Z"), "1991-01-01T00:00:00.000Z");  // a leap second
  EXPECT_EQ(seconds_of("2026-11-01t08:00:00z"), "2026-11-01T08:00:00.000Z");
  EXPECT_EQ(seconds_of("2024-02-29T00:00:00+23:59"), "2024-02-28T00:01:00.000Z");
  EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:00.123456789Z"), WallTime(123'456'789ns));
}

TEST(Rfc3339, RefusesWhatIsNone) {
  for (const std::string_view text : {"",
                                      "2026-11-01",
                                      "2026-11-01T08:00:00",
                                      "2026-11-01 08:00:00Z",
                                      "2026-13-01T08:00:00Z",
                                      "2026-02-29T08:00:00Z",
                                      "2026-11-01T24:00:00Z",
                                      "2026-11-01T08:60:00Z",
                                      "2026-11-01T08:00:61Z",
                                      "2026-11-01T08:00:00.Z",
                                      "2026-11-01T08:00:00.1234567890Z",
                                      "2026-11-01T08:00:00Zx",
                                      "2026-11-01T08:00:00+1:00",
                                      "2026-11-01T08:00:00+24:00",
                                      "2026-11-01T08:00:00+01:60",
                                      "1969-12-31T23:59:59Z",
                                      "2201-01-01T00:00:00Z",
                                      "+026-11-01T08:00:00Z",
                                      "2026-11-01T08:00:00,5Z",
                                      "2026-1-01T08:00:00Z"})
    EXPECT_FALSE(parse_rfc3339(text)) << text;
}

TEST(Rfc3339, ReadsBackWhatItWrote) {
  Random random(11);
  for (int i = 0; i < 1000; ++i) {
    const WallTime time(std::chrono::milliseconds(random.below(7'258'118'400'000)));
    EXPECT_EQ(parse_rfc3339(rfc3339(time)), time);
  }
}

}  // namespace
}  // namespace sendonce
