// kind = "http": what is refused, and at which place.
#include <gmock/gmock.h>

#include "config/effective.hpp"
#include "tests/unit/config/fixture.hpp"

namespace sendonce::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Its first line is number 14.
constexpr std::string_view kGate = R"([provider.gate]
kind = "http"
channel = "sms"
endpoint = "https://gate.example.com"
path = "/v1/{ref?}"
json = { to = "{phone}", text = "{body}", n = 1, on = true, list = ["{title?}"] }
receipt = { pointer = "/id" }
answers = [{ status = [400, "5xx"], pointer = "/code", equals = 7, class = "config_error" }]
)";
constexpr std::string_view kClass = R"([class.sms]
subject = "notify.sms.>"
expires = "3m"
retention = "2d"
ambiguous = { default = "give-up" }
route = { sms = ["gate"] }
)";

std::string text_with(std::string_view from, std::string_view to, std::string_view more = {}) {
  std::string gate = std::string(kGate) + std::string(more) + "\n" + std::string(kClass);
  if (!from.empty()) gate.replace(gate.find(from), from.size(), to);
  return good() + gate;
}

std::vector<std::string> with(std::string_view from, std::string_view to,
                              std::string_view more = {}) {
  return findings_of(text_with(from, to, more));
}
std::vector<std::string> more(std::string_view line) {
  return with("", "", line);
}

TEST(CheckHttp, AGoodOneHasNoFinding) {
  EXPECT_THAT(with("", ""), IsEmpty());
}

TEST(CheckHttp, TheEffectiveFormIsReadAsTheSame) {
  const Config config = config_of(text_with(
      "", "",
      "auth = { type = \"hmac\", secret = \"cred:s\", header = \"X-Sig\", sign = \"{key}\" }\n"
      "query = { t = \"{ttl}\" }\nttl_max = \"10h\""));
  const LoadResult again = load_config_text(effective_toml(config), "effective.toml");
  ASSERT_TRUE(again.config.has_value());
  EXPECT_EQ(again.config->providers[1].http, config.providers[1].http);
  EXPECT_EQ(again.config->providers[1].kind, ProviderKind::sms);
  EXPECT_EQ(again.config->hash, config.hash);
}

TEST(CheckHttp, TemplatesAreRefusedWhereTheyStand) {
  EXPECT_THAT(with("{body}", "{bdoy}"),
              ElementsAre("t.toml:19:33: error: provider.gate.json: character 1: there is no such "
                          "value, did you mean {body}?; docs/providers.md lists the values"));
  EXPECT_THAT(with("{phone}", "{email}"),
              Contains(HasSubstr("{email} is no value of the channel sms")));
  EXPECT_THAT(with("{phone}", "x"), ElementsAre(HasSubstr("nowhere names its destination")));
  EXPECT_THAT(more("headers = { Host = \"x\" }"),
              ElementsAre(HasSubstr("belongs to the connection")));
  EXPECT_THAT(more("headers = { \"a b\" = \"x\" }"),
              ElementsAre(HasSubstr("not the name of a header")));
}

TEST(CheckHttp, AnswersClaimNoMoreThanTheySay) {
  const auto answers = [](std::string_view rule) {
    return with(
        "{ status = [400, \"5xx\"], pointer = \"/code\", equals = 7, class = \"config_error\" }",
        rule);
  };
  EXPECT_THAT(answers("{ status = \"2xx\", class = \"accepted\" }"), IsEmpty());
  EXPECT_THAT(answers("{ status = 410, class = \"token_terminal\" }"), IsEmpty());
  EXPECT_THAT(answers("{ status = \"4xx\", pointer = \"/message\", class = \"token_terminal\" }"),
              ElementsAre(HasSubstr("nor that a member is there")));
  EXPECT_THAT(answers("{ status = 404, class = \"token_terminal\" }"),
              ElementsAre(HasSubstr("a status alone does not end a destination")));
  EXPECT_THAT(answers("{ status = 500, class = \"accepted\" }"),
              ElementsAre(HasSubstr("only a 2xx is accepted")));
  EXPECT_THAT(answers("{ status = 200, class = \"payload_error\" }"),
              ElementsAre(HasSubstr("a 2xx says that it was taken")));
  EXPECT_THAT(answers("{ status = 500, class = \"ambiguous\", effect = \"not_sent\" }"),
              ElementsAre(HasSubstr("may have been sent")));
  EXPECT_THAT(answers("{ class = \"throttled\" }"), ElementsAre(HasSubstr("every answer")));
  EXPECT_THAT(answers("{ status = 400 }"), ElementsAre(HasSubstr("has no class")));
  EXPECT_THAT(answers("{ status = 99, class = \"throttled\" }"),
              ElementsAre(HasSubstr("not a status")));
  EXPECT_THAT(answers("{ staus = 400, class = \"throttled\" }"),
              ElementsAre(HasSubstr("did you mean status?")));
  EXPECT_THAT(answers("{ status = 400, equals = 3, class = \"throttled\" }"),
              ElementsAre(HasSubstr("need a pointer")));
  EXPECT_THAT(with("receipt = { pointer = \"/id\" }", "method = \"PUT\""),
              ElementsAre(HasSubstr("no answer would ever count as accepted")));
}

