#include "plugin/message/json.hpp"

#include <string>

#include <gtest/gtest.h>

namespace sendonce {
namespace {

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + "0" + std::string(depth, ']');
}

TEST(JsonParser, RefusesWhatIsNoJson) {
  JsonParser parser{JsonLimits{}};
  for (const std::string_view text : {"",
                                      " ",
                                      "{",
                                      "}",
                                      "{]",
                                      "[1,]",
                                      "{\"a\":1,}",
                                      "{\"a\" 1}",
                                      "{a:1}",
                                      "{'a':1}",
                                      "[1 2]",
                                      "01",
                                      "1.",
                                      ".5",
                                      "+1",
                                      "1e",
                                      "-",
                                      "tru",
                                      "TRUE",
                                      "nul",
                                      "NaN",
                                      "Infinity",
                                      "\"a",
                                      "\"\\q\"",
                                      "\"\\u12g4\"",
                                      "\"a\nb\"",
                                      "{} {}",
                                      "[]]",
                                      "/**/{}",
                                      "\xef\xbb\xbf",
                                      "\"\xff\"",
                                      "\"\xc0\xaf\"",
                                      "\"\xed\xa0\x80\"",
                                      "{\"a\":tru,,,\"b\":nonsense}"})
    EXPECT_FALSE(parser.parse(text)) << text;
}

TEST(JsonParser, RefusesHalfOfASurrogatePair) {
  JsonParser parser{JsonLimits{}};
  for (const std::string_view text :
       {R"("\ud800")", R"("\udc00")", R"("\ud800\ud800")", R"("\ud800x")", R"("\udc00\ud800")",
        R"({"\udfff":1})", R"("\ud83d\n")", R"("\ud83d\ude42\ude42")"})
    EXPECT_FALSE(parser.parse(text)) << text;
  EXPECT_TRUE(parser.parse(R"("\ud83d\ude42")"));
  EXPECT_TRUE(parser.parse(R"("\\ud800")"));  // an escaped backslash, then letters
}

TEST(JsonParser, HoldsItsLimits) {
  JsonParser parser{JsonLimits{.max_bytes = 1000, .max_depth = 32}};
  EXPECT_TRUE(parser.parse(nested(32)));
  EXPECT_FALSE(parser.parse(nested(33)));
  EXPECT_TRUE(parser.parse('"' + std::string(998, 'x') + '"'));
  EXPECT_FALSE(parser.parse('"' + std::string(999, 'x') + '"'));
  const auto refused = parser.parse(nested(33));
  EXPECT_EQ(refused.error().code, Errc::invalid);
  EXPECT_EQ(refused.error().text, "is nested deeper than the limit of 32");
}

TEST(JsonParser, DepthIsTheSameForObjects) {
  JsonParser parser{JsonLimits{}};
  const auto objects = [](std::size_t depth) {
    std::string text;
    for (std::size_t i = 1; i < depth; ++i) text.append("{\"a\":");
    return text.append("{\"a\":0}").append(depth - 1, '}');
  };
  EXPECT_TRUE(parser.parse(objects(32)));
  EXPECT_FALSE(parser.parse(objects(33)));
}

TEST(JsonParser, GrowsAndIsReusableAfterARefusal) {
  JsonParser parser{JsonLimits{}};
  EXPECT_TRUE(parser.parse("1"));
  const std::string large = '"' + std::string(200'000, 'x') + '"';
  auto reader = parser.parse(large);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->raw(), large);
  EXPECT_FALSE(parser.parse("{"));
  EXPECT_TRUE(parser.parse("{}"));
}

TEST(JsonParser, ErrorsQuoteNothing) {
  JsonParser parser{JsonLimits{}};
  const auto refused = parser.parse("{\"token\":\"secret-740f\",}");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text.find("secret"), std::string::npos);
  EXPECT_EQ(refused.error().text.find("740f"), std::string::npos);
}

TEST(JsonReader, KnowsTypes) {
  JsonParser parser{JsonLimits{}};
  EXPECT_EQ(parser.parse("{}")->type(), JsonType::object);
  EXPECT_EQ(parser.parse(" []")->type(), JsonType::array);
  EXPECT_EQ(parser.parse("\"\"")->type(), JsonType::string);
  EXPECT_EQ(parser.parse("-1")->type(), JsonType::number);
  EXPECT_EQ(parser.parse("true")->type(), JsonType::boolean);
  EXPECT_EQ(parser.parse("false")->type(), JsonType::boolean);
  EXPECT_EQ(parser.parse("null")->type(), JsonType::null);
}

TEST(JsonReader, WalksMembersAndElements) {
  JsonParser parser{JsonLimits{}};
  auto reader = parser.parse(R"( { "a" : [ 1 , "x" , {} ] ,"b\n":true, "":-2.50 } )");
  ASSERT_TRUE(reader);
  std::string scratch;
  reader->enter();
  ASSERT_TRUE(reader->next_member());
  EXPECT_EQ(reader->name(), "a");
  reader->enter();
  ASSERT_TRUE(reader->next_element());
  EXPECT_EQ(reader->raw(), "1");
  ASSERT_TRUE(reader->next_element());
  EXPECT_EQ(reader->string(scratch), "x");
  ASSERT_TRUE(reader->next_element());
  EXPECT_EQ(reader->raw(), "{}");
  ASSERT_FALSE(reader->next_element());
  ASSERT_TRUE(reader->next_member());
  EXPECT_EQ(reader->name(), "b\n");
  EXPECT_EQ(reader->raw(), "true");
  ASSERT_TRUE(reader->next_member());
  EXPECT_EQ(reader->name(), "");
  EXPECT_EQ(reader->raw(), "-2.50");
  EXPECT_FALSE(reader->next_member());
}

TEST(JsonReader, RawIsTheValueAsWritten) {
  JsonParser parser{JsonLimits{}};
  const std::string value = R"({"a": [1, "}]\"\\", {"b":"\\"}], "c":0})";
  const std::string text = "[" + value + " ,2]";
  auto reader = parser.parse(text);
  reader->enter();
  ASSERT_TRUE(reader->next_element());
  EXPECT_EQ(reader->raw(), value);
  ASSERT_TRUE(reader->next_element());
  EXPECT_EQ(reader->raw(), "2");
}

TEST(JsonReader, RemovesEscapes) {
  JsonParser parser{JsonLimits{}};
  std::string scratch;
  EXPECT_EQ(parser.parse(R"("\"\\\/\b\f\n\r\t")")->string(scratch), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(parser.parse(R"("\u0041\u00e9\u20AC\ud83d\ude42z")")->string(scratch),
            "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82z");
  EXPECT_EQ(parser.parse(R"("a\u0000b")")->string(scratch), std::string_view("a\0b", 3));
  EXPECT_EQ(parser.parse(R"("\\\\\"")")->string(scratch), "\\\\\"");
}

TEST(JsonReader, NeedsNoScratchWithoutEscapes) {
  JsonParser parser{JsonLimits{}};
  const std::string_view text = R"(["plain","\n"])";
  auto reader = parser.parse(text);
  std::string scratch;
  reader->enter();
  ASSERT_TRUE(reader->next_element());
  EXPECT_EQ(reader->string(scratch).data(), text.data() + 2);
  ASSERT_TRUE(reader->next_element());
  EXPECT_EQ(reader->string(scratch).data(), scratch.data());
}

}  // namespace
}  // namespace sendonce
