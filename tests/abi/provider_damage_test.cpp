// Answers as networks and proxies leave them, judged by the example that is written in C: what it
// says is believed as far as it can be, whatever the bytes.
#include <gtest/gtest.h>

#include "classifiers/foreign/module_provider.hpp"
#include "plugin/module/loader/provider_file.hpp"

namespace sendonce::test {
namespace {

constexpr WallTime kNow{std::chrono::seconds(1'795'953'600)};

class ModuleDamage : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto table = load_provider_file(SENDONCE_MODULES "/provider_gate.so");
    ASSERT_TRUE(table.has_value()) << table.error().text;
    auto made = ModuleProvider::make({.table = *table,
                                      .kind = ProviderKind::sms,
                                      .channel = Channel::sms,
                                      .endpoint = "https://gate.example.com",
                                      .settings = {{"token", Credential("s3cr3t-token"), true}}});
    ASSERT_TRUE(made.has_value()) << made.error().text;
    gate_ = std::move(*made);
  }
  [[nodiscard]] Verdict judge(int status, std::string body) const {
    HttpAnswer answer;
    answer.status = status;
    answer.body = std::move(body);
    Target target;
    target.destination = Destination("+4917012345678");
    return gate_->classify(target, CallResult(std::move(answer)), kNow);
  }
  void expect_harmless(int status, const std::string& body) const {
    const Verdict v = judge(status, body);
    const std::string what = std::to_string(status) + " " + body.substr(0, 200);
    EXPECT_NE(v.name, VerdictClass::token_terminal) << what;
    EXPECT_NE(v.fault, Fault::device) << what;
    EXPECT_NE(v.effect, Effect::sent) << what;
    EXPECT_FALSE(v.reason.empty()) << what;
  }

  std::unique_ptr<ModuleProvider> gate_{};
  struct Said {
    int status = 0;
    std::string body{};
  };
  const std::vector<Said> said_{{200, R"({"id":"msg-1"})"}, {422, R"({"code":"dead"})"}};
};

TEST_F(ModuleDamage, the_whole_answers_are_understood) {
  EXPECT_EQ(judge(200, R"({"id":"msg-1"})").name, VerdictClass::accepted);
  const Verdict dead = judge(422, R"({"code":"dead"})");
  EXPECT_EQ(dead.name, VerdictClass::token_terminal);
  EXPECT_TRUE(dead.needs_proof);
}

TEST_F(ModuleDamage, a_body_cut_anywhere) {
  for (const Said& whole : said_)
    for (std::size_t cut = 0; cut < whole.body.size(); ++cut)
      expect_harmless(whole.status, whole.body.substr(0, cut));
}

TEST_F(ModuleDamage, each_others_bodies_with_any_status) {
  for (const Said& whole : said_)
    for (int status = -1; status < 1000; ++status)
      if (status != whole.status) expect_harmless(status, whole.body);
}

TEST_F(ModuleDamage, wrapped_doubled_swollen_and_nested) {
  const std::string spaces(std::size_t{1024} * 1024, ' ');
  const std::string deep(100'000, '[');
  for (const Said& whole : said_) {
    for (const std::string& body :
         {"<!DOCTYPE html><html><body><pre>" + whole.body + "</pre></body></html>",
          "[" + whole.body + "]", "{\"data\":" + whole.body + "}", whole.body + whole.body,
          spaces + whole.body, "\xEF\xBB\xBF" + whole.body, deep, deep + whole.body, spaces,
          std::string(), std::string("{}"), std::string("null"), std::string("\xff\xfe")})
      expect_harmless(whole.status, body);
  }
}

TEST_F(ModuleDamage, a_byte_that_is_another_gains_nothing) {
  for (const Said& whole : said_) {
    const VerdictClass before = judge(whole.status, whole.body).name;
    for (std::size_t at = 0; at < whole.body.size(); ++at) {
      for (const char other : {'\0', '"', '}', ' ', '\xff'}) {
        std::string body = whole.body;
        body[at] = other;
        if (body == whole.body) continue;
        const Verdict v = judge(whole.status, body);
        EXPECT_NE(v.fault, Fault::device) << body;
        if (v.effect == Effect::sent) {
          EXPECT_EQ(before, VerdictClass::accepted) << body;
          EXPECT_FALSE(v.message_id.empty()) << body;
        }
      }
    }
  }
}

}  // namespace
}  // namespace sendonce::test
