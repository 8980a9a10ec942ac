#include "classifiers/webpush/webpush_provider.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "plugin/core/text.hpp"
#include "tests/support/jwt.hpp"
#include "tests/support/push_receiver.hpp"
#include "tests/unit/classifiers/fixtures.hpp"

namespace sendonce::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;

constexpr const char* kEndpoint = "https://fcm.googleapis.com/fcm/send/abc:def?x=1";

WebPushOptions options() {
  return {.key = Credential(kRfc7515Key),
          .subject = "mailto:ops@example.com",
          .origins = {"fcm.googleapis.com", "*.notify.windows.com", "push.example.net:8443"}};
}

std::unique_ptr<Provider> provider(const WebPushOptions& o = options()) {
  auto made = make_webpush_provider(o);
  EXPECT_TRUE(made) << made.error().text;
  return made ? std::move(*made) : nullptr;
}

struct Push : Sample {
  PushReceiver browser{};
  explicit Push(const char* endpoint = kEndpoint) : Sample(endpoint) {
    target.p256dh = Destination(browser.p256dh());
    target.auth = Destination(browser.auth());
  }
  [[nodiscard]] Json read(const HttpRequest& request) const {
    const auto text = browser.read(request.body);
    return text ? Json::parse(*text) : Json();
  }
};

TEST(WebPushProvider, a_request_is_what_the_browser_can_read) {
  Push push;
  const auto p = provider();
  const auto request = p->prepare(push.attempt(), kNow);
  ASSERT_TRUE(request) << request.error().text;
  EXPECT_EQ(request->method, "POST");
  EXPECT_EQ(request->url, "");
  EXPECT_EQ(request->authority, "fcm.googleapis.com");
  EXPECT_EQ(request->path, "/fcm/send/abc:def?x=1");
  EXPECT_EQ(request->headers.find("content-encoding"), "aes128gcm");
  EXPECT_EQ(request->headers.find("ttl"), "21600");
  EXPECT_EQ(request->headers.find("urgency"), "normal");
  EXPECT_EQ(request->headers.find("topic"), "order-8812");
  const Json seen = push.read(*request);
  EXPECT_EQ(seen["title"], "On its way");
  EXPECT_EQ(seen["body"], "Parcel \"8812\" left.");
  EXPECT_EQ(seen["data"], Json({{"order", "8812"}}));
  EXPECT_EQ(seen["tag"], "order-8812");
  EXPECT_THAT(seen["nid"].get<std::string>(), StartsWith("f0f1f2f3-"));
}

TEST(WebPushProvider, the_token_is_for_the_origin_and_kept) {
  Push push;
  Push elsewhere("https://db5p.notify.windows.com/w/?token=x");
  const auto p = provider();
  const std::string first(p->prepare(push.attempt(), kNow)->headers.find("authorization").value());
  EXPECT_EQ(p->prepare(push.attempt(), kNow + hours(1))->headers.find("authorization"), first);
  const std::string other(
      p->prepare(elsewhere.attempt(), kNow)->headers.find("authorization").value());
  const auto token = [](const std::string& a) { return parse_jwt(a.substr(8, a.find(',') - 8)); };
  EXPECT_EQ(token(first)->text("aud"), "https://fcm.googleapis.com");
  EXPECT_EQ(token(other)->text("aud"), "https://db5p.notify.windows.com");
  EXPECT_THAT(p->app_scope(), StartsWith("webpush:B"));
  EXPECT_THAT(first, HasSubstr(", k=" + p->app_scope().substr(8)));
}

