#include "config/toml_shim.hpp"

#include <gmock/gmock.h>

#include "tests/unit/config/fixture.hpp"

namespace sendonce::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TomlNode parsed(std::string_view text) {
  auto root = parse_toml(text, "t.toml");
  EXPECT_TRUE(root) << to_text(root.error());
  return root ? *std::move(root) : TomlNode{};
}

std::string refused(std::string_view text) {
  const auto root = parse_toml(text, "t.toml");
  EXPECT_FALSE(root);
  return root ? "" : to_text(root.error());
}

TEST(Toml, KeepsTypesAndPositions) {
  const TomlNode root = parsed(
      "a = \"x\"\n"
      "b = -7\n"
      "c = 2.5\n"
      "d = true\n"
      "e = [\"p\", \"q\"]\n"
      "f = { g = 1 }\n"
      "t = 2026-01-01\n"
      "[h.i]\n"
      "j = 'y'\n");
  EXPECT_EQ(root.find("a")->text, "x");
  EXPECT_EQ(root.find("b")->integer, -7);
  EXPECT_EQ(root.find("c")->number, 2.5);
  EXPECT_TRUE(root.find("d")->boolean);
  EXPECT_EQ(root.find("e")->items.at(1).text, "q");
  EXPECT_EQ(to_text(root.find("e")->items.at(1).at), "t.toml:5:11");
  EXPECT_EQ(to_text(root.find("f")->find("g")->at), "t.toml:6:11");
  EXPECT_EQ(root.find("t")->type, TomlType::date_time);
  EXPECT_EQ(to_text(root.find("h")->find("i")->at), "t.toml:8:1");
  EXPECT_EQ(to_text(root.find("h")->find("i")->find("j")->at), "t.toml:9:5");
  EXPECT_EQ(root.find("nothing"), nullptr);
}

TEST(Toml, KeepsTheOrderOfTheFile) {
  std::string text;
  std::string wanted;
  for (const char c : std::string_view("zaybxcwd")) {
    text += std::string("[t.") + c + "]\n";
    wanted += c;
  }
  const TomlNode root = parsed(text);
  std::string order;
  for (const auto& [key, node] : root.find("t")->members) order += key;
  EXPECT_EQ(order, wanted);
}

TEST(Toml, TakesWindowsLineEndsAndByteOrderMarks) {
  EXPECT_EQ(parsed("\xef\xbb\xbf"
                   "a = 1\r\nb = 2\r\n")
                .find("b")
                ->integer,
            2);
  EXPECT_TRUE(parsed("").members.empty());
}

TEST(Toml, GuessesTheUsualSlips) {
  EXPECT_THAT(refused("[c]\nclaim = 20s\n"),
              HasSubstr("strings, and values with a unit such as \"25s\", need quotes"));
  EXPECT_THAT(refused("[c]\nclaim = 20s\n"), HasSubstr("t.toml:2:"));
  EXPECT_THAT(refused("a = \"x\nb = 1\n"), HasSubstr("close the string"));
  EXPECT_THAT(refused("x = 1\na = { b = 1,\nc = 2 }\n"), HasSubstr("must stand on one line"));
  EXPECT_THAT(refused("[class.otp\na = 1\n"), HasSubstr("close the table's name with ]"));
  EXPECT_THAT(refused("a = \n"), HasSubstr("give the key a value"));
  EXPECT_THAT(refused("hello there\n"), HasSubstr("write KEY = VALUE"));
}

TEST(Toml, NamesBothPlacesOfADuplicate) {
  EXPECT_THAT(refused("[class.otp]\na = 1\n[class.otp]\na = 2\n"),
              testing::AllOf(HasSubstr("t.toml:3:"), HasSubstr("given twice, first in line 1")));
  EXPECT_THAT(refused("[class.otp]\na = 1\n\na = 2\n"),
              testing::AllOf(HasSubstr("t.toml:4:"), HasSubstr("given twice, first in line 2")));
}

TEST(Toml, NeverQuotesTheFile) {
  for (const char* text : {"key = hunter2\n", "key = \"hunter2\n", "key = \"hunter2\" hunter2\n",
                           "key = \"hunter2\"\nkey = \"hunter2\"\n", "key = \"hunter2\\q\"\n",
                           "hunter2\n", "[hunter2\n", "key = \"hunter2\xff\"\n",
                           "key = [\"hunter2\"\n", "key = { a = \"hunter2\", a = \"hunter2\" }\n"})
    EXPECT_THAT(refused(text), Not(HasSubstr("hunter2"))) << text;
}

TEST(Toml, BoundsNestingAndSize) {
  EXPECT_THAT(refused("a = " + std::string(100'000, '[')), HasSubstr("t.toml:1:1"));
  std::string dotted = "a";
  for (int i = 0; i < 100'000; ++i) dotted += ".a";
  EXPECT_THAT(refused("x = 1\n" + dotted + " = 1\n"), HasSubstr("t.toml:2:1"));
  EXPECT_THAT(refused("[" + dotted + "]\n"), HasSubstr("nested too deeply"));
  EXPECT_THAT(refused(std::string(kTomlBytesMax + 1, '#')), HasSubstr("larger than 1 MiB"));
  EXPECT_EQ(parsed("# " + std::string(1000, '.') + "\na = 1\n").find("a")->integer, 1);
}

TEST(Toml, ReadsFiles) {
  const ScratchDirectory scratch;
  EXPECT_EQ(parse_toml_file(scratch.write("a.toml", "a = 1\n"))->find("a")->integer, 1);
  const std::string missing = scratch.path() + "/missing.toml";
  EXPECT_EQ(to_text(parse_toml_file(missing).error()),
            missing +
                ": error: cannot be read: No such file or directory; name an existing file "
                "that this user may read");
  EXPECT_FALSE(parse_toml_file(scratch.path()));
  EXPECT_FALSE(parse_toml_file(scratch.write("big.toml", std::string(kTomlBytesMax + 1, '#'))));
}

}  // namespace
}  // namespace sendonce::test
