// sendonce-provider-check as its user sees it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sysexits.h>

#include "tests/support/process.hpp"
#include "tests/support/temp_dir.hpp"

namespace sendonce::test {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

struct Ran {
  int code = -1;
  std::string out{};
};

Ran check(std::vector<std::string> args) {
  const TempDir dir;
  const auto output = dir / "out";
  auto process = Process::start({.program = std::string(SENDONCE_BIN) + "/sendonce-provider-check",
                                 .args = std::move(args),
                                 .output = output});
  EXPECT_TRUE(process.has_value());
  if (!process) return {};
  const auto exit = process->wait(std::chrono::seconds(100));
  return {exit ? exit->code : -1, read_file(output)};
}

std::string module_file(const std::string& name) {
  return std::string(SENDONCE_MODULES) + "/provider_" + name + ".so";
}

TEST(ProviderCheck, TheExamplesHaveNoFinding) {
  for (const char* name : {"gate", "mailer"}) {
    const Ran ran = check({module_file(name), "--settings", "token=a-secret-token"});
    EXPECT_EQ(ran.code, EX_OK) << ran.out;
    EXPECT_THAT(ran.out, HasSubstr(std::string(name) + " 1.0.0: no finding"));
  }
}

TEST(ProviderCheck, AModuleOfTheFirstMinorVersionHasNoFinding) {
  const Ran ran = check({module_file("1_0")});
  EXPECT_EQ(ran.code, EX_OK) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("answers (sms)"));
  EXPECT_THAT(ran.out, HasSubstr("answers (webhook)"));
}

TEST(ProviderCheck, TheReportForProgramsIsOneObject) {
  const Ran ran = check({module_file("gate"), "--settings", "token=x", "--json"});
  const Json report = Json::parse(ran.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << ran.out;
  EXPECT_EQ(report["module"], "gate");
  EXPECT_EQ(report["passed"], true);
  for (const Json& line : report["checks"]) {
    EXPECT_EQ(line["passed"], true) << line;
    EXPECT_GE(line["cases"], 1);
  }
  EXPECT_GE(report["checks"].size(), 5U);
}

TEST(ProviderCheck, AModuleThatLiesIsFound) {
  const Ran ran = check({module_file("liar")});
  EXPECT_EQ(ran.code, EX_DATAERR);
  EXPECT_THAT(ran.out, HasSubstr("accepted outside of a 2xx"));
  EXPECT_THAT(ran.out, HasSubstr("accepted without a whole answer"));
  EXPECT_THAT(ran.out, HasSubstr("not fit to be used"));
}

TEST(ProviderCheck, AModuleThatEndsTheProcessIsNamedWithTheCheck) {
  const Ran ran = check({module_file("crasher"), "--json"});
  EXPECT_EQ(ran.code, EX_DATAERR);
  EXPECT_THAT(ran.out, HasSubstr("signal 6, during: answers"));
  EXPECT_THAT(ran.out, HasSubstr("\"passed\":false"));
}

TEST(ProviderCheck, RefusedSettingsAreAFindingWithItsText) {
  const Ran none = check({module_file("gate")});
  EXPECT_EQ(none.code, EX_DATAERR);
  EXPECT_THAT(none.out, HasSubstr("settings: name token, and nothing else"));
  EXPECT_THAT(none.out, HasSubstr("--settings"));
  const Ran silent = check({module_file("silent")});
  EXPECT_EQ(silent.code, EX_DATAERR);
  EXPECT_THAT(silent.out, HasSubstr("without saying what to write instead"));
}

TEST(ProviderCheck, ExitCodesAreThoseOfSysexits) {
  EXPECT_EQ(check({"/nonexistent/gate.so"}).code, EX_NOINPUT);
  EXPECT_EQ(check({module_file("too_short")}).code, EX_CONFIG);
  EXPECT_EQ(check({}).code, EX_USAGE);
  EXPECT_EQ(check({module_file("gate"), "--settings", "token"}).code, EX_USAGE);
  const Ran help = check({"--help"});
  EXPECT_EQ(help.code, EX_OK);
  EXPECT_THAT(help.out, HasSubstr("example:"));
}

}  // namespace
}  // namespace sendonce::test