// SSRF: an endpoint comes from a browser.
TEST(WebPushProvider, endpoints_that_are_not_on_the_list_are_refused) {
  const auto p = provider();
  for (const char* endpoint : {"http://fcm.googleapis.com/x",
                               "https://evil.example/x",
                               "https://fcm.googleapis.com",
                               "https://fcm.googleapis.com.evil.example/x",
                               "https://evilfcm.googleapis.com/x",
                               "https://user@fcm.googleapis.com/x",
                               "https://fcm.googleapis.com@evil.example/x",
                               "https://fcm.googleapis.com:8443/x",
                               "https://fcm.googleapis.com:80/x",
                               "https://notify.windows.com/x",
                               "https://xnotify.windows.com/x",
                               "https://.notify.windows.com/x",
                               "https://a..notify.windows.com/x",
                               "https://127.0.0.1/x",
                               "https://2130706433/x",
                               "https://0x7f000001/x",
                               "https://[::1]/x",
                               "https://localhost/x",
                               "https://push.example.net/x",
                               "https://push.example.net:443/x",
                               "https://fcm.googleapis.com\\@evil.example/x",
                               "https://fcm.googleapis.com./x",
                               "https://FCM.googleapis.com/x",
                               "https://fcm.googleapis.com#/x",
                               "https://fcm.googleapis.com/x#y",
                               "https://fcm.googleapis.com?/x",
                               "ftp://x/y",
                               "x",
                               ""}) {
    Push push(endpoint);
    const auto normal = p->normal_form(push.target);
    EXPECT_FALSE(normal) << endpoint;
    EXPECT_FALSE(p->prepare(push.attempt(), kNow)) << endpoint;
    EXPECT_TRUE(p->origin_of(push.target).authority.empty());
    if (!normal && std::string_view(endpoint).size() > 8) {
      EXPECT_EQ(normal.error().text.find(std::string_view(endpoint).substr(8)), std::string::npos)
          << "an endpoint is a secret";
    }
  }
  EXPECT_FALSE(p->normal_form(Push((kEndpoint + std::string(4096, 'x')).c_str()).target));
}

TEST(WebPushProvider, endpoints_on_the_list_stay_as_they_are) {
  const auto p = provider();
  struct Case {
    const char* endpoint;
    const char* authority;
    const char* part;
  };
  for (const Case& c :
       {Case{kEndpoint, "fcm.googleapis.com", "fcm.googleapis.com"},
        {"https://fcm.googleapis.com:443/x", "fcm.googleapis.com", "fcm.googleapis.com"},
        {"https://a.b.notify.windows.com/w/?token=BQ%3d", "a.b.notify.windows.com",
         "*.notify.windows.com"},
        {"https://push.example.net:8443/x", "push.example.net:8443", "push.example.net:8443"}}) {
    Push push(c.endpoint);
    const auto normal = p->normal_form(push.target);
    ASSERT_TRUE(normal) << normal.error().text;
    EXPECT_EQ(normal->expose(), c.endpoint);
    EXPECT_EQ(p->origin_of(push.target).authority, c.authority);
    EXPECT_EQ(p->origin_of(push.target).part, c.part);
  }
}

TEST(WebPushProvider, subscriptions_without_good_keys_are_payload_errors) {
  const auto p = provider();
  Push push;
  push.target.auth = Destination("AAAA");
  EXPECT_FALSE(p->normal_form(push.target));
  EXPECT_FALSE(p->prepare(push.attempt(), kNow));
}

TEST(WebPushProvider, lifetimes_shrink_and_are_never_0) {
  const auto p = provider();
  Push push;
  const auto ttl = [&](WallTime deadline) {
    push.deadline = deadline;
    return std::string(p->prepare(push.attempt(), kNow)->headers.find("ttl").value());
  };
  EXPECT_EQ(ttl(kNow + seconds(90)), "90");
  EXPECT_EQ(ttl(kNow + std::chrono::milliseconds(1500)), "1");
  EXPECT_EQ(ttl(kNow + std::chrono::milliseconds(10)), "1");
  EXPECT_EQ(ttl(kNow + hours(24 * 365)), "2419200");
}

