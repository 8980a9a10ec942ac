#include <gtest/gtest.h>

#include "classifiers/webpush/webpush_encryption.hpp"
#include "tests/unit/support/provider_rig.hpp"

namespace sendonce::test {
namespace {

class FakeWebPushTest : public ProviderRig {
 protected:
  void SetUp() override { start(); }

  std::string claims(const std::string& aud, std::int64_t life,
                     const std::string& sub = "mailto:ops@example.com") const {
    return R"({"aud":")" + aud + R"(","exp":)" + std::to_string(now_seconds() + life) +
           R"(,"sub":")" + sub + R"("})";
  }
  std::string vapid(const std::string& claims, const std::string& key = {}) const {
    const std::string& pem = credentials().vapid.private_pem;
    return "vapid t=" +
           sign_jwt(JwtAlgorithm::es256, key.empty() ? pem : key, R"({"typ":"JWT","alg":"ES256"})",
                    claims) +
           ", k=" + vapid_public_key(pem);
  }
  std::string good() const { return vapid(claims(provider->url(), 3600)); }
  std::string encrypted(const std::string& text, const PushReceiver& browser) const {
    Target t;
    t.p256dh = Destination(browser.p256dh());
    t.auth = Destination(browser.auth());
    return encrypt_push(text, subscription_keys(t).value()).value();
  }
  std::string encrypted(const std::string& text = R"({"nid":"n-1"})") const {
    return encrypted(text, provider->webpush()->browser());
  }
  // With one field changed: empty takes it away.
  int status_of(const std::string& body, const std::string& name = {},
                const std::string& value = {}, const std::string& path = "/push/alice") const {
    RawHeaders headers;
    for (const auto& [n, v] : RawHeaders{{"authorization", good()},
                                         {"content-encoding", "aes128gcm"},
                                         {"ttl", "60"},
                                         {"topic", "t-1"}})
      if (n != name) headers.emplace_back(n, v);
    if (!value.empty()) headers.emplace_back(name, value);
    return connect()->request("POST", path, headers, body).status;
  }
};

TEST_F(FakeWebPushTest, takes_what_its_browser_can_read) {
  EXPECT_EQ(status_of(encrypted()), 201);
  const auto seen = provider->webpush()->seen();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].subscription, "alice");
  EXPECT_EQ(seen[0].text, R"({"nid":"n-1"})");
  EXPECT_EQ(seen[0].topic, "t-1");
  EXPECT_EQ(seen[0].ttl, 60);
  EXPECT_EQ(provider->witness().copies(ProviderKind::webpush, "alice", "n-1").accepted, 1U);
}

TEST_F(FakeWebPushTest, refuses_credentials_that_are_not_good) {
  const std::string body = encrypted();
  EXPECT_EQ(status_of(body, "authorization"), 401);
  EXPECT_EQ(status_of(body, "authorization", "Bearer x"), 401);
  const std::string url = provider->url();
  for (const std::string& bad :
       {vapid(claims("https://other.example", 3600)), vapid(claims(url, -1)),
        vapid(claims(url, 24 * 3600 + 60)), vapid(claims(url, 3600, "ops")),
        vapid(claims(url, 3600), credentials().apns.private_pem),
        "vapid t=x, k=" + vapid_public_key(credentials().vapid.private_pem),
        good().substr(0, good().find(", k=")) +
            ", k=" + vapid_public_key(credentials().apns.private_pem)})
    EXPECT_EQ(status_of(body, "authorization", bad), 403) << bad;
  EXPECT_EQ(seen().accepted, 0U);
}

TEST_F(FakeWebPushTest, refuses_what_the_standard_does_not_allow) {
  EXPECT_EQ(status_of(encrypted(), "ttl"), 400);
  EXPECT_EQ(status_of(encrypted(), "ttl", "-1"), 400);
  EXPECT_EQ(status_of(encrypted(), "topic", std::string(33, 'a')), 400);
  EXPECT_EQ(status_of(encrypted(), "topic", "a:b"), 400);
  EXPECT_EQ(status_of(encrypted(), "content-encoding", "aesgcm"), 400);
  EXPECT_EQ(status_of(encrypted("x", PushReceiver())), 400) << "for another browser";
  EXPECT_EQ(status_of("plain"), 400);
  EXPECT_EQ(status_of(std::string(4097, 'x')), 413);
  EXPECT_EQ(status_of(encrypted(), {}, {}, "/push/"), 404);
}

TEST_F(FakeWebPushTest, plays_what_the_script_says) {
  auto script =
      Script::parse("[[rule]]\nprovider = \"webpush\"\ntoken = \"dead\"\nstatus = 410\n", "s.toml");
  ASSERT_TRUE(script);
  provider->set_script(std::move(*script));
  EXPECT_EQ(status_of(encrypted(), {}, {}, "/push/dead"), 410);
  EXPECT_EQ(status_of(encrypted()), 201);
  EXPECT_EQ(provider->witness().destination(ProviderKind::webpush, "dead").accepted, 0U);
}

}  // namespace
}  // namespace sendonce::test
