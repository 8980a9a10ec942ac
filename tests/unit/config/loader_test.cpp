#include "config/loader.hpp"

#include <gmock/gmock.h>

#include "tests/unit/config/fixture.hpp"

namespace sendonce::test {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(Loader, GivesTypedValuesAndDefaults) {
  const Config config = config_of(good());
  EXPECT_EQ(config.instance.name, "edge-1");
  EXPECT_EQ(config.instance.state_dir, "/var/lib/sendonce");
  ASSERT_EQ(config.providers.size(), 1U);
  const ProviderConfig& apns = config.providers.front();
  EXPECT_EQ(apns.kind, ProviderKind::apns);
  EXPECT_EQ(apns.endpoint, "https://api.push.apple.com");
  EXPECT_EQ(apns.team, "ABCDE12345");
  EXPECT_EQ(apns.key.value().text, "cred:apns.p8");
  EXPECT_EQ(to_text(apns.key.value().at), "t.toml:7:60");
  EXPECT_EQ(to_text(apns.at), "t.toml:4:1");
  ASSERT_EQ(config.classes.size(), 1U);
  const ClassConfig& otp = config.classes.front();
  EXPECT_EQ(otp.key_scope, "otp");
  EXPECT_EQ(otp.expires, 3min);
  EXPECT_EQ(otp.retention, 48h);
  EXPECT_EQ(otp.ambiguous_default, AmbiguityPolicy::resend);
  EXPECT_THAT(otp.route.at(Channel::push), ElementsAre("apns"));
  EXPECT_THAT(otp.key, ElementsAre("event_id", "recipient", "channel", "template"));
  EXPECT_EQ(to_text(otp.at), "t.toml:8:1");
  EXPECT_EQ(config.hash.size(), 64U);
}

// Every key there is, away from its default.
std::string every_key() {
  return R"(config_version = 1
[provider.a]
kind = "apns"
endpoint = "https://localhost:2197"
topic = "t"
environment = "sandbox"
auth = { team = "ABCDE12345", key_id = "FGHIJ67890", key = "file:/k.p8", refresh = "40m" }
call = { connect = "1s", total = "8s" }
concurrency = { connections = 3, streams = 50 }
rate = "600/m"
breaker = { open_after = 5, probe = "2s" }
proxy = { url = "http://p:3128", credentials = "cred:p" }
tls = { ca = "/ca.pem" }
[provider.f]
kind = "fcm"
project = "shop"
insecure = true
auth.service_account = "cred:fcm.json"
auth.token_endpoint = "http://127.0.0.1:8080/token"
[class.c]
stream = "IN"
subject = "n.c"
key_scope = "old"
key = ["event_id", "recipient", "channel"]
key_previous = ["event_id", "recipient", "channel", "template"]
priority = "high"
expires = "1h"
claim = "20s"
retention = "4d"
replay = "2d"
ack_wait = "30s"
in_flight = 100
max_ack_pending = 5000
retry = { first = "1s", factor = 3, cap = "1m", attempts = 4, horizon = "30m" }
ambiguous = { default = "give-up", push = "resend" }
route = { push = ["a", "f"] }
collapse = "{event_id}"
events = "exceptions"
rate = "5/s"
)";
}

TEST(Loader, ReadsEveryKeyOfAProvider) {
  const Config config = config_of(every_key());
  const ProviderConfig& a = config.providers.at(0);
  EXPECT_EQ(a.environment, ApnsEnvironment::sandbox);
  EXPECT_EQ(a.endpoint, "https://localhost:2197");
  EXPECT_EQ(a.refresh, 40min);
  EXPECT_EQ(a.connect, 1s);
  EXPECT_EQ(a.total, 8s);
  EXPECT_EQ(a.connections, 3U);
  EXPECT_EQ(a.streams, 50U);
  EXPECT_EQ(a.rate_per_second, 10.0);
  EXPECT_EQ(a.breaker_open_after, 5U);
  EXPECT_EQ(a.breaker_probe, 2s);
  EXPECT_EQ(a.proxy, "http://p:3128");
  EXPECT_EQ(a.proxy_credentials.value().text, "cred:p");
  EXPECT_EQ(a.ca, "/ca.pem");
  const ProviderConfig& f = config.providers.at(1);
  EXPECT_EQ(f.kind, ProviderKind::fcm);
  EXPECT_EQ(f.project, "shop");
  EXPECT_TRUE(f.insecure);
  EXPECT_EQ(f.service_account.value().text, "cred:fcm.json");
  EXPECT_EQ(f.token_endpoint, "http://127.0.0.1:8080/token");
  EXPECT_EQ(f.endpoint, "https://fcm.googleapis.com");
}

