// The policy `lookup` with the real daemon and a provider that can be asked: what it took is never
// sent a second time, and what it did not take is sent once.
#include <sysexits.h>

#include "tests/integration/daemon/rig.hpp"

namespace sendonce::test {
namespace {

// Any file will do for a secret. `otp` looks, `marketing` gives up.
constexpr const char* kGate = R"(
[class.otp]
subject   = "notify.otp.>"
@TIMES@
ambiguous = { default = "give-up", sms = "lookup" }
route     = { sms = ["gate"] }

[class.marketing]
subject   = "notify.campaign.>"
@TIMES@
ambiguous = { default = "give-up" }
route     = { sms = ["gate"] }

[provider.gate]
kind        = "http"
channel     = "sms"
endpoint    = "https://localhost:@PORT@"
path        = "/hook/{phone_digits}"
version     = "@VERSION@"
headers     = { x-reference = "{key}" }
json        = { to = "{phone}", text = "{body}" }
auth        = { type = "basic", user = "u", secret = "file:@CREDENTIALS@/apns.p8" }
receipt     = { pointer = "/id" }
call        = { connect = "2s", total = "3s" }
concurrency = { connections = 4, streams = 16 }
tls         = { ca = "@CREDENTIALS@/ca.pem" }

[provider.gate.lookup]
path    = "/hook/{phone_digits}"
query   = { reference = "{key}" }
lag     = "1s"
window  = "1h"
receipt = "/messages/0/id"
answers = [{ status = 200, pointer = "/count", equals = 0, is = "absent" }]
)";

class Lookup : public DaemonTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    std::string text = kGate;
    constexpr std::string_view kVersion = "@VERSION@";
    text.replace(text.find(kVersion), kVersion.size(), GetParam());
    make({.classes = text});
  }
  static std::string digits(int event) { return std::to_string(15'555'550'100 + event); }
  void publish_sms(int from, int to) {
    for (int i = from; i < to; ++i) {
      const std::string n = std::to_string(i);
      publish_body("otp", R"({"event_id":"e)" + n + R"(","recipient":"u)" + n +
                              R"(","channel":"sms","template":"t","targets":[{"kind":"sms",)"
                              R"("phone":"+)" +
                              digits(i) + R"(","ref":"d)" + n +
                              R"("}],"notification":{"body":"Your code is 1"}})");
    }
  }
  [[nodiscard]] Copies texts(int event) const {
    return provider_.seen(ProviderKind::http, digits(event));
  }
  [[nodiscard]] std::uint64_t questions(int event) const {
    return provider_.seen(ProviderKind::http, "lookup:" + digits(event)).received;
  }
  void expect_accepted(int from, int to) const {
    const auto all = rows();
    for (int i = from; i < to; ++i) {
      const auto row = all.find(i);
      ASSERT_NE(row, all.end()) << "event " << i;
      EXPECT_EQ(name(row->second), name(State::accepted)) << "event " << i;
      EXPECT_EQ(texts(i).accepted, 1U) << "event " << i;
    }
  }
};

// The answer is lost after the provider has taken it.
TEST_P(Lookup, WhatWasTakenIsFoundAndNotSentAgain) {
  start();
  script(
      "[[rule]]\nprovider = \"http\"\ntoken = \"1*\"\nnth = [1]\nper_token = true\n"
      "reset = \"INTERNAL_ERROR\"\nprocessed = true\n");
  publish_sms(0, 5);
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("accepted", "otp"), 5U);
  EXPECT_EQ(counter("looks_found", "otp"), 5U);
  EXPECT_EQ(stop(), EX_OK);
  expect_accepted(0, 5);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(texts(i).received, 1U) << "event " << i;
    EXPECT_EQ(questions(i), 1U) << "event " << i;
  }
}

// The request is lost: two looks say so, and then it is sent, once.
TEST_P(Lookup, WhatWasNotTakenIsSentAfterTwoLooks) {
  start();
  script(
      "[[rule]]\nprovider = \"http\"\ntoken = \"1*\"\nnth = [1]\nper_token = true\n"
      "reset = \"INTERNAL_ERROR\"\nprocessed = false\n");
  publish_sms(0, 5);
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("accepted", "otp"), 5U);
  EXPECT_EQ(counter("looks_absent", "otp"), 10U);
  EXPECT_EQ(counter("repeats_in_doubt", "otp"), 5U);
  EXPECT_EQ(stop(), EX_OK);
  expect_accepted(0, 5);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(texts(i).received, 2U) << "event " << i;
    EXPECT_EQ(questions(i), 2U) << "event " << i;
  }
}

// kill -9 between the send and its answer.
TEST_P(Lookup, ADaemonThatDiesBeforeTheAnswerFindsWhatItHasSent) {
  start();
  script("[[rule]]\nprovider = \"http\"\nnth = [1]\nstall = \"stream\"\nprocessed = true\n");
  publish_sms(0, 1);
  ASSERT_TRUE(within(seconds(60), [this] { return texts(0).received == 1; }));
  world_->kill_daemon();
  start();
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("taken_over", "otp"), 1U);
  EXPECT_EQ(stop(), EX_OK);
  expect_accepted(0, 1);
  EXPECT_EQ(texts(0).received, 1U);
  EXPECT_EQ(questions(0), 1U);
}

TEST_P(Lookup, ADaemonThatDiesBeforeTheProviderTookItSendsItOnce) {
  start();
  script("[[rule]]\nprovider = \"http\"\nnth = [1]\nstall = \"stream\"\nprocessed = false\n");
  publish_sms(0, 1);
  ASSERT_TRUE(within(seconds(60), [this] { return texts(0).received == 1; }));
  world_->kill_daemon();
  start();
  ASSERT_TRUE(settled());
  EXPECT_EQ(stop(), EX_OK);
  expect_accepted(0, 1);
  EXPECT_EQ(texts(0).received, 2U);
  EXPECT_EQ(questions(0), 2U);
}

// An answer to a look that says nothing leaves the doubt where it is.
TEST_P(Lookup, ALookThatFailsIsRepeatedAndProvesNothing) {
  start();
  script(
      "[[rule]]\nprovider = \"http\"\ntoken = \"1*\"\nnth = [1]\nper_token = true\n"
      "reset = \"INTERNAL_ERROR\"\nprocessed = true\n"
      "[[rule]]\nprovider = \"http\"\ntoken = \"lookup:*\"\nnth = [1, 2, 3]\nstatus = 503\n");
  publish_sms(0, 1);
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("looks_undecided", "otp"), 3U);
  EXPECT_EQ(counter("accepted", "otp"), 1U);
  EXPECT_EQ(stop(), EX_OK);
  expect_accepted(0, 1);
  EXPECT_EQ(texts(0).received, 1U);
  EXPECT_EQ(questions(0), 4U);
}

INSTANTIATE_TEST_SUITE_P(Versions, Lookup, ::testing::Values("2", "1.1"), [](const auto& tested) {
  return std::string_view(tested.param) == "2" ? "Two" : "OneOne";
});

}  // namespace
}  // namespace sendonce::test
