// What a module says is believed as far as it can be, and never where it would be dangerous.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/classifiers/module_fixture.hpp"

namespace sendonce::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

// ---- tables and instances ----------------------------------------------------------------------

TEST_F(ModuleProviderTest, TablesThatCannotBeUsedAreRefusedWithTheCure) {
  sendonce_provider_api api = puppet_api();
  EXPECT_THAT(look_at(nullptr).error().text, HasSubstr("update sendonce"));
  api.struct_size = offsetof(sendonce_provider_api, classify);
  EXPECT_THAT(look_at(&api).error().text, HasSubstr("set struct_size"));
  api.struct_size = 0;
  EXPECT_FALSE(look_at(&api).has_value());
  api = puppet_api();
  api.classify = nullptr;
  EXPECT_THAT(look_at(&api).error().text, HasSubstr("NULL"));
  api = puppet_api();
  for (const char* name : {static_cast<const char*>(nullptr), "", "two words", "\xff"}) {
    api.name = name;
    EXPECT_THAT(look_at(&api).error().text, HasSubstr("name or version"));
  }
  const std::string endless(100'000, 'x');
  api.name = endless.c_str();
  EXPECT_FALSE(look_at(&api).has_value());
}

TEST_F(ModuleProviderTest, AShorterTableHasNoQueryAndWorks) {
  sendonce_provider_api api = puppet_api();
  api.struct_size = offsetof(sendonce_provider_api, query);
  api.query = [](sendonce_provider*, const char*) -> const void* {
    ADD_FAILURE() << "it lies beyond the table";
    return nullptr;
  };
  ModuleOptions o = options();
  o.table = look_at(&api).value();
  make(o);
  EXPECT_FALSE(provider_->has_auth());
  EXPECT_TRUE(provider_->ready(kNow));
  provider_.reset();
}

TEST_F(ModuleProviderTest, SettingsReachTheModule) {
  make();
  EXPECT_THAT(puppet().settings,
              ElementsAre(Pair("sender", "Shop"), Pair("token", "s3cr3t-token")));
}

TEST_F(ModuleProviderTest, RefusedSettingsAreSaidInItsWordsButNeverItsSecrets) {
  puppet().create_rc = SENDONCE_E_INVALID;
  puppet().error = "sender is longer than 11 letters";
  EXPECT_THAT(refused(), HasSubstr("puppet 0.1 refuses its settings: sender is longer than 11"));
  puppet().error = "the token s3cr3t-token is none";
  EXPECT_THAT(refused(), Not(HasSubstr("s3cr3t-token")));
  puppet().error = "bad \x01\xff text\n";
  EXPECT_THAT(refused(), HasSubstr("bad ?? text?"));
  puppet().error = std::string(100'000, 'x');  // unterminated, and longer than the buffer
  puppet().end_error = false;
  EXPECT_LT(refused().size(), 400U);
  puppet().error = "";
  EXPECT_THAT(refused(), HasSubstr("gives no reason"));
}

TEST_F(ModuleProviderTest, OkWithoutAnInstanceIsRefused) {
  puppet().makes_nothing = true;
  EXPECT_THAT(refused(), HasSubstr("made no instance"));
}

TEST_F(ModuleProviderTest, TheChannelMustBeOneThatItServes) {
  puppet().description.channels = 1U << SENDONCE_CHANNEL_EMAIL;
  EXPECT_THAT(refused(), HasSubstr("serves email"));
  puppet().description.channels = 0;
  EXPECT_THAT(refused(), HasSubstr("serves no channel"));
  EXPECT_EQ(puppet().alive, 0);
}

TEST_F(ModuleProviderTest, AKeyIsUsedOnlyWhereModuleAndOperatorKnowOfIt) {
  ModuleOptions o = options();
  o.idempotency = {.header = "idempotency-key", .window = hours(24)};
  EXPECT_THAT(refused(o), HasSubstr("recognises no repeats"));
  puppet().description.idempotency_header = c("X-Request-Id");
  EXPECT_THAT(refused(o), HasSubstr("X-Request-Id"));
  puppet().description.idempotency_header = c("Idempotency-Key");
  puppet().description.idempotency_window_ms = 3'600'000;
  EXPECT_THAT(refused(o), HasSubstr("3600 s only"));
  puppet().description.idempotency_window_ms = 24 * 3'600'000;
  make(o);
  EXPECT_TRUE(provider_->capabilities().idempotency_key);
  const auto request = prepare();
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->headers.find("idempotency-key")->size(), 64U);
  const sendonce_header own{c("idempotency-key"), c("mine"), 0, 0};
  puppet().request.headers = &own;
  puppet().request.header_count = 1;
  EXPECT_THAT(prepare_error(), HasSubstr("ours to set"));
}

TEST_F(ModuleProviderTest, WhatItSaysOfItselfIsTakenCarefully) {
  make();
  EXPECT_FALSE(provider_->capabilities().acts_on_whole);
  EXPECT_FALSE(provider_->capabilities().idempotency_key);
  EXPECT_EQ(provider_->app_scope(), "sms");
  puppet().description.flags = SENDONCE_PROVIDER_ACTS_ON_WHOLE | 0xFFFFFF00U;
  make();
  EXPECT_TRUE(provider_->capabilities().acts_on_whole);
}

// ---- requests ----------------------------------------------------------------------------------

TEST_F(ModuleProviderTest, ADeliveryIsSeenWhole) {
  make();
  const auto request = prepare();
  ASSERT_TRUE(request.has_value()) << request.error().text;
  EXPECT_EQ(puppet().seen, std::string(kPhone) +
                               "  On its way Parcel \"8812\" left. order-8812 00010203 f0f1f2f3 "
                               "order=\"8812\"");
  EXPECT_EQ(request->method, "POST");
  EXPECT_EQ(request->path, "/send");
  EXPECT_EQ(request->body, "hello");
  EXPECT_EQ(request->url, "");
}

TEST_F(ModuleProviderTest, OverHttp11TheUrlIsWhole) {
  ModuleOptions o = options();
  o.version = HttpVersion::one_one;
  o.endpoint = "https://gate.example.com:8443/";
  puppet().request.url = c("https://gate.example.com:8443/v1/send?x=1");
  make(o);
  const auto request = prepare();
  ASSERT_TRUE(request.has_value()) << request.error().text;
  EXPECT_TRUE(request->by_url);
  EXPECT_EQ(request->url, "https://gate.example.com:8443/v1/send?x=1");
}

TEST_F(ModuleProviderTest, ARequestGoesNowhereButToItsEndpoint) {
  make();
  for (const char* url :
       {"", "https://evil.example.org/", "https://gate.example.com.evil.org/",
        "https://gate.example.com@evil.org/", "https://gate.example.com:444/",
        "http://gate.example.com/", "//evil.org/", "https://gate.example.com//evil.org/", "send",
        "/a b", "/a#b", "/a\r\nx: y", "/a\\b", "/\xc3\xbc", "HTTPS://GATE.EXAMPLE.COM/"}) {
    puppet().request.url = c(url);
    EXPECT_THAT(prepare_error(), HasSubstr("url")) << url;
  }
  const std::string endless = "/" + std::string(9000, 'x');
  puppet().request.url = c(endless.c_str());
  EXPECT_THAT(prepare_error(), HasSubstr("8 KiB"));
  puppet().request.url = {nullptr, 5};
  EXPECT_THAT(prepare_error(), HasSubstr("NULL"));
  puppet().request.url = c("https://gate.example.com?x=1");
  EXPECT_EQ(prepare()->path, "/?x=1");
}

TEST_F(ModuleProviderTest, HeadersOfTheConnectionAreNotItsToSet) {
  make();
  sendonce_header header{c("Host"), c("evil.org"), 0, 0};
  puppet().request.headers = &header;
  puppet().request.header_count = 1;
  for (const char* name : {"Host", "content-length", "Transfer-Encoding", "connection", "TE",
                           "upgrade", "proxy-authorization", "accept-encoding"}) {
    header.name = c(name);
    EXPECT_THAT(prepare_error(), HasSubstr("belongs to the connection")) << name;
  }
  for (const char* name : {"", ":path", "a b", "x\r\ny", "\xff"}) {
    header.name = c(name);
    EXPECT_THAT(prepare_error(), HasSubstr("name is none")) << name;
  }
  header.name = c("x-a");
  for (const char* value : {"a\r\nb: c", " a", "a ", "\x01"}) {
    header.value = c(value);
    EXPECT_THAT(prepare_error(), HasSubstr("control characters"));
  }
  header.value = {nullptr, 3};
  EXPECT_THAT(prepare_error(), HasSubstr("NULL"));
  puppet().request.headers = nullptr;
  EXPECT_THAT(prepare_error(), HasSubstr("headers is NULL"));
  puppet().request.header_count = UINT64_MAX;
  EXPECT_THAT(prepare_error(), HasSubstr("64 headers"));
}

TEST_F(ModuleProviderTest, SensitiveHeadersStayOutOfTheCompressionTable) {
  make();
  const std::array<sendonce_header, 3> headers{{{c("Authorization"), c("Bearer x"), 0, 0},
                                                {c("X-Sig"), c("y"), SENDONCE_HEADER_SENSITIVE, 0},
                                                {c("content-type"), c("text/plain"), 0, 0}}};
  puppet().request.headers = headers.data();
  puppet().request.header_count = headers.size();
  const auto request = prepare();
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->headers[0].name, "authorization");
  EXPECT_TRUE(request->headers[0].never_index);
  EXPECT_TRUE(request->headers[1].never_index);
  EXPECT_FALSE(request->headers[2].never_index);
}