constexpr std::string_view kPush = R"([provider.huawei]
kind = "http"
channel = "push"
app = "huawei:1"
endpoint = "https://push.example.com"
path = "/v1/1/messages:send"
json = { token = ["{token}"], text = "{body}" }
receipt = { pointer = "/requestId" }
[class.news]
subject = "notify.news.>"
expires = "3m"
retention = "2d"
ambiguous = { default = "give-up" }
route = { push = ["huawei"] }
)";

std::vector<std::string> push_with(std::string_view from, std::string_view to) {
  std::string text(kPush);
  text.replace(text.find(from), from.size(), to);
  return findings_of(good() + text);
}

TEST(CheckHttp, PushNamesItsAppAndItsToken) {
  EXPECT_THAT(push_with("", ""), IsEmpty());
  EXPECT_THAT(push_with("app = \"huawei:1\"\n", ""), ElementsAre(HasSubstr("app: missing")));
  EXPECT_THAT(push_with("{token}", "x"), ElementsAre(HasSubstr("put {token} into it")));
  EXPECT_THAT(push_with("{token}", "{phone}"),
              Contains(HasSubstr("{phone} is no value of the channel push")));
  EXPECT_THAT(push_with("push = [", "sms = ["),
              ElementsAre(HasSubstr("cannot serve the channel sms")));
  EXPECT_THAT(more("app = \"x\""), ElementsAre(HasSubstr("app: has no effect")));
}

TEST(CheckHttp, LinesBeforeABuiltInTableClaimNoReceipt) {
  const auto apns = [](std::string_view rule) {
    std::string text = good();
    const std::string_view first = "kind = \"apns\"\n";
    const std::string line = "answers = [" + std::string(rule) + "]\n";
    text.insert(text.find(first) + first.size(), line);
    return findings_of(text);
  };
  EXPECT_THAT(apns(R"({ pointer = "/reason", equals = "New", class = "throttled" })"), IsEmpty());
  EXPECT_THAT(apns(R"({ pointer = "/reason", equals = "New", class = "token_terminal" })"),
              IsEmpty());
  EXPECT_THAT(apns(R"({ status = 400, class = "token_terminal" })"),
              ElementsAre(HasSubstr("a status alone does not end a destination")));
  EXPECT_THAT(apns(R"({ status = "2xx", class = "accepted" })"),
              ElementsAre(HasSubstr("only the provider's own receipt")));
}

TEST(CheckHttp, AwsNamesRegionAndService) {
  EXPECT_THAT(more("auth = { type = \"aws-sigv4\", secret = \"cred:s\" }"),
              ElementsAre(HasSubstr("auth.region: missing"), HasSubstr("auth.service: missing")));
  EXPECT_THAT(more("auth = { type = \"aws-sigv4\", secret = \"cred:s\", region = "
                   "\"eu-central-1\", service = \"ses\" }"),
              IsEmpty());
  EXPECT_THAT(more("auth = { type = \"aws-sigv4\", secret = \"cred:s\", region = "
                   "\"eu/central\", service = \"ses\" }"),
              ElementsAre(HasSubstr("not lower-case letters")));
}

TEST(CheckHttp, AuthNamesWhatItNeeds) {
  EXPECT_THAT(more("auth = { type = \"bearer\" }"), ElementsAre(HasSubstr("auth.secret: missing")));
  EXPECT_THAT(more("auth = { type = \"header\", secret = \"cred:s\" }"),
              ElementsAre(HasSubstr("auth.header: missing")));
  EXPECT_THAT(more("auth = { type = \"oauth2\", secret = \"cred:s\" }"),
              ElementsAre(HasSubstr("auth.client_id"), HasSubstr("auth.token_endpoint")));
  EXPECT_THAT(more("auth = { type = \"form\", secret = \"cred:s\", field = \"k\" }"),
              ElementsAre(HasSubstr("the body is JSON")));
}

