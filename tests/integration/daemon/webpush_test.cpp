// Web Push from end to end: a message in, an encrypted push out, read by the browser that the fake
// push service plays.
#include <algorithm>

#include <sysexits.h>

#include "tests/integration/daemon/rig.hpp"

namespace sendonce::test {
namespace {

class WebPushTest : public DaemonTest {
 protected:
  // Marketing, but for browsers.
  void make_with(const std::string& origins = "", const std::string& ambiguous = "give-up") {
    start_provider();  // for its port; it comes back in make()
    stop_provider();
    const std::string credentials = provider_.credentials();
    const std::string own = "[\"localhost:" + std::to_string(provider_.port()) + "\"]";
    make({.classes = R"(
[class.otp]
subject   = "notify.otp.>"
expires   = "10m"
retention = "2d"
ambiguous = { default = "resend" }

[class.marketing]
subject   = "notify.campaign.>"
@TIMES@
ambiguous = { default = ")" +
                     ambiguous +
                     R"(" }
route     = { push = ["webpush"] }

[provider.webpush]
kind    = "webpush"
urgency = "high"
auth    = { vapid_key = "file:)" +
                     credentials + R"(/vapid.pem", subject = "mailto:ops@example.com" }
origins = )" + (origins.empty() ? own : origins) +
                     R"(
call    = { connect = "2s", total = "3s" }
tls     = { ca = ")" +
                     credentials + "/ca.pem\" }\n"});
  }
  void push(const std::string& event, const std::string& subscription_name) {
    push_to(event, provider_.subscription(subscription_name));
  }
  void push_to(const std::string& event, const std::string& subscription) {
    publish_body("marketing",
                 R"({"event_id":")" + event +
                     R"(","recipient":"u1","channel":"push","template":"t","targets":[)" +
                     R"({"provider":"webpush","subscription":)" + subscription +
                     R"(,"ref":"d1"}],"notification":{"title":"Hello","body":"World",)" +
                     R"("data":{"order":"8812"}}})");
  }
  Copies at(const std::string& name) const { return provider_.seen(ProviderKind::webpush, name); }
};

TEST_F(WebPushTest, AMessageIsReadByTheBrowserAndAcked) {
  make_with();
  start();
  push("e1", "alice");
  push("e1", "alice");  // the same notification once more
  push("e2", "bob");
  ASSERT_TRUE(settled());
  const auto seen = provider_.pushes();
  ASSERT_EQ(seen.size(), 2U);
  const Json first = Json::parse(seen[0].text);
  EXPECT_EQ(seen[0].subscription, "alice");
  EXPECT_EQ(first["title"], "Hello");
  EXPECT_EQ(first["body"], "World");
  EXPECT_EQ(first["data"]["order"], "8812");
  EXPECT_EQ(first["tag"], seen[0].topic);
  EXPECT_EQ(seen[0].topic.size(), 32U);
  EXPECT_EQ(seen[0].urgency, "high");
  EXPECT_GT(seen[0].ttl, 500);
  EXPECT_LE(seen[0].ttl, 600);
  EXPECT_EQ(at("alice").accepted, 1U);
  EXPECT_EQ(at("bob").accepted, 1U);
  EXPECT_EQ(counter("accepted"), 2U);
  EXPECT_EQ(counter("duplicates_suppressed"), 1U);
  EXPECT_EQ(stored(), 0U);
  EXPECT_EQ(log().find("alice"), std::string::npos) << "an endpoint is a secret";
  EXPECT_EQ(stop(), EX_OK);
}

TEST_F(WebPushTest, TheLongestEndpointIsReached) {
  make_with();
  start();
  const std::string origin = "https://localhost:" + std::to_string(provider_.port()) + "/push/";
  const std::string longest(4096 - origin.size(), 'l');
  push("e1", longest);
  push("e2", longest + "l");
  ASSERT_TRUE(settled());
  EXPECT_EQ(at(longest).accepted, 1U);
  EXPECT_EQ(at(longest + "l").received, 0U);
  EXPECT_EQ(counter("accepted"), 1U);
  EXPECT_EQ(counter("undecodable"), 1U) << "a target that no provider can have";
  EXPECT_EQ(stop(), EX_OK);
}

TEST_F(WebPushTest, ASubscriptionThatIsGoneIsNotCalledAgain) {
  make_with();
  start();
  push("e1", "alice");
  ASSERT_TRUE(settled());
  script("[[rule]]\nprovider = \"webpush\"\ntoken = \"dead\"\nstatus = 410\n");
  push("e2", "dead");
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("failed"), 1U);
  push("e3", "dead");
  push("e3", "alice");
  ASSERT_TRUE(settled());
  EXPECT_EQ(at("dead").received, 1U) << "what is known to be dead is not sent to";
  EXPECT_EQ(at("alice").accepted, 2U);
  EXPECT_EQ(counter("suppressed"), 1U);
  EXPECT_EQ(stop(), EX_OK);
}

