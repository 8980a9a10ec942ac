// The request that configuration describes: values are escaped by their place, credentials are the
// right ones, and what is missing is an error of the message.
#include "classifiers/http/http_provider.hpp"

#include <gmock/gmock.h>

#include "classifiers/http/http_auth.hpp"
#include "plugin/core/text.hpp"
#include "plugin/crypto/digest.hpp"
#include "tests/unit/classifiers/fixtures.hpp"

namespace sendonce::test {
namespace {

using testing::HasSubstr;

TextTemplate parsed(std::string_view text, TemplateUse use = TemplateUse::text) {
  auto t = TextTemplate::parse(text, use);
  EXPECT_TRUE(t.has_value()) << t.error().text;
  return t.value_or(TextTemplate{});
}

JsonTemplate leaf(std::string_view text) {
  return {.type = JsonTemplate::Type::text, .text = parsed(text, TemplateUse::json)};
}

struct Rig {
  HttpOptions options{};
  Sample sample{"+15555550100"};

  Rig() {
    options.endpoint = "https://gate.example.com";
    options.spec.channel = Channel::sms;
    options.spec.path = parsed("/v1/send");
    sample.notification.channel = Channel::sms;
    sample.notification.event_id = "e 1/\xC3\xA4";
    sample.notification.recipient = "u";
  }
  [[nodiscard]] Result<HttpRequest> request(WallTime now = kNow) const {
    auto provider = make_http_provider(options);
    EXPECT_TRUE(provider.has_value()) << provider.error().text;
    return (*provider)->prepare(sample.attempt(), now);
  }
  [[nodiscard]] std::string body() const {
    const auto r = request();
    return r ? r->body : "error: " + r.error().text;
  }
};

TEST(HttpProvider, EscapesByPlace) {
  Rig rig;
  rig.options.spec.path = parsed("/v1/{event_id}/x");
  rig.options.spec.query = {{"to", parsed("{phone}")}, {"a b", parsed("1&2 {recipient}")}};
  rig.options.spec.form = {{"text", parsed("{body} & more")}, {"order", parsed("{data.order}")}};
  const auto r = rig.request();
  ASSERT_TRUE(r.has_value()) << r.error().text;
  EXPECT_EQ(r->path, "/v1/e%201%2F%C3%A4/x?to=%2B15555550100&a%20b=1%262%20u");
  EXPECT_EQ(r->body, "text=Parcel+%228812%22+left.+%26+more&order=8812");
  EXPECT_EQ(r->headers.find("content-type"), "application/x-www-form-urlencoded");
  EXPECT_TRUE(r->url.empty());
}

TEST(HttpProvider, ALifetimeIsWhatIsLeftUntilTheDeadline) {
  Rig rig;
  rig.options.spec.form = {{"ttl", parsed("{ttl}s")}};
  const auto at = [&](WallTime now) {
    const auto r = rig.request(now);
    return r ? r->body : "error: " + r.error().text;
  };
  const WallTime deadline = rig.sample.deadline;
  EXPECT_EQ(at(kNow), "ttl=21600s");
  EXPECT_EQ(at(kNow + seconds(100)), "ttl=21500s");
  EXPECT_EQ(at(deadline - std::chrono::milliseconds(1999)), "ttl=1s");
  EXPECT_EQ(at(deadline - std::chrono::milliseconds(3)), "ttl=1s");
  EXPECT_EQ(at(deadline + hours(1)), "ttl=1s");
  rig.options.spec.ttl_max = hours(1);
  EXPECT_EQ(at(kNow), "ttl=3600s");
  EXPECT_EQ(at(deadline - seconds(3599)), "ttl=3599s");
}

TEST(HttpProvider, ALifetimeStandsAnywhereInARequest) {
  Rig rig;
  rig.options.spec.path = parsed("/v1/{ttl}");
  rig.options.spec.query = {{"t", parsed("{ttl}")}};
  rig.options.spec.headers = {{"ttl", parsed("{ttl}")}};
  JsonTemplate json;
  json.names = {"text", "number"};
  json.children = {leaf("{ttl}"), leaf("{json:ttl}")};
  rig.options.spec.json = json;
  const auto r = rig.request();
  ASSERT_TRUE(r.has_value()) << r.error().text;
  EXPECT_EQ(r->path, "/v1/21600?t=21600");
  EXPECT_EQ(r->headers.find("ttl"), "21600");
  EXPECT_EQ(r->body, R"({"text":"21600","number":21600})");
  EXPECT_FALSE(TextTemplate::parse("{ttl}", TemplateUse::signature).has_value());
  EXPECT_FALSE(TextTemplate::parse("{json:ttl}", TemplateUse::text).has_value());
}

TEST(HttpProvider, WritesJson) {
  Rig rig;
  JsonTemplate json;
  json.names = {"to", "text", "html", "data", "n", "list"};
  JsonTemplate entry{.names = {"type", "value"}, .children = {leaf("html"), leaf("{html?}")}};
  JsonTemplate list{.type = JsonTemplate::Type::array, .children = {leaf("{nid}"), entry}};
  json.children = {leaf("{phone_digits}"),
                   leaf("\"{body}\"\n"),
                   leaf("{html?}"),
                   leaf("{json:data}"),
                   {.type = JsonTemplate::Type::literal, .literal = "1"},
                   list};
  rig.options.spec.json = json;
  EXPECT_EQ(rig.body(),
            R"({"to":"15555550100","text":"\"Parcel \"8812\" left.\"\n","data":{"order":"8812"},)"
            R"("n":1,"list":["f0f1f2f3-f4f5-86f7-b8f9-fafbfcfdfeff"]})");
  rig.sample.notification.content.html = "<b>";
  EXPECT_THAT(rig.body(), HasSubstr(R"("html":"<b>")"));
  EXPECT_THAT(rig.body(), HasSubstr(R"({"type":"html","value":"<b>"})"));
}

TEST(HttpProvider, WhatIsMissingIsAnErrorOfTheMessage) {
  Rig rig;
  rig.options.spec.form = {{"subject", parsed("{data.missing}")}};
  EXPECT_EQ(
      rig.body(),
      "error: notification.data.missing is missing, and the provider's form.subject needs it");
  rig.options.spec.form = {{"subject", parsed("{data.list}")}};
  rig.sample.notification.content.data = {{"list", "[1]"}};
  EXPECT_THAT(rig.body(), HasSubstr("no text, number or truth value"));
  rig.options.spec.form = {{"a", parsed("{data.x?}")}, {"b", parsed("<{data.x?}>")}};
  EXPECT_EQ(rig.body(), "b=%3C%3E");
}

TEST(HttpProvider, AHeaderAndAPathCannotBeBroken) {
  Rig rig;
  rig.options.spec.headers = {{"x-title", parsed("{title}")}};
  rig.sample.notification.content.title = "a\r\nx-evil: 1";
  EXPECT_THAT(rig.body(), HasSubstr("control characters"));
  rig.options.spec.headers = {};
  rig.options.spec.path = parsed("/a/{ref}/b");
  rig.sample.target.ref = "..";
  EXPECT_THAT(rig.body(), HasSubstr("may not stand in a path"));
}

TEST(HttpProvider, OverridesAreRefusedAndNotForgotten) {
  Rig rig;
  rig.sample.notification.overrides = {{ProviderKind::sms, R"({"a":1})"}};
  EXPECT_THAT(rig.body(), HasSubstr("overrides.sms"));
}

TEST(HttpProvider, CredentialsAndTheKey) {
  Rig rig;
  rig.options.secret = Credential("s3:cret");
  const auto header = [&rig](HttpAuth type, std::string_view name) {
    rig.options.spec.auth.type = type;
    const auto r = rig.request();
    return r ? std::string(r->headers.find(name).value_or("")) : "error: " + r.error().text;
  };
  EXPECT_EQ(header(HttpAuth::bearer, "authorization"), "Bearer s3:cret");
  EXPECT_EQ(header(HttpAuth::basic, "authorization"), "Basic czM6Y3JldA==");
  rig.options.spec.auth.user = "u";
  EXPECT_EQ(header(HttpAuth::basic, "authorization"), "Basic dTpzMzpjcmV0");
  rig.options.spec.auth.header = "x-key";
  rig.options.spec.auth.prefix = "Key ";
  EXPECT_EQ(header(HttpAuth::header, "x-key"), "Key s3:cret");
  rig.options.spec.auth.field = "api secret";
  rig.options.spec.auth.type = HttpAuth::form;
  EXPECT_EQ(rig.body(), "api+secret=s3%3Acret");
  rig.options.spec.idempotency = {.header = "idempotency-key"};
  const std::string key = hex(rig.sample.key.view());
  EXPECT_EQ(header(HttpAuth::none, "idempotency-key"), key);
  rig.options.spec.idempotency.style = KeyStyle::sf_string;
  EXPECT_EQ(header(HttpAuth::none, "idempotency-key"), '"' + key + '"');
}

TEST(HttpProvider, SignsWhatItIsToldToSign) {
  Rig rig;
  rig.options.secret = Credential("secret");
  rig.options.spec.form = {{"a", parsed("{recipient}")}};
  rig.options.spec.auth = {
      .type = HttpAuth::hmac,
      .header = "x-signature",
      .prefix = "sha256=",
      .sign = parsed("{timestamp}.{request.method} {request.path}.{request.body}",
                     TemplateUse::signature),
      .timestamp_header = "x-timestamp"};
  const auto r = rig.request();
  ASSERT_TRUE(r.has_value()) << r.error().text;
  const Sha256Digest digest = hmac_sha256("secret", "1795953600.POST /v1/send.a=u");
  const std::string_view bytes(reinterpret_cast<const char*>(digest.data()), digest.size());
  EXPECT_EQ(r->headers.find("x-signature"), "sha256=" + hex(bytes));
  EXPECT_EQ(r->headers.find("x-timestamp"), "1795953600");
  rig.options.spec.auth.encoding = HmacEncoding::base64;
  EXPECT_EQ(rig.request()->headers.find("x-signature"), "sha256=" + base64(bytes));
  EXPECT_EQ(rig.request(kNow + seconds(9))->body, r->body) << "a repeat has the same bytes";
}

TEST(HttpProvider, ClientCredentialsAreFetchedBeforeAnythingIsSent) {
  Rig rig;
  rig.options.secret = Credential("s&");
  rig.options.token_endpoint = "https://id.example.com/token";
  rig.options.spec.auth = {.type = HttpAuth::oauth2, .client_id = "me", .scope = "a b"};
  auto provider = make_http_provider(rig.options);
  ASSERT_TRUE(provider.has_value());
  EXPECT_FALSE((*provider)->ready(kNow));
  const auto ask = (*provider)->needs_auth(kNow);
  ASSERT_TRUE(ask.has_value());
  EXPECT_EQ(ask->url, "https://id.example.com/token");
  EXPECT_FALSE(ask->by_url);
  EXPECT_EQ(ask->body, "grant_type=client_credentials&client_id=me&client_secret=s%26&scope=a+b");
  const Verdict v =
      (*provider)->accept_auth(answer(200, R"({"access_token":"tok","expires_in":3600})"), kNow);
  EXPECT_EQ(v.effect, Effect::sent);
  EXPECT_TRUE((*provider)->ready(kNow));
  const auto r = (*provider)->prepare(rig.sample.attempt(), kNow);
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->headers.find("authorization"), "Bearer tok");
  const Verdict refused = (*provider)->classify(rig.sample.target, answer(401), kNow);
  EXPECT_TRUE(refused.refresh_credential);
  EXPECT_FALSE((*provider)->credential_refused(kNow));
  EXPECT_TRUE((*provider)->needs_auth(kNow).has_value());
}