TEST_F(ModuleProviderTest, MethodsAndBodiesHaveLimits) {
  make();
  for (const char* method : {"DELETE", "post", "CONNECT", "P OST"}) {
    puppet().request.method = c(method);
    EXPECT_THAT(prepare_error(), HasSubstr("method is none"));
  }
  puppet().request.method = c("GET");
  EXPECT_THAT(prepare_error(), HasSubstr("GET has no body"));
  puppet().request.method = c("PUT");
  puppet().request.body_credential_at = 2;
  EXPECT_EQ(prepare()->credential_at, 2U);
  puppet().request.body_credential_at = 6;
  EXPECT_THAT(prepare_error(), HasSubstr("past the body"));
  puppet().request.body = {"x", UINT64_MAX};
  EXPECT_THAT(prepare_error(), HasSubstr("1 MiB"));
}

TEST_F(ModuleProviderTest, ItsRefusalsTellNothingPersonal) {
  make();
  puppet().prepare_rc = SENDONCE_E_INVALID;
  puppet().error = "text is longer than 1600 bytes";
  EXPECT_EQ(prepare_error(), "module puppet: text is longer than 1600 bytes");
  for (const char* leak :
       {"no route to +4917012345678", "no route to 4917012345678",
        "bad text: Parcel \"8812\" left.", "token s3cr3t-token refused", "no order 8812"}) {
    puppet().error = leak;
    EXPECT_EQ(prepare_error(), "module puppet: the module's text holds a secret and is not shown");
  }
  puppet().prepare_rc = 4711;  // no value of the interface
  EXPECT_FALSE(prepare().has_value());
}

