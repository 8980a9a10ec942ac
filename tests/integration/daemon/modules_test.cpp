// Providers that somebody else has written, with the real daemon: the examples over TLS, and a
// module that lies.
#include <filesystem>
#include <fstream>

#include <sys/stat.h>
#include <sysexits.h>

#include "tests/integration/daemon/rig.hpp"

namespace sendonce::test {
namespace {

// `otp` may repeat with a key, `marketing` gives up.
constexpr const char* kModules = R"(
[class.otp]
subject   = "notify.otp.>"
@TIMES@
ambiguous = { default = "give-up", sms = "resend-with-key" }
route     = { sms = ["gate"] }

[class.marketing]
subject   = "notify.campaign.>"
@TIMES@
ambiguous = { default = "give-up" }
route     = { email = ["mailer"], sms = ["liar"] }

[provider.gate]
kind        = "module"
module      = "@MODULES@/provider_gate.so"
channel     = "sms"
endpoint    = "https://localhost:@PORT@"
idempotency = { header = "Idempotency-Key", window = "1h" }
call        = { connect = "2s", total = "3s" }
tls         = { ca = "@CREDENTIALS@/ca.pem" }
[provider.gate.settings]
token = "file:@CREDENTIALS@/gate.token"

[provider.mailer]
kind        = "module"
module      = "@MODULES@/provider_mailer.so"
channel     = "email"
version     = "1.1"
endpoint    = "https://localhost:@PORT@"
settings    = { token = "file:@CREDENTIALS@/gate.token" }
call        = { connect = "2s", total = "3s" }
tls         = { ca = "@CREDENTIALS@/ca.pem" }

[provider.liar]
kind        = "module"
module      = "@MODULES@/provider_liar.so"
channel     = "sms"
endpoint    = "https://localhost:@PORT@"
call        = { connect = "2s", total = "3s" }
tls         = { ca = "@CREDENTIALS@/ca.pem" }
)";

class ModulesTest : public DaemonTest {
 protected:
  void make_modules(const std::string& from = "", const std::string& to = "") {
    const std::string token = provider_.credentials() + "/gate.token";
    std::ofstream(token) << "a-token-of-the-gate\n";
    ASSERT_EQ(::chmod(token.c_str(), 0600), 0);
    std::string text = kModules;
    for (std::size_t at = 0; (at = text.find("@MODULES@")) != std::string::npos;)
      text.replace(at, std::string_view("@MODULES@").size(), SENDONCE_MODULES);
    if (!from.empty()) text.replace(text.find(from), from.size(), to);
    make({.classes = text});
  }
  static std::string digits(int event) { return std::to_string(15'555'550'100 + event); }
  void publish_to(std::string_view message_class, int event, const std::string& channel,
                  const std::string& provider, const std::string& destination) {
    const std::string n = std::to_string(event);
    publish_body(message_class,
                 R"({"event_id":"e)" + n + R"(","recipient":"u)" + n + R"(","channel":")" +
                     channel + R"(","template":"t","targets":[{"provider":")" + provider + R"(",)" +
                     destination + R"(,"ref":"d)" + n +
                     R"("}],"notification":{"title":"A \"title\"","body":"The code is 1"}})");
  }
  void publish_sms(int event, std::string_view message_class = "otp",
                   const std::string& provider = "gate") {
    publish_to(message_class, event, "sms", provider, R"("phone":"+)" + digits(event) + '"');
  }
  void publish_mail(int event) {
    publish_to("marketing", event, "email", "mailer",
               R"("email":")" + std::string(1, static_cast<char>('a' + event)) + R"(@b.de")");
  }
  // As the mailer writes an address into its path.
  static std::string in_percents(int event) {
    constexpr const char* kHex = "0123456789ABCDEF";
    const int c = 'a' + event;
    return std::string("%") + kHex[c >> 4] + kHex[c & 15] + "%40%62%2E%64%65";
  }
  [[nodiscard]] Copies taken(const std::string& destination) const {
    return provider_.seen(ProviderKind::http, destination);
  }
};

