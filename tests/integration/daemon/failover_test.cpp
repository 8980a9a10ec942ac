// Two gateways on a route, with the real daemon: what the first one did not take goes to the
// second, and what it may have taken does not.
#include <array>

#include <sysexits.h>

#include "tests/integration/daemon/rig.hpp"

namespace sendonce::test {
namespace {

constexpr const char* kGates = R"(
[class.otp]
subject   = "notify.otp.>"
@TIMES@
ambiguous = { default = "resend" }
route     = { sms = ["first", "second"] }

[class.marketing]
subject   = "notify.campaign.>"
@TIMES@
ambiguous = { default = "give-up" }
route     = { sms = ["first", "second"] }
@GATE first a@
@GATE second b@
)";

std::string gate(const std::string& name, const std::string& prefix) {
  return "\n[provider." + name + "]\nkind = \"http\"\nchannel = \"sms\"\n" +
         "endpoint = \"https://localhost:@PORT@\"\npath = \"/hook/" + prefix +
         R"(-{phone_digits}"
version     = "2"
json        = { to = "{phone}", text = "{body}", key = "{key}" }
auth        = { type = "basic", user = "u", secret = "file:@CREDENTIALS@/apns.p8" }
receipt     = { pointer = "/id" }
call        = { connect = "2s", total = "3s" }
concurrency = { connections = 4, streams = 16 }
tls         = { ca = "@CREDENTIALS@/ca.pem" }
)";
}

class Failover : public DaemonTest {
 protected:
  void SetUp() override {
    std::string text = kGates;
    for (const auto& [place, name, prefix] :
         {std::array<const char*, 3>{"@GATE first a@", "first", "a"},
          std::array<const char*, 3>{"@GATE second b@", "second", "b"}})
      text.replace(text.find(place), std::string_view(place).size(), gate(name, prefix));
    make({.classes = text});
    start();
  }
  static std::string digits(int event) { return std::to_string(15'555'550'100 + event); }
  void publish_sms(int from, int to, std::string_view message_class = "otp") {
    for (int i = from; i < to; ++i) {
      const std::string n = std::to_string(i);
      publish_body(message_class, R"({"event_id":"e)" + n + R"(","recipient":"u)" + n +
                                      R"(","channel":"sms","template":"t","targets":[{"kind":)"
                                      R"("sms","phone":"+)" +
                                      digits(i) + R"(","ref":"d)" + n +
                                      R"("}],"notification":{"body":"Your code is 1"}})");
    }
  }
  [[nodiscard]] Copies first(int event) const {
    return provider_.seen(ProviderKind::http, "a-" + digits(event));
  }
  [[nodiscard]] Copies second(int event) const {
    return provider_.seen(ProviderKind::http, "b-" + digits(event));
  }
};

TEST_F(Failover, ACredentialThatTheFirstRefusesHoldsItAndTheSecondSends) {
  script("[[rule]]\nprovider = \"http\"\ntoken = \"a-*\"\nstatus = 401\n");
  publish_sms(0, 30);
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("accepted", "otp"), 30U);
  EXPECT_EQ(stop(), EX_OK);
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(first(i).accepted, 0U) << "event " << i;
    EXPECT_EQ(second(i).accepted, 1U) << "event " << i;
    EXPECT_EQ(second(i).received, 1U) << "event " << i;
  }
}

// Taken, and its answer lost: the second one must not send it too.
TEST_F(Failover, WhatTheFirstMayHaveTakenStaysThere) {
  script(
      "[[rule]]\nprovider = \"http\"\ntoken = \"a-*\"\nnth = [1]\nper_token = true\n"
      "reset = \"INTERNAL_ERROR\"\nprocessed = true\n"
      "[[rule]]\nprovider = \"http\"\ntoken = \"a-*\"\nnth = [1]\nper_token = true\n"
      "status = 429\nheaders = { retry-after = \"1\" }\n");
  publish_sms(0, 5, "marketing");
  publish_sms(5, 10, "otp");
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("unknown", "marketing"), 5U);
  EXPECT_EQ(counter("accepted", "otp"), 5U);
  EXPECT_EQ(counter("failovers", "otp") + counter("failovers", "marketing"), 0U);
  EXPECT_EQ(stop(), EX_OK);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(second(i).received, 0U) << "event " << i;
}

}  // namespace
}  // namespace sendonce::test
