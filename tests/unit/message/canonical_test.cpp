#include "plugin/message/canonical.hpp"

#include <string>

#include <gtest/gtest.h>

namespace sendonce {
namespace {

std::string canonical(std::string_view text) {
  JsonParser parser{JsonLimits{}};
  auto out = canonical_json(parser, text);
  return out ? *out : "refused: " + out.error().text;
}

TEST(Canonical, TakesSpaceOut) {
  EXPECT_EQ(canonical(" { \"a\" : [ 1 , 2 ] , \"b\" : { } } \n"), R"({"a":[1,2],"b":{}})");
}

TEST(Canonical, SortsMembersAtEveryDepth) {
  EXPECT_EQ(canonical(R"({"b":1,"a":{"d":[{"y":0,"x":0}],"c":2},"B":3})"),
            R"({"B":3,"a":{"c":2,"d":[{"x":0,"y":0}]},"b":1})");
  EXPECT_EQ(canonical(R"({"ab":1,"a":2,"":3})"), R"({"":3,"a":2,"ab":1})");
}

TEST(Canonical, SortsByUtf8Bytes) {
  EXPECT_EQ(canonical("{\"\xf0\x9f\x99\x82\":1,\"\xef\xbd\x81\":2,\"z\":3}"),
            "{\"z\":3,\"\xef\xbd\x81\":2,\"\xf0\x9f\x99\x82\":1}");
}

TEST(Canonical, KeepsArraysInOrder) {
  EXPECT_EQ(canonical("[3,1,2,[]]"), "[3,1,2,[]]");
}

TEST(Canonical, KeepsNumbersAsWritten) {
  for (const std::string_view number :
       {"1", "1.0", "1.00", "1e0", "1E0", "10e-1", "-0", "0", "18446744073709551615",
        "-9223372036854775808", "0.1000000000000000055511151231257827", "1e-400"})
    EXPECT_EQ(canonical(number), number);
}

TEST(Canonical, SpellsStringsOneWay) {
  EXPECT_EQ(canonical(R"("\u0041\/\u00e9\ud83d\ude42")"), "\"A/\xc3\xa9\xf0\x9f\x99\x82\"");
  EXPECT_EQ(canonical(R"("\u000a\u0022\u005c\u0001")"), R"("\n\"\\\u0001")");
  EXPECT_EQ(canonical(R"({"\u0061":"plain"})"), R"({"a":"plain"})");
}

TEST(Canonical, WordsStay) {
  EXPECT_EQ(canonical("[true,false,null]"), "[true,false,null]");
}

TEST(Canonical, RefusesAMemberGivenTwice) {
  EXPECT_EQ(canonical(R"({"a":1,"b":2,"a":1})"), "refused: $.a: the member is given twice");
  EXPECT_EQ(canonical(R"({"a":1,"\u0061":2})"), "refused: $.a: the member is given twice");
  EXPECT_EQ(canonical(R"([{},{"x":{"y":1,"y":2}}])"),
            "refused: $[1].x.y: the member is given twice");
  EXPECT_EQ(canonical(R"({"+49151":1,"+49151":2})"), "refused: $.?: the member is given twice");
}

TEST(Canonical, IsItsOwnCanonicalText) {
  const std::string once = canonical(R"({"z":[{"b":"\n","a":1.50}],"k\"":{"":null}})");
  EXPECT_EQ(canonical(once), once);
}

TEST(Canonicaliser, ForgetsAnErrorBeforeTheNextValue) {
  JsonParser parser{JsonLimits{}};
  Canonicaliser canonicaliser;
  std::string out;
  auto bad = parser.parse(R"({"a":{"b":1,"b":2}})");
  EXPECT_FALSE(canonicaliser.append(out, *bad, JsonPath()));
  out = "kept ";
  auto good = parser.parse(R"({"b":1,"a":2})");
  EXPECT_TRUE(canonicaliser.append(out, *good, JsonPath()));
  EXPECT_EQ(out, R"(kept {"a":2,"b":1})");
}

}  // namespace
}  // namespace sendonce