TEST_F(ModulesTest, WhatTheExamplesSendIsTakenOnce) {
  make_modules();
  start();
  for (int round = 0; round < 2; ++round) {  // the same events again
    for (int i = 0; i < 10; ++i) publish_sms(i);
    for (int i = 10; i < 20; ++i) publish_mail(i);
  }
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("accepted", "otp"), 10U);
  EXPECT_EQ(counter("accepted", "marketing"), 10U);
  EXPECT_THAT(log(), ::testing::Not(HasSubstr("a-token-of-the-gate")));
  EXPECT_EQ(stop(), EX_OK);
  for (int i = 0; i < 20; ++i) {
    const Copies copies = taken(i < 10 ? digits(i) : in_percents(i));
    EXPECT_EQ(copies.accepted, 1U) << "event " << i;
    EXPECT_EQ(copies.received, 1U) << "event " << i;
  }
}

TEST_F(ModulesTest, ALostAnswerIsAskedForAgainWithItsKey) {
  make_modules();
  start();
  script(
      "[[rule]]\nprovider = \"http\"\nnth = [1]\nper_token = true\nreset = \"INTERNAL_ERROR\"\n"
      "processed = true\n");
  for (int i = 0; i < 5; ++i) publish_sms(i);
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("accepted", "otp"), 5U);
  EXPECT_EQ(stop(), EX_OK);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(taken(digits(i)).accepted, 1U);
    EXPECT_GE(taken(digits(i)).received, 2U);
  }
}

TEST_F(ModulesTest, ItsCodeEndsADestinationAndARefusalOfTheMessageDoesNot) {
  make_modules();
  start();
  script("[[rule]]\nprovider = \"http\"\nstatus = 422\nreason = \"dead\"\n");
  publish_sms(0);
  ASSERT_TRUE(settled());
  script("[[rule]]\nprovider = \"http\"\nstatus = 422\nreason = \"too_rude\"\n");
  publish_sms(1);
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("failed", "otp"), 2U);
  EXPECT_EQ(counter("dead_letters", "otp"), 1U) << "of the message, not of the destination";
  EXPECT_EQ(stop(), EX_OK);
}

// It calls every 4xx a dead destination and everything else accepted.
TEST_F(ModulesTest, AModuleThatLiesEndsNothingAndAcceptsNothing) {
  make_modules();
  start();
  script("[[rule]]\nprovider = \"http\"\nstatus = 503\nreason = \"busy\"\n");
  publish_sms(0, "marketing", "liar");
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("accepted"), 0U);
  EXPECT_EQ(counter("unknown"), 1U);
  EXPECT_EQ(stop(), EX_OK);
}

TEST_F(ModulesTest, AModuleThatOthersMayWriteStopsTheStartAndTheCheck) {
  const TempDir dir;
  const std::string open = dir / "open.so";
  make_modules();
  std::filesystem::copy_file(std::string(SENDONCE_MODULES) + "/provider_gate.so", open);
  ASSERT_EQ(::chmod(open.c_str(), 0777), 0);
  replace_in_config(std::string(SENDONCE_MODULES) + "/provider_gate.so", open);
  const Ran checked = sendonce({"check-config"});
  EXPECT_NE(checked.code, EX_OK);
  EXPECT_THAT(checked.text, HasSubstr("error: provider.gate.module: "));
  EXPECT_THAT(checked.text, HasSubstr("may be written by everybody: chmod o-w it"));
  EXPECT_THAT(checked.text, ::testing::ContainsRegex("sendonce.toml:[0-9]+"));
  start_without_wait();
  EXPECT_NE(exit_code().value_or(0), EX_OK);
  EXPECT_THAT(log(), HasSubstr("may be written by everybody"));
}

TEST_F(ModulesTest, WhatAModuleDoesNotServeIsSaidBeforeTheStart) {
  make_modules();
  replace_in_config("/provider_gate.so", "/provider_mailer.so");
  const Ran checked = sendonce({"check-config"});
  EXPECT_EQ(checked.code, EX_CONFIG);
  EXPECT_THAT(checked.text, HasSubstr("module mailer 1.0.0 serves email"));
}

}  // namespace
}  // namespace sendonce::test