TEST(HttpProvider, ATargetsOwnUrlMustBeAllowed) {
  Rig rig;
  rig.options.spec.channel = rig.sample.notification.channel = Channel::webhook;
  rig.options.spec.path = {};
  rig.options.spec.version = HttpVersion::one_one;
  rig.options.spec.hosts = {"hooks.example.com", "*.example.net", "*.example.net:8443"};
  rig.options.spec.query = {{"n", parsed("1")}};
  auto provider = make_http_provider(rig.options);
  ASSERT_TRUE(provider.has_value());
  const auto allowed = [&](std::string url) {
    rig.sample.target.destination = Destination(std::move(url));
    return (*provider)->normal_form(rig.sample.target).has_value();
  };
  EXPECT_TRUE(allowed("https://a.example.net:8443/x"));
  EXPECT_TRUE(allowed("https://HOOKS.example.com/x?y=1"));
  EXPECT_TRUE(allowed("https://hooks.example.com:443/x"));
  EXPECT_FALSE(allowed("https://hooks.example.com:8443/admin"));
  EXPECT_FALSE(allowed("https://example.net/x"));
  EXPECT_FALSE(allowed("https://evilexample.net/x"));
  EXPECT_FALSE(allowed("https://hooks.example.com.evil.org/"));
  EXPECT_FALSE(allowed("https://evil.org/?hooks.example.com"));
  EXPECT_FALSE(allowed("http://hooks.example.com/x"));
  EXPECT_FALSE(allowed("https://user@hooks.example.com/x"));
  ASSERT_TRUE(allowed("https://hooks.example.com?y=1"));
  EXPECT_EQ(rig.request()->url, "https://hooks.example.com/?y=1&n=1");
  EXPECT_TRUE(rig.request()->by_url);
}