TEST(Loader, ReadsEveryKeyOfAClass) {
  const Config config = config_of(every_key());
  const ClassConfig& c = config.classes.at(0);
  EXPECT_EQ(c.stream, "IN");
  EXPECT_EQ(c.key_scope, "old");
  EXPECT_EQ(c.key_previous.size(), 4U);
  EXPECT_EQ(c.priority, Priority::high);
  EXPECT_EQ(c.claim, 20s);
  EXPECT_EQ(c.replay, 48h);
  EXPECT_EQ(c.ack_wait, 30s);
  EXPECT_EQ(c.in_flight, 100U);
  EXPECT_EQ(c.max_ack_pending, 5000U);
  EXPECT_EQ(c.retry.first, 1s);
  EXPECT_EQ(c.retry.factor, 3.0);
  EXPECT_EQ(c.retry.cap, 1min);
  EXPECT_EQ(c.retry.attempts, 4U);
  EXPECT_EQ(c.retry.horizon, 30min);
  EXPECT_EQ(c.ambiguous_default, AmbiguityPolicy::give_up);
  EXPECT_EQ(c.ambiguous.at(Channel::push), AmbiguityPolicy::resend);
  EXPECT_EQ(c.collapse, "{event_id}");
  EXPECT_EQ(c.events, EventsMode::exceptions);
  EXPECT_EQ(c.rate_per_second, 5.0);
}

TEST(Loader, SandboxHasAnEndpointOfItsOwn) {
  const Config config =
      config_of(with_line(good(), 5, "kind = \"apns\"\nenvironment = \"sandbox\""));
  EXPECT_EQ(config.providers.at(0).endpoint, "https://api.sandbox.push.apple.com");
}

TEST(Loader, UnknownKeysNameTheNearest) {
  EXPECT_THAT(findings_of(with_more(good(), "clam = \"25s\"")),
              ElementsAre("t.toml:14:8: error: class.otp.clam: unknown key; did you mean claim?"));
  EXPECT_THAT(findings_of(with_more(good(), "retry = { frist = \"1s\" }")),
              ElementsAre("t.toml:14:19: error: class.otp.retry.frist: unknown key; did you mean "
                          "first?"));
  EXPECT_THAT(findings_of(with_more(good(), "retry = { wibble = 1 }")),
              ElementsAre("t.toml:14:20: error: class.otp.retry.wibble: unknown key; known here: "
                          "first, factor, cap, attempts or horizon"));
  EXPECT_THAT(findings_of(with_more(good(), "[instanse]\nname = \"x\"")),
              ElementsAre("t.toml:14:1: error: instanse: unknown key; did you mean instance?"));
  EXPECT_THAT(findings_of(with_more(good(), "[defaults.klass]")),
              ElementsAre("t.toml:14:1: error: defaults.klass: unknown key; did you mean class?"));
  EXPECT_THAT(findings_of(with_line(good(), 3, "nmae = \"x\"")),
              ElementsAre("t.toml:3:8: error: instance.nmae: unknown key; did you mean name?"));
}

TEST(Loader, UnknownKeysOfProvidersSuggestOnlyTheirKind) {
  EXPECT_THAT(findings_of(with_line(good(), 6, "topic = \"t\"\nprojekt = \"x\"")),
              ElementsAre(HasSubstr("provider.apns.projekt: unknown key; known here: kind")));
  EXPECT_THAT(findings_of(with_line(good(), 6, "topic = \"t\"\nproject = \"x\"")),
              ElementsAre("t.toml:7:11: error: provider.apns.project: has no meaning for this kind "
                          "of provider; remove it, or set kind = \"fcm\""));
}

TEST(Loader, MandatoryKeysSayWhatToChoose) {
  EXPECT_THAT(
      findings_of("config_version = 1\n[provider.p]\nkind = \"apns\"\n[provider.f]\nkind = "
                  "\"fcm\"\n[class.c]\n"),
      ElementsAre(
          "t.toml:2:1: error: provider.p.topic: missing, and has no default; name the app's bundle "
          "id, for example com.example.shop",
          "t.toml:2:1: error: provider.p.auth.team: missing, and has no default; name the team id "
          "of the Apple developer account",
          "t.toml:2:1: error: provider.p.auth.key_id: missing, and has no default; name the id of "
          "the APNs signing key",
          "t.toml:2:1: error: provider.p.auth.key: missing, and has no default; name the .p8 file: "
          "cred:NAME or file:/path",
          "t.toml:4:1: error: provider.f.auth.service_account: missing, and has no default; name "
          "the JSON key file: cred:NAME or file:/path",
          "t.toml:6:1: error: class.c.subject: missing, and has no default; name the class's "
          "subject, for example notify.otp.>",
          "t.toml:6:1: error: class.c.expires: missing, and has no default; choose how old a "
          "message may be when it is sent, for example \"24h\"",
          "t.toml:6:1: error: class.c.retention: missing, and has no default; choose how long a "
          "repeat must be recognised, for example \"11d\"",
          "t.toml:6:1: error: class.c.ambiguous.default: missing, and has no default; choose "
          "resend "
          "(a person may get it twice) or give-up (a person may not get it)",
          "t.toml:6:1: error: class.c.route.push: missing, and has no default; name the providers, "
          "for example route = { push = [\"apns\", \"fcm\"] }"));
}

