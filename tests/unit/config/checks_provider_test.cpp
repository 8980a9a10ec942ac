#include <gmock/gmock.h>

#include "config/checks.hpp"
#include "tests/unit/config/fixture.hpp"

namespace sendonce::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// In [provider.apns], in line 7.
std::vector<std::string> with(std::string_view line) {
  return findings_of(with_line(good(), 6, "topic = \"t\"\n" + std::string(line)));
}

// good() with a Web Push provider instead, `line` behind its mandatory keys, in line 8.
std::vector<std::string> webpush_with(std::string_view line,
                                      std::string_view subject = "mailto:ops@example.com") {
  std::string text = with_line(good(), 5, "kind = \"webpush\"");
  text = with_line(text, 6, "auth.vapid_key = \"cred:v\"");
  return findings_of(
      with_line(text, 7, "auth.subject = \"" + std::string(subject) + "\"\n" + std::string(line)));
}

std::vector<std::string> routed(std::string_view route) {
  return findings_of(with_line(good(), 13, "route = { push = " + std::string(route) + " }"));
}

// good() with an FCM provider instead, `line` in line 7.
std::vector<std::string> fcm_with(std::string_view line) {
  std::string text = with_line(good(), 5, "kind = \"fcm\"");
  text = with_line(text, 6, "auth.service_account = \"cred:f\"");
  return findings_of(with_line(text, 7, line));
}

TEST(CheckTokenAge, WithinWhatAppleAllows) {
  const auto aged = [](const std::string& age) {
    return findings_of(with_line(good(), 7,
                                 "auth = { team = \"ABCDE12345\", key_id = \"FGHIJ67890\", key = "
                                 "\"cred:apns.p8\", refresh = \"" +
                                     age + "\" }"));
  };
  EXPECT_THAT(aged("40m"), IsEmpty());
  EXPECT_THAT(aged("50m"), IsEmpty());
  for (const char* bad : {"39m", "51m", "55m"})
    EXPECT_THAT(aged(bad), ElementsAre(HasSubstr("auth.refresh"))) << bad;
}

TEST(CheckCalls, TheConnectionLeavesTimeForTheAnswer) {
  EXPECT_THAT(with("call = { connect = \"2s\", total = \"3s\" }"), IsEmpty());
  EXPECT_THAT(with("call = { connect = \"3s\", total = \"3s\" }"),
              ElementsAre("t.toml:7:20: error: provider.apns.call.connect: 3s leaves nothing of "
                          "call.total = 3s for the answer; make it shorter than call.total"));
}

TEST(CheckDrain, AtLeastTheLongestCall) {
  EXPECT_THAT(findings_of(with_line(good(), 3, "drain = \"10s\"")), IsEmpty());
  EXPECT_THAT(findings_of(with_line(good(), 3, "drain = \"9s\"")),
              ElementsAre("t.toml:3:9: error: instance.drain: 9s cuts off calls on a stop: the "
                          "longest call.total is 10s; make it at least \"10s\""));
}

TEST(CheckEndpoints, OnlyHttps) {
  EXPECT_THAT(with("endpoint = \"https://localhost:2197\""), IsEmpty());
  EXPECT_THAT(
      with("endpoint = \"http://localhost:2197\""),
      ElementsAre("t.toml:7:12: error: provider.apns.endpoint: plain http cannot carry this "
                  "provider's HTTP/2 over TLS; write https://host[:port], with tls.ca for a "
                  "test server"));
  for (const char* bad : {"localhost", "ftp://h", "https://h/path", "https://"})
    EXPECT_THAT(with("endpoint = \"" + std::string(bad) + "\""),
                ElementsAre(HasSubstr("write https://host[:port] and no more")))
        << bad;
}

TEST(CheckEndpoints, SecretsInUrlsAreNotEchoed) {
  for (const char* line :
       {"endpoint = \"https://user:hunter2@h\"", "endpoint = \"http://user:hunter2@h\"",
        "proxy.url = \"http://user:hunter2@h:1\""}) {
    const auto findings = with(line);
    EXPECT_THAT(findings, ElementsAre(HasSubstr("holds a user or password"))) << line;
    EXPECT_THAT(findings, Not(Contains(HasSubstr("hunter2")))) << line;
  }
}