TEST(CheckHttp, AWebhookCallsOnlyKnownHosts) {
  const auto hook = [](std::string_view more) {
    return findings_of(good() + "[provider.hook]\nkind = \"http\"\nchannel = \"webhook\"\n" +
                       "answers = [{ status = \"2xx\", class = \"accepted\" }]\n" +
                       std::string(more) +
                       "[class.hook]\nsubject = \"notify.hook.>\"\nexpires = \"3m\"\n"
                       "retention = \"2d\"\nambiguous = { default = \"give-up\" }\n"
                       "route = { webhook = [\"hook\"] }\n");
  };
  EXPECT_THAT(hook("version = \"1.1\"\nhosts = [\"*.example.com\"]\n"), IsEmpty());
  EXPECT_THAT(hook("version = \"1.1\"\n"), ElementsAre(HasSubstr("hosts: missing")));
  EXPECT_THAT(hook("version = \"1.1\"\nhosts = [\"*\"]\n"),
              ElementsAre(HasSubstr("is no host name")));
  EXPECT_THAT(hook("hosts = [\"a.example.com\"]\n"), ElementsAre(HasSubstr("HTTP/2 goes to one")));
}

TEST(CheckHttp, ResendWithKeyNeedsAKeyThatIsKnownForLongEnough) {
  const auto keyed = [](std::string_view idempotency) {
    std::string text = text_with("give-up", "resend-with-key", idempotency);
    return findings_of(text);
  };
  EXPECT_THAT(keyed(""), ElementsAre(HasSubstr("nothing to do \"resend-with-key\" with")));
  EXPECT_THAT(keyed("idempotency = { header = \"Idempotency-Key\", window = \"24h\" }"), IsEmpty());
  EXPECT_THAT(keyed("idempotency = { header = \"Idempotency-Key\", window = \"3m\" }"),
              ElementsAre(HasSubstr("remembers keys for 3m")));
  EXPECT_THAT(keyed("idempotency = { header = \"Idempotency-Key\" }"),
              Contains(HasSubstr("idempotency.window: missing")));
  EXPECT_THAT(keyed("idempotency = { header = \"I-K\", window = \"24h\", replays_errors = true }"),
              ElementsAre(HasSubstr("replays_errors")));
  EXPECT_THAT(findings_of(text_with("give-up", "lookup")),
              ElementsAre(HasSubstr("nothing to do \"lookup\" with")));
}

// The endpoint would see another request under the same key.
TEST(CheckHttp, ResendWithKeyIsRefusedWhereTheRequestShrinks) {
  const auto keyed = [](std::string_view more) {
    return findings_of(text_with(
        "give-up", "resend-with-key",
        "idempotency = { header = \"Idempotency-Key\", window = \"24h\" }\n" + std::string(more)));
  };
  const auto refused = ElementsAre(
      HasSubstr("ambiguous.default: the request of provider gate holds {ttl}, which "
                "shrinks: a repeat would be another request under the same key; write a "
                "fixed lifetime in place of {ttl}, or choose give-up or resend"));
  EXPECT_THAT(keyed("query = { t = \"{ttl}\" }"), refused);
  EXPECT_THAT(keyed("headers = { TTL = \"{ttl}\" }"), refused);
  EXPECT_THAT(keyed("query = { t = \"60\" }"), IsEmpty());
  EXPECT_THAT(more("query = { t = \"{ttl}\" }"), IsEmpty());
}

TEST(CheckHttp, ALifetimeHasItsBoundAndItsPlace) {
  EXPECT_THAT(more("query = { t = \"{ttl}\" }\nttl_max = \"10h\""), IsEmpty());
  EXPECT_THAT(more("ttl_max = \"10h\""), ElementsAre(HasSubstr("ttl_max: has no effect")));
  EXPECT_THAT(more("query = { t = \"{ttl}\" }\nttl_max = \"100ms\""),
              ElementsAre(HasSubstr("ttl_max: ")));
  EXPECT_THAT(
      more("auth = { type = \"hmac\", secret = \"cred:s\", header = \"X\", sign = \"{ttl}\" }"),
      Contains(HasSubstr("{ttl} may not be signed")));
}

// A lookup that asks by the key, as a line of the provider's table.
std::string lookup(std::string_view from = {}, std::string_view to = {}) {
  std::string line =
      R"(lookup = { path = "/v1/find", query = { ref = "{key}" }, lag = "30s", window = "24h", )"
      R"(receipt = "/list/0/id", answers = [{ status = 200, pointer = "/count", equals = 0, )"
      R"(is = "absent" }] })";
  if (!from.empty()) line.replace(line.find(from), from.size(), to);
  return line;
}
std::vector<std::string> looked(std::string_view from = {}, std::string_view to = {}) {
  std::string text = text_with("give-up", "lookup", lookup(from, to));
  constexpr std::string_view kBody = ", n = 1";
  text.replace(text.find(kBody), kBody.size(), R"(, ref = "{key}")");
  return findings_of(text);
}