// ---- credentials -------------------------------------------------------------------------------

class ModuleAuth : public ModuleProviderTest {
 protected:
  ModuleAuth() { puppet().auth = &puppet_auth(); }
  static ModuleOptions with_tokens() {
    ModuleOptions o = options();
    o.token_endpoint = "https://gate.example.com/token";
    return o;
  }
};

TEST_F(ModuleAuth, NeedsAnEndpointAndAWholeTable) {
  EXPECT_THAT(refused(), HasSubstr("name auth.token_endpoint"));
  puppet().auth = nullptr;
  EXPECT_THAT(refused(with_tokens()), HasSubstr("remove auth.token_endpoint"));
  sendonce_auth_api table = puppet_auth();
  table.struct_size = offsetof(sendonce_auth_api, refused);
  puppet().auth = &table;
  EXPECT_THAT(refused(with_tokens()), HasSubstr("too short"));
  table = puppet_auth();
  table.accept = nullptr;
  EXPECT_THAT(refused(with_tokens()), HasSubstr("too short or has holes"));
}

TEST_F(ModuleAuth, ACredentialIsFetchedAndUsed) {
  make(with_tokens());
  EXPECT_FALSE(provider_->ready(kNow));
  const auto request = provider_->needs_auth(kNow);
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->url, "https://gate.example.com/token");
  EXPECT_EQ(request->path, "");
  EXPECT_FALSE(request->by_url);
  puppet().auth_verdict = says(SENDONCE_ACCEPTED);
  puppet().has_credential = true;
  EXPECT_EQ(provider_->accept_auth(answer(200, "{}"), kNow).name, VerdictClass::accepted);
  EXPECT_TRUE(provider_->ready(kNow));
  puppet().auth_request.url = {};
  EXPECT_FALSE(provider_->needs_auth(kNow + hours(2)).has_value()) << "none is due";
}