TEST(CheckEndpoints, TokensOverPlainHttpOnlyOnLoopback) {
  EXPECT_THAT(fcm_with("auth.token_endpoint = \"https://h/token\""), IsEmpty());
  EXPECT_THAT(fcm_with("insecure = true\nauth.token_endpoint = \"http://127.0.0.1:1/token\""),
              IsEmpty());
  EXPECT_THAT(fcm_with("auth.token_endpoint = \"http://127.0.0.1:1/token\""),
              ElementsAre("t.toml:7:23: error: provider.apns.auth.token_endpoint: plain http would "
                          "show the credential to the network; write https; http is for loopback "
                          "addresses and needs insecure = true"));
  EXPECT_THAT(fcm_with("insecure = true\nauth.token_endpoint = \"http://10.0.0.1/token\""),
              ElementsAre(HasSubstr("plain http would show the credential")));
  EXPECT_THAT(fcm_with("auth.token_endpoint = \"https://a:hunter2@h\""),
              ElementsAre(HasSubstr("not a URL that tokens can come from")));
}

TEST(CheckEndpoints, WarnsOfInsecureWithoutNeed) {
  EXPECT_THAT(with("insecure = true"),
              ElementsAre("t.toml:7:12: warning: provider.apns.insecure: has no effect without a "
                          "plain http token endpoint; remove it"));
}

TEST(CheckProxies, HostAndPort) {
  EXPECT_THAT(with("proxy = { url = \"http://p:3128\", credentials = \"cred:p\" }"), IsEmpty());
  EXPECT_THAT(with("proxy.url = \"http://p\""),
              ElementsAre("t.toml:7:13: error: provider.apns.proxy.url: has no port; write "
                          "http://host:port; user and password belong into proxy.credentials"));
  EXPECT_THAT(with("proxy.url = \"socks5://p:1\""), ElementsAre(HasSubstr("has the wrong scheme")));
  EXPECT_THAT(with("proxy.credentials = \"cred:p\""),
              ElementsAre(HasSubstr("provider.apns.proxy.credentials: there is no proxy.url")));
}

TEST(CheckRoutes, KnownProvidersOnce) {
  EXPECT_THAT(
      routed("[\"apn\"]"),
      Contains("t.toml:13:18: error: class.otp.route.push: there is no provider \"apn\"; did "
               "you mean \"apns\"?"));
  EXPECT_THAT(routed("[\"apns\", \"elsewhere\"]"),
              ElementsAre("t.toml:13:18: error: class.otp.route.push: there is no provider "
                          "\"elsewhere\"; name one of apns"));
  EXPECT_THAT(
      routed("[\"apns\", \"apns\"]"),
      ElementsAre("t.toml:13:18: error: class.otp.route.push: names apns twice; keep one of "
                  "the two"));
  EXPECT_THAT(routed("[]"),
              ElementsAre("t.toml:13:18: error: class.otp.route.push: is empty; give it a value or "
                          "leave it out"));
}

TEST(CheckRoutes, WarnsOfUnusedProviders) {
  EXPECT_THAT(
      findings_of(with_more(good(),
                            "[provider.fcm]\nkind = \"fcm\"\nauth.service_account = "
                            "\"cred:f\"")),
      ElementsAre("t.toml:14:1: warning: provider.fcm: no class has it in its route; add it "
                  "to a route, or remove it"));
}

TEST(CheckRoutes, OnlyTheChannelsOfAProvider) {
  Config config = config_of(good());
  config.classes.at(0).route[Channel::sms] = {"apns"};
  Findings findings;
  check_routes({config, KeyPositions{}}, findings);
  EXPECT_THAT(texts(findings),
              ElementsAre(HasSubstr("class.otp.route.sms: provider apns cannot serve the channel "
                                    "sms")));
}

TEST(CheckPolicies, PushKnowsOnlyResendAndGiveUp) {
  const auto policy = [](std::string_view value) {
    return findings_of(with_line(good(), 12, "ambiguous = " + std::string(value)));
  };
  EXPECT_THAT(policy("{ default = \"give-up\" }"), IsEmpty());
  EXPECT_THAT(policy("{ default = \"lookup\", push = \"resend\" }"), IsEmpty());
  EXPECT_THAT(policy("{ default = \"resend-with-key\" }"),
              ElementsAre("t.toml:12:25: error: class.otp.ambiguous.default: provider apns (apns) "
                          "has nothing to do \"resend-with-key\" with; choose resend (a person may "
                          "get it twice) or give-up (a person may not get it)"));
  EXPECT_THAT(
      policy("{ default = \"resend\", push = \"lookup\" }"),
      ElementsAre(HasSubstr("t.toml:12:42: error: class.otp.ambiguous.push: provider apns")));
}