TEST(CheckHttp, LookupNeedsAProviderThatCanBeAsked) {
  EXPECT_THAT(looked(), IsEmpty());
  EXPECT_THAT(looked("/v1/find", "v1/find"), ElementsAre(HasSubstr("does not begin with /")));
  EXPECT_THAT(looked("/v1/find", "/v1/find?x"), ElementsAre(HasSubstr("into lookup.query")));
  EXPECT_THAT(looked("path = \"/v1/find\", ", ""),
              Contains(HasSubstr("provider.gate.lookup.path: missing")));
  EXPECT_THAT(looked("lag = \"30s\", ", ""), ElementsAre(HasSubstr("lookup.lag: missing")));
  EXPECT_THAT(looked("window = \"24h\", ", ""), Contains(HasSubstr("lookup.window: missing")));
  EXPECT_THAT(looked("24h", "8m"), ElementsAre(HasSubstr("finds messages for 8m")));
  EXPECT_THAT(looked("{key}", "{recipient}"), ElementsAre(HasSubstr("which delivery is meant")));
  EXPECT_THAT(looked("{key}", "{nid}"), ElementsAre(HasSubstr("which delivery is meant")));
  EXPECT_THAT(looked("\"{key}\"", "\"{nid}{phone}\""),
              ElementsAre(HasSubstr("asks by {nid}, which the request does not carry")));
  EXPECT_THAT(looked("{key}", "{key}{email}"),
              Contains(HasSubstr("{email} is no value of the channel sms")));
  EXPECT_THAT(findings_of(text_with("give-up", "lookup", lookup())),
              ElementsAre(HasSubstr("asks by {key}, which the request does not carry")));
}

TEST(CheckHttp, AnswersToALookupProveNoMoreThanTheySay) {
  const auto answers = [](std::string_view rule) {
    return looked("{ status = 200, pointer = \"/count\", equals = 0, is = \"absent\" }", rule);
  };
  EXPECT_THAT(answers("{ status = 404, is = \"absent\" }"), IsEmpty());
  EXPECT_THAT(answers("{ status = [404, 410], is = \"absent\" }"), IsEmpty());
  EXPECT_THAT(answers("{ status = \"2xx\", text = \"none\", is = \"absent\" }"), IsEmpty());
  for (const char* status : {"200", "\"4xx\"", "401", "429", "503", "[404, 500]"})
    EXPECT_THAT(answers("{ status = " + std::string(status) + ", is = \"absent\" }"),
                ElementsAre(HasSubstr("does not say that it is not there")))
        << status;
  EXPECT_THAT(answers("{ text = \"none\", is = \"absent\" }"),
              ElementsAre(HasSubstr("does not say that it is not there")));
  EXPECT_THAT(answers("{ status = 404, is = \"found\" }"), ElementsAre(HasSubstr("only a 2xx")));
  EXPECT_THAT(answers("{ status = 404, is = \"gone\" }"), ElementsAre(HasSubstr("t.toml:22:")));
  EXPECT_THAT(answers("{ status = 404 }"), ElementsAre(HasSubstr("does not say what such")));
  EXPECT_THAT(answers("{ status = 404, class = \"accepted\" }"),
              ElementsAre(HasSubstr("is no part of an answer")));
  EXPECT_THAT(answers("{ status = 500, is = \"undecided\" }"),
              ElementsAre(HasSubstr("no answer would ever say that a message is not there")));
  EXPECT_THAT(looked("receipt = \"/list/0/id\", ", ""),
              ElementsAre(HasSubstr("no answer would ever say that a message is there")));
}

TEST(CheckHttp, ALookupSurvivesTheEffectiveForm) {
  const Config config = config_of(text_with("n = 1", "ref = \"{key}\"", lookup()));
  const LoadResult again = load_config_text(effective_toml(config), "effective.toml");
  ASSERT_TRUE(again.config.has_value());
  EXPECT_EQ(again.config->providers[1].http.lookup, config.providers[1].http.lookup);
  EXPECT_FALSE(config.providers[1].http.lookup.answers.empty());
}

TEST(CheckHttp, APushProviderHasNoneOfItsKeys) {
  EXPECT_THAT(findings_of(with_line(good(), 6, "topic = \"t\"\npath = \"/x\"")),
              ElementsAre(HasSubstr("has no meaning for this kind of provider; remove it, or set "
                                    "kind = \"http\"")));
}

}  // namespace
}  // namespace sendonce::test