TEST_F(ModuleAuth, ItIsAskedForNowhereElse) {
  make(with_tokens());
  for (const char* url : {"https://evil.org/token", "https://gate.example.com/tokens",
                          "https://gate.example.com/token@evil.org", "x"}) {
    puppet().auth_request.url = c(url);
    EXPECT_FALSE(provider_->needs_auth(kNow).has_value()) << url;
    make(with_tokens());
  }
}

TEST_F(ModuleAuth, NothingIsTakenForACredentialThatIsNone) {
  make(with_tokens());
  puppet().auth_verdict = says(SENDONCE_ACCEPTED);
  EXPECT_EQ(provider_->accept_auth(answer(200, "{}"), kNow).name, VerdictClass::retryable)
      << "it has stored none";
  puppet().has_credential = true;
  EXPECT_EQ(provider_->accept_auth(answer(401, "{}"), kNow).name, VerdictClass::retryable);
  for (std::int32_t said = -1; said <= 10; ++said) {
    puppet().auth_verdict = says(said, SENDONCE_EFFECT_MAYBE_SENT);
    const Verdict v = provider_->accept_auth(answer(400, "{}"), kNow);
    EXPECT_EQ(v.effect, Effect::not_sent) << said;
    EXPECT_NE(v.name, VerdictClass::accepted);
    EXPECT_NE(v.fault, Fault::device);
    const Verdict lost = provider_->accept_auth(failure(Effect::maybe_sent, Cause::reset), kNow);
    EXPECT_EQ(lost.effect, Effect::not_sent);
  }
  puppet().auth_verdict = says(SENDONCE_PROVIDER_AUTH);
  EXPECT_EQ(provider_->accept_auth(answer(401, "{}"), kNow).name, VerdictClass::provider_auth);
}

TEST_F(ModuleAuth, ATokenEndpointIsNotHammered) {
  make(with_tokens());
  EXPECT_TRUE(provider_->needs_auth(kNow).has_value());
  EXPECT_FALSE(provider_->needs_auth(kNow).has_value());
  (void)provider_->accept_auth(answer(503, ""), kNow);
  EXPECT_FALSE(provider_->needs_auth(kNow + seconds(4)).has_value());
  EXPECT_TRUE(provider_->needs_auth(kNow + seconds(6)).has_value());
  puppet().auth_verdict = says(SENDONCE_THROTTLED);
  puppet().auth_verdict.retry_after_ms = UINT64_MAX;
  (void)provider_->accept_auth(answer(429, ""), kNow);
  EXPECT_FALSE(provider_->needs_auth(kNow + minutes(50)).has_value());
  EXPECT_TRUE(provider_->needs_auth(kNow + hours(2)).has_value());
  EXPECT_TRUE(provider_->needs_auth(kNow - hours(24)).has_value()) << "the clock was set back";
}

TEST_F(ModuleAuth, ARefusedCredentialIsGivenUp) {
  make(with_tokens());
  puppet().has_credential = true;
  EXPECT_TRUE(judge(401, says(SENDONCE_PROVIDER_AUTH)).verdict.refresh_credential);
  EXPECT_FALSE(provider_->credential_refused(kNow));
  EXPECT_EQ(puppet().refusals, 1);
  EXPECT_FALSE(provider_->ready(kNow));
}

}  // namespace
}  // namespace sendonce::test