TEST(Loader, RefusedValuesNameTheirPlace) {
  EXPECT_THAT(findings_of(with_line(good(), 10, "expires = \"3\"")),
              ElementsAre("t.toml:10:11: error: class.otp.expires: the unit is missing; write a "
                          "duration as a whole number and its unit (ms, s, m, h or d), for example "
                          "\"25s\""));
  EXPECT_THAT(
      findings_of(with_line(good(), 10, "expires = 180")),
      ElementsAre("t.toml:10:11: error: class.otp.expires: must be a duration with its unit "
                  "in quotes, is an integer; write for example \"25s\""));
  EXPECT_THAT(findings_of(with_line(good(), 12, "ambiguous = \"resend\"")),
              Contains("t.toml:12:13: error: class.otp.ambiguous: must be a table, is a string; "
                       "write ambiguous = { default = ... }"));
  EXPECT_THAT(
      findings_of(with_line(good(), 12, "ambiguous = { default = \"resent\" }")),
      ElementsAre("t.toml:12:25: error: class.otp.ambiguous.default: not one of the "
                  "choices; did you mean \"resend\"? choose resend, resend-with-key, lookup "
                  "or give-up"));
}

TEST(Loader, RefusedMandatoryKeysAreNotCalledMissing) {
  EXPECT_THAT(findings_of(with_line(good(), 11, "retention = \"soon\"")),
              ElementsAre(Not(HasSubstr("missing, and"))));
}

TEST(Loader, InlineSecretsAreRefusedWithoutEcho) {
  const auto findings = findings_of(with_line(
      good(), 7,
      "auth = { team = \"ABCDE12345\", key_id = \"FGHIJ67890\", key = \"MIGHAgEAMBMGhunter2\" }"));
  ASSERT_THAT(findings,
              ElementsAre(HasSubstr("t.toml:7:60: error: provider.apns.auth.key: is not a "
                                    "reference to a secret; write cred:NAME")));
  EXPECT_THAT(findings.front(), Not(HasSubstr("hunter2")));
}

TEST(Loader, OnlyWhatThisVersionCanDo) {
  EXPECT_THAT(
      findings_of(with_line(good(), 5, "kind = \"sms\"")),
      ElementsAre(
          "t.toml:5:8: error: provider.apns.kind: not available in this version: "
          "apns, fcm, webpush, http, module, smtp; did you mean \"smtp\"? choose apns, fcm, "
          "webpush, http, module or smtp"));
  EXPECT_THAT(findings_of(with_line(good(), 5, "kind = \"pigeon\"")),
              ElementsAre(HasSubstr(
                  "not available in this version: apns, fcm, webpush, http, module, smtp")));
  EXPECT_THAT(findings_of(with_line(good(), 5, "")),
              ElementsAre("t.toml:4:1: error: provider.apns.kind: missing, and has no default; "
                          "choose apns, fcm, webpush, http, module or smtp"));
  EXPECT_THAT(findings_of(with_line(good(), 12,
                                    "ambiguous = { default = \"resend\", in_app = "
                                    "\"give-up\" }")),
              ElementsAre("t.toml:12:44: error: class.otp.ambiguous.in_app: channel not available "
                          "in this version: push, sms, email, webhook; remove it"));
  EXPECT_THAT(
      findings_of(with_line(good(), 13, "route = { push = [\"apns\"], in_app = [\"m\"] }")),
      ElementsAre(HasSubstr("class.otp.route.in_app: channel not available in this version")));
}