TEST(CheckWebPush, OriginsAreNamesOfPushServices) {
  EXPECT_THAT(webpush_with(""), IsEmpty());
  EXPECT_THAT(webpush_with("origins = [\"push.example.net\", \"*.example.org:8443\"]"), IsEmpty());
  for (const char* origin : {"https://push.example.net", "push.example.net/x", "*", "*.net",
                             "10.0.0.1", "[::1]", "user@push.example.net", "Push.example.net"})
    EXPECT_THAT(webpush_with("origins = [\"" + std::string(origin) + "\"]"),
                ElementsAre(HasSubstr("t.toml:8:11: error: provider.apns.origins: ")))
        << origin;
  for (const char* none : {"[]", "[\"\"]"})
    EXPECT_THAT(webpush_with("origins = " + std::string(none)), ElementsAre(HasSubstr("is empty")));
}

TEST(CheckWebPush, TheRestOfItsKeys) {
  EXPECT_THAT(webpush_with("urgency = \"high\""), IsEmpty());
  EXPECT_THAT(webpush_with("urgency = \"urgent\""), ElementsAre(HasSubstr("very-low")));
  EXPECT_THAT(webpush_with("", "ops@example.com"),
              ElementsAre(HasSubstr("t.toml:7:16: error: provider.apns.auth.subject: ")));
  EXPECT_THAT(webpush_with("endpoint = \"https://push.example.net\""),
              ElementsAre(HasSubstr("a subscription names its own endpoint")));
  EXPECT_THAT(webpush_with("topic = \"t\""),
              ElementsAre(HasSubstr("has no meaning for this kind of provider; remove it, or set "
                                    "kind = \"apns\"")));
  EXPECT_THAT(with("origins = [\"a.example\"]"), ElementsAre(HasSubstr("kind = \"webpush\"")));
}

TEST(CheckWebPush, HasNothingForTheOtherPolicies) {
  std::string text = with_line(good(), 5, "kind = \"webpush\"");
  text = with_line(text, 6, "auth.vapid_key = \"cred:v\"");
  text = with_line(text, 7, "auth.subject = \"mailto:ops@example.com\"");
  for (const char* policy : {"resend", "give-up"})
    EXPECT_THAT(findings_of(with_line(text, 12,
                                      "ambiguous = { default = \"" + std::string(policy) + "\" }")),
                IsEmpty());
  for (const char* policy : {"resend-with-key", "lookup"})
    EXPECT_THAT(findings_of(with_line(text, 12,
                                      "ambiguous = { default = \"" + std::string(policy) + "\" }")),
                ElementsAre(HasSubstr("(webpush) has nothing to do")));
}

TEST(CheckRates, AClassWithinItsProviders) {
  const std::string limited = with_line(good(), 6, "topic = \"t\"\nrate = \"10/s\"");
  EXPECT_THAT(findings_of(with_more(limited, "rate = \"600/m\"")), IsEmpty());
  EXPECT_THAT(
      findings_of(with_more(limited, "rate = \"660/m\"")),
      ElementsAre("t.toml:15:8: warning: class.otp.rate: 11/s is more than its providers may "
                  "send, 10/s; lower it, or raise the providers' rates"));
  EXPECT_THAT(findings_of(with_more(good(), "rate = \"60/s\"")), IsEmpty());
}

TEST(CheckRates, NothingIsZero) {
  EXPECT_THAT(with("rate = \"0/s\""), ElementsAre(HasSubstr("a rate of 0 would never send")));
  EXPECT_THAT(with("concurrency.connections = 0"), ElementsAre(HasSubstr("choose from 1 to 64")));
  EXPECT_THAT(with("concurrency.streams = 0"), ElementsAre(HasSubstr("choose from 1 to 10000")));
}

}  // namespace
}  // namespace sendonce::test
