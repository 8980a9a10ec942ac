// Providers that configuration describes, with the real daemon: over HTTP/2 and HTTP/1.1, and a key
// that makes a repeat harmless.
#include <sysexits.h>

#include "tests/integration/daemon/rig.hpp"

namespace sendonce::test {
namespace {

// Any file will do for a secret. `otp` may repeat with a key, `marketing` gives up.
constexpr const char* kHttp = R"(
[class.otp]
subject   = "notify.otp.>"
@TIMES@
ambiguous = { default = "give-up", sms = "resend-with-key" }
route     = { sms = ["gate"] }

[class.marketing]
subject   = "notify.campaign.>"
@TIMES@
ambiguous = { default = "give-up" }
route     = { sms = ["gate"], webhook = ["hooks"] }

[provider.gate]
kind        = "http"
channel     = "sms"
endpoint    = "https://localhost:@PORT@"
path        = "/hook/{phone_digits}"
version     = "2"
json        = { to = "{phone}", text = "{body}", nid = "{nid}" }
auth        = { type = "basic", user = "u", secret = "file:@CREDENTIALS@/apns.p8" }
idempotency = { header = "Idempotency-Key", window = "1h" }
receipt     = { pointer = "/id" }
call        = { connect = "2s", total = "3s" }
concurrency = { connections = 4, streams = 16 }
tls         = { ca = "@CREDENTIALS@/ca.pem" }

[provider.hooks]
kind        = "http"
channel     = "webhook"
version     = "1.1"
hosts       = ["localhost:@PORT@"]
form        = { title = "{title?}", text = "{body}" }
receipt     = { pointer = "/id" }
call        = { connect = "2s", total = "3s" }
concurrency = { connections = 4, streams = 16 }
tls         = { ca = "@CREDENTIALS@/ca.pem" }
)";

class HttpTest : public DaemonTest {
 protected:
  void make_http(std::string_view version) {
    std::string text = kHttp;
    const std::string_view two = "version     = \"2\"";
    text.replace(text.find(two), two.size(), "version     = \"" + std::string(version) + "\"");
    make({.classes = text});
  }
  static std::string digits(int event) { return std::to_string(15'555'550'100 + event); }
  void publish_sms(int from, int to, std::string_view message_class) {
    for (int i = from; i < to; ++i) {
      const std::string n = std::to_string(i);
      publish_body(message_class, R"({"event_id":"e)" + n + R"(","recipient":"u)" + n +
                                      R"(","channel":"sms","template":"t","targets":[{"kind":)"
                                      R"("sms","phone":"+)" +
                                      digits(i) + R"(","ref":"d)" + n +
                                      R"("}],"notification":{"body":"Your \"code\" is 1"}})");
    }
  }
  [[nodiscard]] Copies texts(int event) const {
    return provider_.seen(ProviderKind::http, digits(event));
  }
  void expect_accepted(int from, int to, std::uint64_t received) {
    const auto all = rows();
    for (int i = from; i < to; ++i) {
      EXPECT_EQ(texts(i).accepted, 1U) << "event " << i;
      EXPECT_EQ(texts(i).received, received) << "event " << i;
      const auto row = all.find(i);
      ASSERT_NE(row, all.end()) << "event " << i;
      EXPECT_EQ(name(row->second), name(State::accepted)) << "event " << i;
    }
  }
};

class HttpVersions : public HttpTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(HttpVersions, EachTextIsTakenOnce) {
  make_http(GetParam());
  start();
  publish_sms(0, 50, "otp");
  publish_sms(50, 100, "marketing");
  publish_sms(0, 50, "otp");  // the same events again
  ASSERT_TRUE(settled());
  EXPECT_EQ(stop(), EX_OK);
  expect_accepted(0, 100, 1);
}

// The provider has taken it, the answer is lost: the second request carries the same key.
TEST_P(HttpVersions, ALostAnswerIsAskedForAgainWithItsKey) {
  make_http(GetParam());
  start();
  script(
      "[[rule]]\nprovider = \"http\"\nnth = [1]\nper_token = true\nreset = \"INTERNAL_ERROR\"\n"
      "processed = true\n");
  publish_sms(0, 5, "otp");
  publish_sms(5, 10, "marketing");
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("accepted", "otp"), 5U);
  EXPECT_EQ(counter("unknown", "marketing"), 5U) << "give-up does not ask again";
  EXPECT_EQ(stop(), EX_OK);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(texts(i).accepted, 1U) << "event " << i;
    EXPECT_GE(texts(i).received, i < 5 ? 2U : 1U) << "event " << i;
  }
}

// kill -9 after the call and before its settlement.
TEST_P(HttpVersions, ADaemonThatDiesWithAnAnswerInHandSendsNothingTwice) {
  make_http(GetParam());
  mark();
  const auto started = world_->start_daemon({"SENDONCE_CRASH_AT=answer-read"});
  ASSERT_TRUE(started.has_value()) << started.error().text;
  publish_sms(0, 1, "otp");
  ASSERT_TRUE(within(seconds(60), [this] { return !world_->daemon_runs(); }));
  EXPECT_EQ(texts(0).received, 1U);
  start();
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("accepted", "otp"), 1U);
  EXPECT_EQ(stop(), EX_OK);
  expect_accepted(0, 1, 2);
}

// A repeat with other bytes under the same key would be a second message, or an error.
TEST_P(HttpVersions, ARepeatThatWouldDifferIsNotSent) {
  make_http(GetParam());
  mark();
  const auto started = world_->start_daemon({"SENDONCE_CRASH_AT=answer-read"});
  ASSERT_TRUE(started.has_value()) << started.error().text;
  publish_sms(0, 1, "otp");
  ASSERT_TRUE(within(seconds(60), [this] { return !world_->daemon_runs(); }));
  replace_in_config("text = \"{body}\", nid", "text = \"Shop: {body}\", nid");
  start();
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("unknown", "otp"), 1U);
  EXPECT_EQ(stop(), EX_OK);
  EXPECT_EQ(texts(0).received, 1U);
}

INSTANTIATE_TEST_SUITE_P(Versions, HttpVersions, ::testing::Values("2", "1.1"),
                         [](const auto& tested) {
                           return std::string_view(tested.param) == "2" ? "Two" : "OneOne";
                         });

TEST_F(HttpTest, AWebhookGoesToTheTargetsOwnUrlAndNowhereElse) {
  make_http("2");
  start();
  const auto envelope = [](const std::string& event, const std::string& url) {
    return R"({"event_id":")" + event +
           R"(","recipient":"u","channel":"webhook","template":"t","targets":[{"provider":"hooks",)"
           R"("url":")" +
           url + R"("}],"notification":{"body":"a & b"}})";
  };
  const std::string port = std::to_string(provider_.port());
  publish_body("marketing", envelope("e1", "https://localhost:" + port + "/hook/mine?x=1"));
  publish_body("marketing", envelope("e2", "https://127.0.0.1:" + port + "/hook/other"));
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("accepted"), 1U);
  EXPECT_EQ(counter("failed"), 1U);
  EXPECT_EQ(counter("dead_letters"), 1U);
  EXPECT_EQ(stop(), EX_OK);
  EXPECT_EQ(provider_.seen(ProviderKind::http, "mine").accepted, 1U);
  EXPECT_EQ(provider_.seen(ProviderKind::http, "other").received, 0U);
}

}  // namespace
}  // namespace sendonce::test