TEST(WebPushProvider, a_topic_is_32_characters_of_base64url) {
  EXPECT_EQ(topic_from("order-8812_X"), "order-8812_X");
  EXPECT_EQ(topic_from(std::string(32, 'a')), std::string(32, 'a'));
  for (const std::string& collapse :
       {std::string(33, 'a'), std::string("otp:user_42"), std::string("Grüße")}) {
    const std::string topic = topic_from(collapse);
    EXPECT_EQ(topic.size(), 32U);
    EXPECT_TRUE(unbase64url(topic));
    EXPECT_EQ(topic, topic_from(collapse));
  }
  EXPECT_NE(topic_from("a:b"), topic_from("a:c"));
}

TEST(WebPushProvider, what_is_too_long_is_a_payload_error) {
  const auto p = provider();
  Push push;
  push.notification.content.body = std::string(3800, 'x');
  const auto request = p->prepare(push.attempt(), kNow);
  ASSERT_TRUE(request);
  EXPECT_LE(request->body.size(), 4096U);
  push.notification.content.body = std::string(4000, 'x');
  const auto refused = p->prepare(push.attempt(), kNow);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr("3993"));
}

TEST(WebPushProvider, overrides_are_merged_and_leave_the_nid_alone) {
  const auto p = provider();
  Push push;
  push.notification.overrides.emplace_back(ProviderKind::webpush,
                                           R"({"title":null,"actions":[{"action":"open"}]})");
  const Json seen = push.read(p->prepare(push.attempt(), kNow).value());
  EXPECT_FALSE(seen.contains("title"));
  EXPECT_EQ(seen["actions"][0]["action"], "open");
  push.notification.overrides = {{ProviderKind::webpush, R"({"nid":"other"})"}};
  EXPECT_FALSE(p->prepare(push.attempt(), kNow));
}

// A hold is one push service's, never the others'.
TEST(WebPushProvider, faults_of_a_service_are_of_that_part) {
  const auto p = provider();
  const Push push;
  const Verdict auth = p->classify(push.target, answer(403, "invalid JWT provided"), kNow);
  EXPECT_EQ(auth.scope, FaultScope::part);
  EXPECT_EQ(auth.part, "fcm.googleapis.com");
  const Verdict late = p->classify(
      push.target, answer(403, "invalid JWT provided", {{"date", "Sun, 29 Nov 2026 10:00:00 GMT"}}),
      kNow);
  EXPECT_THAT(late.reason, HasSubstr("our clock is 7200 s ahead"));
  const Verdict down = p->classify(push.target, failure(Effect::not_sent, Cause::connect), kNow);
  EXPECT_EQ(down.fault, Fault::provider);
  EXPECT_EQ(down.part, "fcm.googleapis.com");
  const Verdict gone = p->classify(push.target, answer(410), kNow);
  EXPECT_EQ(gone.scope, FaultScope::device);
  EXPECT_EQ(gone.part, "");
}

TEST(WebPushProvider, options_that_are_wrong_are_named) {
  const auto refused = [](auto change) {
    WebPushOptions o = options();
    change(o);
    const auto made = make_webpush_provider(o);
    return made ? std::string("made") : made.error().text;
  };
  EXPECT_THAT(refused([](auto& o) { o.key = Credential("x"); }), StartsWith("key: "));
  EXPECT_THAT(refused([](auto& o) { o.subject = "ops"; }), HasSubstr("subject"));
  EXPECT_THAT(refused([](auto& o) { o.urgency = "urgent"; }), HasSubstr("urgency"));
  EXPECT_THAT(refused([](auto& o) { o.origins.clear(); }), HasSubstr("origins"));
  for (const char* origin : {"https://fcm.googleapis.com", "fcm.googleapis.com/x", "127.0.0.1",
                             "[::1]", "*", "*.com", "*.*.example.com", "FCM.googleapis.com", "",
                             "a.example:443", "a.example:0", "a.example:65536", "a.example:x"})
    EXPECT_THAT(refused([&](auto& o) { o.origins = {origin}; }), StartsWith("origins: ")) << origin;
}

}  // namespace
}  // namespace sendonce::test