Rig webhooks() {
  Rig rig;
  rig.options.spec.channel = rig.sample.notification.channel = Channel::webhook;
  rig.options.spec.path = {};
  rig.options.spec.version = HttpVersion::one_one;
  rig.options.spec.hosts = {"hooks.example.com"};
  rig.sample.target.destination = Destination("HTTPS://Hooks.Example.com/a/../b");
  return rig;
}

TEST(HttpProvider, ASchemeInAnyCaseIsCalled) {
  const auto r = webhooks().request();
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->url, "https://hooks.example.com/a/../b");
}

// One receiver with a broken certificate, or that asks for a week, holds nobody else.
TEST(HttpProvider, AReceiverHoldsItselfAlone) {
  const Rig rig = webhooks();
  auto provider = make_http_provider(rig.options);
  ASSERT_TRUE(provider.has_value());
  const Target& target = rig.sample.target;
  EXPECT_EQ((*provider)->origin_of(target).part, "hooks.example.com");
  const CallResult broken = CallFailure{.effect = Effect::not_sent, .cause = Cause::tls};
  const std::vector<CallResult> results{broken, answer(302), answer(401),
                                        answer(429, "", {{"retry-after", "604800"}})};
  for (const CallResult& result : results) {
    const Verdict v = (*provider)->classify(target, result, kNow);
    EXPECT_NE(v.scope, FaultScope::provider) << v.reason;
    if (v.scope == FaultScope::part) {
      EXPECT_EQ(v.part, "hooks.example.com") << v.reason;
    }
  }
  EXPECT_EQ((*provider)->classify(target, answer(503), kNow).part, "hooks.example.com");
}

