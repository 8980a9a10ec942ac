#include "config/documents.hpp"

#include <filesystem>

#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/unit/config/fixture.hpp"

namespace sendonce::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kClass =
    "subject = \"n.extra\"\nexpires = \"1h\"\nretention = \"2d\"\nambiguous.default = \"resend\"\n"
    "route.push = [\"apns\"]\n";

TEST(Documents, MergesDropInsByName) {
  const ScratchDirectory scratch;
  const std::string main = scratch.write("s.toml", good());
  const auto extra = [](std::string_view name) {
    std::string text = "[class.";
    text += name;
    text += "]\n";
    text += kClass;
    text.replace(text.find("n.extra"), 7, "n." + std::string(name));
    return text;
  };
  scratch.write("conf.d/20-b.toml", extra("b"));
  scratch.write("conf.d/10-z.toml", extra("z"));
  scratch.write("conf.d/.hidden.toml", "garbage");
  scratch.write("conf.d/notes.txt", "garbage");
  const LoadResult loaded = load_config(main, Surroundings::ignore);
  EXPECT_THAT(texts(loaded.findings), IsEmpty());
  ASSERT_TRUE(loaded.config);
  std::string order;
  for (const ClassConfig& c : loaded.config->classes) order += c.name + " ";
  EXPECT_EQ(order, "otp z b ");
  EXPECT_EQ(loaded.config->classes.at(1).at.file, scratch.path() + "/conf.d/10-z.toml");
}

TEST(Documents, ATableGivenTwiceNamesBothPlaces) {
  const ScratchDirectory scratch;
  const std::string main = scratch.write("s.toml", good());
  const std::string drop_in =
      scratch.write("conf.d/a.toml",
                    "config_version = 1\n[instance]\nname = \"x\"\n[class.otp]\nclaim = \"1s\"\n"
                    "[provider.apns]\nkind = \"fcm\"\n");
  EXPECT_THAT(texts(load_config(main, Surroundings::ignore).findings),
              ElementsAre(drop_in + ":2:1: error: instance: given twice, first at " + main +
                              ":2:1; keep one of the two",
                          drop_in + ":4:1: error: class.otp: given twice, first at " + main +
                              ":8:1; keep one of the two",
                          drop_in + ":6:1: error: provider.apns: given twice, first at " + main +
                              ":4:1; keep one of the two"));
}

TEST(Documents, DropInsThatAreNotTomlAreErrors) {
  const ScratchDirectory scratch;
  const std::string main = scratch.write("s.toml", good());
  const std::string drop_in = scratch.write("conf.d/a.toml", "[class.x\n");
  const LoadResult loaded = load_config(main, Surroundings::ignore);
  EXPECT_THAT(texts(loaded.findings), ElementsAre(HasSubstr(drop_in + ":1:")));
  EXPECT_FALSE(loaded.config);
}

TEST(Documents, UnreadableDropInsAreErrors) {
  const ScratchDirectory scratch;
  const std::string main = scratch.write("s.toml", good());
  scratch.write("conf.d", "a file, not a directory");
  EXPECT_THAT(texts(load_config(main, Surroundings::ignore).findings),
              ElementsAre(HasSubstr("conf.d: error: cannot be listed: ")));
}

TEST(Documents, AMissingMainFileIsAnError) {
  const LoadResult loaded = load_config("/nonexistent/s.toml", Surroundings::ignore);
  EXPECT_THAT(texts(loaded.findings),
              ElementsAre(HasSubstr("/nonexistent/s.toml: error: cannot be read")));
}

TEST(Documents, TheVersionIsMandatory) {
  EXPECT_THAT(findings_of(with_line(good(), 1, "")),
              ElementsAre("t.toml:1:1: error: config_version: missing; write config_version = 1 as "
                          "the first line"));
  for (const char* version : {"2", "\"1\"", "0"})
    EXPECT_THAT(findings_of(with_line(good(), 1, std::string("config_version = ") + version)),
                ElementsAre(HasSubstr("t.toml:1:18: error: config_version: this version reads "
                                      "config_version 1 only")));
  const ScratchDirectory scratch;
  const std::string main = scratch.write("s.toml", good());
  scratch.write("conf.d/a.toml", "config_version = 2\n");
  EXPECT_EQ(load_config(main, Surroundings::ignore).findings.size(), 1U);
}

TEST(Documents, TablesMustBeTables) {
  Findings findings;
  (void)Documents::from_text(
      "config_version = 1\nnats = 1\nprovider = 2\nclass.x = 3\ndefaults = 4\n", "t", findings);
  EXPECT_THAT(texts(findings),
              ElementsAre("t:2:8: error: nats: must be a table, is an integer; write [nats]",
                          HasSubstr("t:3:12: error: provider: must be a table"),
                          HasSubstr("t:4:11: error: class.x: must be a table"),
                          HasSubstr("t:5:12: error: defaults: must be a table")));
}

}  // namespace
}  // namespace sendonce::test