// SSRF: whoever subscribes chooses the endpoint.
TEST_F(WebPushTest, AnEndpointThatIsNotAllowedIsNeverCalled) {
  make_with(R"(["push.example.net"])");
  start();
  push("e1", "alice");
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("failed"), 1U);
  EXPECT_EQ(received(), 0U);
  EXPECT_EQ(log().find("provider=webpush"), std::string::npos) << "not even a connection";
  EXPECT_EQ(stop(), EX_OK);
}

// Law 7: whose key is refused waits, and its subscription stays.
TEST_F(WebPushTest, AKeyThatIsRefusedHoldsTheServiceAndNoSubscription) {
  make_with();
  start();
  script("[[rule]]\nprovider = \"webpush\"\nnth = [1]\nstatus = 403\nreason = \"invalid JWT\"\n");
  push("e1", "alice");
  ASSERT_TRUE(logs("provider.held"));
  EXPECT_THAT(log(), HasSubstr("localhost:"));  // the part
  ASSERT_TRUE(settled());                       // the probe goes through
  EXPECT_EQ(at("alice").accepted, 1U);
  EXPECT_EQ(at("alice").received, 2U);
  EXPECT_EQ(counter("accepted"), 1U);
  EXPECT_EQ(stop(), EX_OK);
}

TEST_F(WebPushTest, ThrottledAndTooLargeAndTakenWithoutAnAnswer) {
  make_with();
  start();
  script(R"(
[[rule]]
provider = "webpush"
token = "slow"
nth = [1]
status = 429
headers = { retry-after = "1" }
[[rule]]
provider = "webpush"
token = "large"
status = 413
[[rule]]
provider = "webpush"
token = "lost"
close = "rst"
processed = true
)");
  push("e1", "slow");
  push("e2", "large");
  ASSERT_TRUE(settled());
  push("e3", "lost");  // by itself: it takes its connection with it
  ASSERT_TRUE(settled());
  EXPECT_EQ(at("slow").received, 2U);
  EXPECT_EQ(at("slow").accepted, 1U);
  EXPECT_EQ(at("large").received, 1U);
  EXPECT_EQ(at("lost").received, 1U) << "give-up: nobody knows, so it is not sent again";
  EXPECT_EQ(counter("accepted"), 1U);
  EXPECT_EQ(counter("failed"), 1U);
  EXPECT_EQ(counter("unknown"), 1U);
  EXPECT_EQ(stop(), EX_OK);
}

TEST_F(WebPushTest, KilledInTheMiddleItSendsNothingTwice) {
  make_with();
  start();
  script("[[rule]]\nprovider = \"webpush\"\ndelay = \"100ms\"\n");
  for (int i = 0; i < 60; ++i) push("e" + std::to_string(i), "s" + std::to_string(i));
  ASSERT_TRUE(within(seconds(60), [this] { return received() >= 20; }));
  world_->kill_daemon();
  start();
  ASSERT_TRUE(settled());
  for (int i = 0; i < 60; ++i) EXPECT_LE(at("s" + std::to_string(i)).accepted, 1U) << i;
  EXPECT_EQ(stop(), EX_OK);
}

}  // namespace
}  // namespace sendonce::test
