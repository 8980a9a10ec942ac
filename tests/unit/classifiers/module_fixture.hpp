// A ModuleProvider over the puppet.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/classifiers/module_puppet.hpp"

namespace sendonce::test {

inline constexpr const char* kPhone = "+4917012345678";

class ModuleProviderTest : public ::testing::Test {
 protected:
  ModuleProviderTest() { reset_puppet(); }
  ~ModuleProviderTest() override {
    provider_.reset();
    EXPECT_EQ(puppet().alive, 0) << "every instance is destroyed";
  }

  static ModuleOptions options() {
    const auto table = look_at(&puppet_api());
    EXPECT_TRUE(table.has_value());
    return {.table = table.value_or(ModuleTable{}),
            .kind = ProviderKind::sms,
            .channel = Channel::sms,
            .endpoint = "https://gate.example.com",
            .settings = {{"sender", Credential("Shop"), false},
                         {"token", Credential("s3cr3t-token"), true}}};
  }
  void make(const ModuleOptions& o = options()) {
    auto made = ModuleProvider::make(o);
    ASSERT_TRUE(made.has_value()) << made.error().text;
    provider_ = std::move(*made);
  }
  static std::string refused(const ModuleOptions& o = options()) {
    const auto made = ModuleProvider::make(o);
    EXPECT_FALSE(made.has_value());
    return made ? "" : made.error().text;
  }
  Result<HttpRequest> prepare() {
    const Sample sample(kPhone);
    return provider_->prepare(sample.attempt(), kNow);
  }
  std::string prepare_error() {
    const auto made = prepare();
    EXPECT_FALSE(made.has_value());
    return made ? "" : made.error().text;
  }
  static Target target() {
    Target t;
    t.destination = Destination(kPhone);
    return t;
  }
  Believed judge(const CallResult& result) {
    puppet().asked = 0;
    return provider_->judge(target(), result, kNow);
  }
  Believed judge(int status, const sendonce_verdict& said, const char* body = "{\"a\":1}") {
    puppet().verdict = said;
    return judge(answer(status, body));
  }
  static void expect_doubt(const Believed& b) {
    EXPECT_EQ(name(b.verdict.name), name(VerdictClass::ambiguous));
    EXPECT_EQ(name(b.verdict.effect), name(Effect::maybe_sent));
    EXPECT_NE(b.corrected, "");
  }

  std::unique_ptr<ModuleProvider> provider_{};
};

}  // namespace sendonce::test