TEST(HttpProvider, ALongHeaderIsAnErrorOfTheMessage) {
  Rig rig;
  rig.options.spec.headers = {{"x-body", parsed("{body}")}};
  rig.sample.notification.content.body = std::string(70'000, 'x');
  const auto r = rig.request();
  ASSERT_FALSE(r.has_value());
  EXPECT_THAT(r.error().text, HasSubstr("headers.x-body"));
}

TEST(HttpProvider, ACredentialInTheBodyIsMarked) {
  Rig rig;
  rig.options.spec.form = {{"text", parsed("hello")}};
  rig.options.spec.auth = {.type = HttpAuth::form, .field = "api_secret"};
  rig.options.secret = Credential("s3cret");
  const auto r = rig.request();
  ASSERT_TRUE(r.has_value()) << r.error().text;
  EXPECT_EQ(r->body.substr(0, r->credential_at), "text=hello");
}

// Keycloak's tokens live for five minutes by default.
TEST(HttpProvider, ShortLivedTokensAreUsedAndNotFetchedAllTheTime) {
  for (const int life : {10, 60, 300}) {
    Rig rig;
    rig.options.spec.auth = {.type = HttpAuth::oauth2};
    rig.options.token_endpoint = "https://login.example.com/token";
    rig.options.secret = Credential("s3cret");
    auto provider = make_http_provider(rig.options);
    ASSERT_TRUE(provider.has_value()) << provider.error().text;
    ASSERT_TRUE((*provider)->needs_auth(kNow).has_value());
    const std::string token = R"({"access_token":"tok","expires_in":)" + std::to_string(life) + "}";
    EXPECT_EQ((*provider)->accept_auth(answer(200, token), kNow).name, VerdictClass::accepted);
    EXPECT_TRUE((*provider)->ready(kNow)) << life;
    EXPECT_FALSE((*provider)->needs_auth(kNow + std::chrono::seconds(life) / 2).has_value())
        << life;
    EXPECT_TRUE((*provider)->needs_auth(kNow + std::chrono::seconds(life) * 4 / 5).has_value())
        << life;
  }
}

TEST(HttpProvider, SignsForAmazonOverBothVersions) {
  Rig rig;
  rig.options.endpoint = "https://email.us-east-1.amazonaws.com:443/";
  rig.options.spec.json = JsonTemplate{};
  rig.options.spec.auth = {.type = HttpAuth::aws_sigv4, .region = "us-east-1", .service = "ses"};
  rig.options.secret = Credential("AKID:s3cret:token");
  std::string of_two;
  for (const HttpVersion version : {HttpVersion::two, HttpVersion::one_one}) {
    rig.options.spec.version = version;
    const auto r = rig.request();
    ASSERT_TRUE(r.has_value()) << r.error().text;
    const std::string authorization(r->headers.find("authorization").value_or(""));
    EXPECT_THAT(authorization,
                HasSubstr("Credential=AKID/20261129/us-east-1/ses/aws4_request, "
                          "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, "));
    EXPECT_EQ(r->headers.find("x-amz-date"), "20261129T120000Z");
    if (version == HttpVersion::two) of_two = authorization;
    EXPECT_EQ(authorization, of_two);
  }
  rig.options.secret = Credential("no-pair");
  EXPECT_FALSE(make_http_provider(rig.options).has_value());
}

TEST(HttpProvider, PushIsOfAnApp) {
  Rig rig;
  rig.options.spec.channel = Channel::push;
  rig.options.spec.app = "huawei:1";
  rig.options.spec.form = {{"token", parsed("{token}")}, {"data", parsed("{text:data?}")}};
  rig.sample.notification.channel = Channel::push;
  rig.sample.target.destination = Destination("AAWW+1");
  EXPECT_EQ(rig.body(), "token=AAWW%2B1&data=%7B%22order%22%3A%228812%22%7D");
  rig.sample.notification.content.data.clear();
  EXPECT_EQ(rig.body(), "token=AAWW%2B1");
  const auto provider = make_http_provider(rig.options);
  ASSERT_TRUE(provider.has_value());
  EXPECT_EQ((*provider)->app_scope(), "push:huawei:1");
  EXPECT_EQ((*provider)->capabilities().kind, ProviderKind::push);
  EXPECT_TRUE((*provider)->normal_form(rig.sample.target).has_value());
  rig.sample.target.p256dh = Destination("key");
  EXPECT_FALSE((*provider)->normal_form(rig.sample.target).has_value()) << "a subscription";
}

TEST(HttpProvider, SaysWhatItCanDo) {
  Rig rig;
  auto plain = make_http_provider(rig.options);
  EXPECT_FALSE((*plain)->capabilities().idempotency_key);
  EXPECT_EQ((*plain)->capabilities().kind, ProviderKind::sms);
  EXPECT_FALSE((*plain)->capabilities().acts_on_whole);
  rig.options.spec.idempotency.header = "idempotency-key";
  auto keyed = make_http_provider(rig.options);
  EXPECT_TRUE((*keyed)->capabilities().idempotency_key);
}

}  // namespace
}  // namespace sendonce::test
