#include "classifiers/json_tree.hpp"

#include <gtest/gtest.h>

#include "classifiers/json_patch.hpp"

namespace sendonce::test {
namespace {

std::string again(std::string_view text) {
  const auto tree = parse_json_tree(text);
  if (!tree) return "refused";
  std::string out;
  append_json(out, *tree);
  return out;
}

TEST(JsonTree, what_was_read_is_written) {
  for (const char* text : {"null", "true", "false", "0", "-7", "18446744073709551615", "1.50",
                           "1e300", "123456789012345678901234567890", "\"\"", "[]", "{}",
                           "[1,[],{}]", R"({"a":{"b":[null,"x\ny","\"\\"]},"":0})", "\"\xc3\xa9\""})
    EXPECT_EQ(again(text), text);
  EXPECT_EQ(again("\xEF\xBB\xBF [ 1 , 2 ] "), "[1,2]");
  EXPECT_EQ(again(R"("\u00e9\ud83d\ude00\/")"), "\"\xc3\xa9\xf0\x9f\x98\x80/\"");
}

TEST(JsonTree, what_is_not_one_json_text_is_refused) {
  for (const char* text :
       {"", " ", "{", "}", "[1,]", "{\"a\":1,}", "{'a':1}", "nul", "1 2", "\"\xff\"", "\"\\ud800\"",
        "{\"a\":1}x", "01", "NaN", "/* */1", "{\"a\":1,\"a\":2}", "[{\"a\":1,\"b\":2,\"a\":1}]"})
    EXPECT_EQ(again(text), "refused") << text;
}

TEST(JsonTree, depth_and_size_are_bounded) {
  const auto nested = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  EXPECT_TRUE(parse_json_tree(nested(32)));
  EXPECT_FALSE(parse_json_tree(nested(33)));
  EXPECT_FALSE(parse_json_tree(nested(30'000)));
  EXPECT_TRUE(parse_json_tree("1" + std::string(std::size_t{64} * 1024 - 1, ' ')));
  EXPECT_FALSE(parse_json_tree("1" + std::string(std::size_t{64} * 1024, ' ')));
}

TEST(JsonTree, members_and_numbers) {
  const auto tree = parse_json_tree(R"({"s":"x","i":-5,"f":1.5,"big":9223372036854775808})");
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->string_at("s"), "x");
  EXPECT_EQ(tree->string_at("i"), "");
  EXPECT_EQ(tree->string_at("none"), "");
  EXPECT_EQ(tree->find("i")->integer(), -5);
  EXPECT_FALSE(tree->find("f")->integer());
  EXPECT_FALSE(tree->find("big")->integer());
  EXPECT_FALSE(tree->find("s")->integer());
  EXPECT_EQ(parse_json_tree("[]")->find("s"), nullptr);
}

std::string merged(std::string_view target, std::string_view patch) {
  const auto out = patched(target, patch, "patch");
  if (!out) return out.error().text;
  std::string text;
  append_json(text, *out);
  return text;
}

// RFC 7396 appendix A, the cases where both are objects.
TEST(JsonPatch, rfc7396_examples) {
  EXPECT_EQ(merged(R"({"a":"b"})", R"({"a":"c"})"), R"({"a":"c"})");
  EXPECT_EQ(merged(R"({"a":"b"})", R"({"b":"c"})"), R"({"a":"b","b":"c"})");
  EXPECT_EQ(merged(R"({"a":"b"})", R"({"a":null})"), "{}");
  EXPECT_EQ(merged(R"({"a":"b","b":"c"})", R"({"a":null})"), R"({"b":"c"})");
  EXPECT_EQ(merged(R"({"a":["b"]})", R"({"a":"c"})"), R"({"a":"c"})");
  EXPECT_EQ(merged(R"({"a":"c"})", R"({"a":["b"]})"), R"({"a":["b"]})");
  EXPECT_EQ(merged(R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})"), R"({"a":{"b":"d"}})");
  EXPECT_EQ(merged(R"({"a":[{"b":"c"}]})", R"({"a":[1]})"), R"({"a":[1]})");
  EXPECT_EQ(merged(R"({"e":null})", R"({"a":1})"), R"({"e":null,"a":1})");
  EXPECT_EQ(merged("{}", R"({"a":{"bb":{"ccc":null}}})"), R"({"a":{"bb":{}}})");
}

TEST(JsonPatch, a_patch_must_be_an_object) {
  EXPECT_EQ(merged("{}", "[1]"), "patch must be a JSON object");
  EXPECT_EQ(merged("{}", "null"), "patch must be a JSON object");
  EXPECT_EQ(merged("{}", "{"), "patch must be a JSON object");
}

}  // namespace
}  // namespace sendonce::test
