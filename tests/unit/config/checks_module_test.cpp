// kind = "module": what is refused, and at which place.
#include <gmock/gmock.h>

#include "config/effective.hpp"
#include "config/reload.hpp"
#include "tests/unit/config/fixture.hpp"

namespace sendonce::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Its first line is number 14.
constexpr std::string_view kGate = R"([provider.gate]
kind = "module"
module = "/usr/lib/sendonce/gate.so"
channel = "sms"
endpoint = "https://gate.example.com"
idempotency = { header = "Idempotency-Key", window = "24h" }
settings = { sender = "Shop", token = "cred:gate", other = "file:/etc/gate" }
)";
constexpr std::string_view kClass = R"([class.sms]
subject = "notify.sms.>"
expires = "3m"
retention = "2d"
ambiguous = { default = "resend-with-key" }
route = { sms = ["gate"] }
)";

std::string text_with(std::string_view from, std::string_view to, std::string_view more = {}) {
  std::string gate = std::string(kGate) + std::string(more) + "\n" + std::string(kClass);
  if (!from.empty()) gate.replace(gate.find(from), from.size(), to);
  return good() + gate;
}
std::vector<std::string> with(std::string_view from, std::string_view to) {
  return findings_of(text_with(from, to));
}
std::vector<std::string> more(std::string_view line) {
  return findings_of(text_with("", "", line));
}

TEST(CheckModule, AGoodOneHasNoFinding) {
  EXPECT_THAT(with("", ""), IsEmpty());
  const ProviderConfig gate = config_of(text_with("", "")).providers[1];
  EXPECT_TRUE(gate.by_module);
  EXPECT_EQ(gate.kind, ProviderKind::sms) << "of its destinations";
  ASSERT_EQ(gate.settings.size(), 3U);
  EXPECT_EQ(gate.settings[0].text, "Shop");
  EXPECT_EQ(gate.settings[1].secret->text, "cred:gate");
  EXPECT_EQ(gate.settings[1].text, "");
  EXPECT_EQ(gate.settings[2].secret->at.line, 20U);
}

TEST(CheckModule, TheEffectiveFormIsReadAsTheSame) {
  const Config config = config_of(text_with("", ""));
  const LoadResult again = load_config_text(effective_toml(config), "effective.toml");
  ASSERT_TRUE(again.config.has_value());
  EXPECT_TRUE(again.config->providers[1].by_module);
  EXPECT_EQ(again.config->hash, config.hash);
}

TEST(CheckModule, SettingsMayStandInATableOfTheirOwn) {
  EXPECT_THAT(with("settings = { sender = \"Shop\", token = \"cred:gate\", other = "
                   "\"file:/etc/gate\" }",
                   "[provider.gate.settings]\nsender = \"Shop\""),
              IsEmpty());
}

TEST(CheckModule, WhatIsMissingIsNamed) {
  EXPECT_THAT(with("module = \"/usr/lib/sendonce/gate.so\"", ""),
              Contains(HasSubstr("provider.gate.module")));
  EXPECT_THAT(with("channel = \"sms\"", ""), Contains(HasSubstr("provider.gate.channel")));
  EXPECT_THAT(with("endpoint = \"https://gate.example.com\"", ""),
              Contains(HasSubstr("provider.gate.endpoint")));
  EXPECT_THAT(with(", window = \"24h\"", ""), Contains(HasSubstr("idempotency.window")));
}

TEST(CheckModule, WrongValuesHaveTheirPlace) {
  EXPECT_THAT(with("/usr/lib/sendonce/gate.so", "gate.so"), ElementsAre(HasSubstr("t.toml:16:")));
  EXPECT_THAT(with("\"Shop\"", "7"), Contains(HasSubstr("t.toml:20:")));
  EXPECT_THAT(with("\"cred:gate\"", "\"cred:../x\""), Contains(HasSubstr("not a reference")));
  EXPECT_THAT(with("https://gate", "http://gate"), Contains(HasSubstr("t.toml:18:")));
  EXPECT_THAT(with("channel = \"sms\"", "channel = \"push\""), Not(IsEmpty()));
}

TEST(CheckModule, KeysOfOtherKindsAreRefused) {
  EXPECT_THAT(more("path = \"/x\""), Contains(HasSubstr("has no meaning for this kind")));
  EXPECT_THAT(more("topic = \"x\""), Contains(HasSubstr("has no meaning for this kind")));
  EXPECT_THAT(more("auth = { secret = \"cred:x\" }"), Contains(HasSubstr("no meaning")));
  EXPECT_THAT(findings_of(good() + "[provider.h]\nkind = \"http\"\nmodule = \"/x\"\n"),
              Contains(HasSubstr("set kind = \"module\"")));
}

TEST(CheckModule, ARepeatNeedsAKey) {
  EXPECT_THAT(with("idempotency = { header = \"Idempotency-Key\", window = \"24h\" }", ""),
              Contains(HasSubstr("resend-with-key")));
}

TEST(CheckModule, AReloadTakesSettingsAndNeverShowsThem) {
  const std::vector<Change> changes =
      compare(config_of(text_with("", "")), config_of(text_with("\"Shop\"", "\"Other\"")));
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].field, "provider.gate.settings");
  EXPECT_EQ(changes[0].applies, OnReload::now);
  EXPECT_EQ(changes[0].after, "(not shown)");
  const std::vector<Change> other = compare(
      config_of(text_with("", "")), config_of(text_with("sendonce/gate.so", "sendonce/b.so")));
  ASSERT_EQ(other.size(), 1U);
  EXPECT_EQ(other[0].applies, OnReload::restart);
}

}  // namespace
}  // namespace sendonce::test