TEST(Loader, DefaultsHoldKeyByKey) {
  const Config config = config_of(R"(config_version = 1
[defaults.class]
claim = "33s"
ambiguous = { default = "give-up", push = "resend" }
retry = { first = "1s", attempts = 3 }
route = { push = ["a"] }
retention = "9d"
[provider.a]
kind = "apns"
topic = "t"
auth = { team = "ABCDE12345", key_id = "FGHIJ67890", key = "cred:k" }
[class.one]
subject = "n.one"
expires = "1h"
retry = { attempts = 5 }
ambiguous = { default = "resend" }
[class.two]
subject = "n.two"
expires = "2h"
claim = "44s"
)");
  const ClassConfig& one = config.classes.at(0);
  EXPECT_EQ(one.claim, 33s);
  EXPECT_EQ(one.retry.first, 1s);
  EXPECT_EQ(one.retry.attempts, 5U);
  EXPECT_EQ(one.ambiguous_default, AmbiguityPolicy::resend);
  EXPECT_EQ(one.ambiguous.at(Channel::push), AmbiguityPolicy::resend);
  const ClassConfig& two = config.classes.at(1);
  EXPECT_EQ(two.claim, 44s);
  EXPECT_EQ(two.retry.attempts, 3U);
  EXPECT_EQ(two.ambiguous_default, AmbiguityPolicy::give_up);
  EXPECT_EQ(two.retention, 9 * 24h);
}

TEST(Loader, FaultsOfDefaultsAreReportedOnceAndInPlace) {
  const std::string text = good() +
                           "[class.two]\nsubject = \"n.two\"\nexpires = \"1h\"\nretention = "
                           "\"2d\"\nambiguous.default = \"resend\"\nroute.push = [\"apns\"]\n"
                           "[defaults.class]\n";
  EXPECT_THAT(
      findings_of(text + "claim = \"5\"\nclam = 1\n"),
      ElementsAre(HasSubstr("t.toml:21:9: error: defaults.class.claim: the unit is missing"),
                  HasSubstr("t.toml:22:8: error: defaults.class.clam: unknown key")));
  EXPECT_THAT(findings_of(text + "claim = \"5s\"\n"),
              ElementsAre(HasSubstr("t.toml:21:9: error: class.otp.claim: 5s can end before"),
                          HasSubstr("t.toml:21:9: error: class.two.claim: 5s can end before")));
}

TEST(Loader, ListsProvidersAndClassesInTheOrderOfTheFile) {
  std::string text = "config_version = 1\n";
  std::string wanted;
  for (const char c : std::string_view("zmaq")) {
    text +=
        std::string("[provider.") + c +
        "]\nkind = \"fcm\"\nauth.service_account = \"cred:x\"\n[class." + c + "]\nsubject = \"n." +
        c +
        "\"\nexpires = \"1h\"\nretention = \"2d\"\nambiguous.default = \"resend\"\nroute.push = "
        "[\"" +
        c + "\"]\n";
    wanted += c;
  }
  const Config config = config_of(text);
  std::string providers;
  std::string classes;
  for (const ProviderConfig& provider : config.providers) providers += provider.name;
  for (const ClassConfig& c : config.classes) classes += c.name;
  EXPECT_EQ(providers, wanted);
  EXPECT_EQ(classes, wanted);
}

TEST(Loader, ErrorsLeaveNoConfig) {
  EXPECT_FALSE(load_config_text(with_more(good(), "claim = \"5s\""), "t").config);
  EXPECT_FALSE(load_config_text("nonsense", "t").config);
  EXPECT_FALSE(load_config_text("", "t").config);
  const LoadResult warned = load_config_text(with_more(good(), "ack_wait = \"5s\""), "t");
  EXPECT_TRUE(warned.config);
  EXPECT_EQ(warned.findings.size(), 1U);
}

TEST(Loader, TheSampleIsGood) {
  const LoadResult sample =
      load_config(SENDONCE_SOURCE_DIR "/config/sendonce.toml", Surroundings::ignore);
  EXPECT_THAT(texts(sample.findings), IsEmpty());
  ASSERT_TRUE(sample.config);
  EXPECT_EQ(sample.config->classes.size(), 3U);
}

TEST(Loader, TheSampleLacksOnlyItsCredentials) {
  const LoadResult sample =
      load_config(SENDONCE_SOURCE_DIR "/config/sendonce.toml", Surroundings::look);
  int credentials = 0;
  for (const Finding& finding : sample.findings) {
    const bool credential = finding.text.starts_with("cred:");
    credentials += credential ? 1 : 0;
    // Where the tests run is not where the sample is meant for.
    const bool machine =
        finding.field == "instance.state_dir" || finding.field == "ledger.map_size";
    EXPECT_TRUE(credential || machine) << to_text(finding);
  }
  EXPECT_EQ(credentials, 4);
}

}  // namespace
}  // namespace sendonce::test
