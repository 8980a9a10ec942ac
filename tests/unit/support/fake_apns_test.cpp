#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/support/provider_rig.hpp"

namespace sendonce::test {
namespace {

class FakeApnsTest : public ProviderRig {
 protected:
  void SetUp() override { start(); }
  std::string reason(std::string_view path, const RawHeaders& headers, std::string_view body,
                     int status, std::string_view method = "POST") {
    const auto client = connect();
    const RawAnswer& answer = client->request(method, path, headers, body);
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_FALSE(answer.header("apns-id").empty());
    const auto json = nlohmann::json::parse(answer.body, nullptr, false);
    return json.is_object() ? json.value("reason", "") : "";
  }
  std::string with(std::string_view name, std::string_view value, int status = 400) {
    return reason(device(), apns_headers(name, value), kPayload, status);
  }
};

TEST_F(FakeApnsTest, accepts_a_good_request_and_echoes_its_id) {
  const auto client = connect();
  const RawAnswer& answer = push(*client);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.header("apns-id"), kId);
  EXPECT_EQ(answer.body, "");
  EXPECT_EQ(answer.headers.count("apns-unique-id"), 0U);
  EXPECT_EQ(seen().accepted, 1U);
  EXPECT_EQ(provider->witness().copies(ProviderKind::apns, kToken, kId).accepted, 1U);
}

TEST_F(FakeApnsTest, makes_an_id_when_none_is_given) {
  const auto client = connect();
  const RawAnswer& answer =
      client->request("POST", device(), apns_headers("apns-id", ""), kPayload);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.header("apns-id").size(), 36U);
}

TEST_F(FakeApnsTest, allows_one_stream_before_the_first_success) {
  const auto client = connect();
  ASSERT_TRUE(client->run([&] { return client->settings_received() == 1; }));
  EXPECT_EQ(client->max_concurrent_streams(), 1U);
  client->request("POST", device(), apns_headers("authorization", ""), kPayload);
  EXPECT_EQ(client->max_concurrent_streams(), 1U);
  push(*client);
  ASSERT_TRUE(client->run([&] { return client->settings_received() == 2; }));
  EXPECT_EQ(client->max_concurrent_streams(), 1000U);
}

TEST_F(FakeApnsTest, checks_method_path_and_token) {
  EXPECT_EQ(reason(device(), apns_headers(), "", 405, "GET"), "MethodNotAllowed");
  EXPECT_EQ(reason("/3/devices/aa", apns_headers(), kPayload, 404), "BadPath");
  EXPECT_EQ(reason("/3/device/", apns_headers(), kPayload, 400), "MissingDeviceToken");
  EXPECT_EQ(reason(device("xyz0"), apns_headers(), kPayload, 400), "BadDeviceToken");
  EXPECT_EQ(reason(device("abc"), apns_headers(), kPayload, 400), "BadDeviceToken");
  EXPECT_EQ(seen().accepted, 0U);
  EXPECT_EQ(seen().received, 5U);
}

TEST_F(FakeApnsTest, checks_each_header) {
  EXPECT_EQ(with("apns-id", "not-a-uuid"), "BadMessageId");
  EXPECT_EQ(with("apns-topic", ""), "MissingTopic");
  EXPECT_EQ(with("apns-topic", "com.example.other"), "TopicDisallowed");
  EXPECT_EQ(with("apns-push-type", "letter"), "InvalidPushType");
  EXPECT_EQ(with("apns-push-type", "voip"), "BadTopic");
  EXPECT_EQ(with("apns-push-type", "background"), "BadPriority");
  EXPECT_EQ(with("apns-priority", "7"), "BadPriority");
  EXPECT_EQ(with("apns-expiration", "soon"), "BadExpirationDate");
  EXPECT_EQ(with("apns-collapse-id", std::string(65, 'c')), "BadCollapseId");
  EXPECT_EQ(with("apns-collapse-id", std::string(64, 'c'), 200), "");
  RawHeaders twice = apns_headers();
  twice.emplace_back("apns-priority", "5");
  twice.emplace_back("apns-priority", "10");
  EXPECT_EQ(reason(device(), twice, kPayload, 400), "DuplicateHeaders");
}

TEST_F(FakeApnsTest, checks_the_payload) {
  const auto body = [](std::size_t size) {
    return R"({"a":")" + std::string(size - 8, 'x') + "\"}";
  };
  EXPECT_EQ(reason(device(), apns_headers(), "", 400), "PayloadEmpty");
  EXPECT_EQ(reason(device(), apns_headers(), "{}", 400), "PayloadEmpty");
  EXPECT_EQ(reason(device(), apns_headers(), R"({"aps":)", 400), "PayloadEmpty");
  EXPECT_EQ(reason(device(), apns_headers(), body(4096), 200), "");
  EXPECT_EQ(reason(device(), apns_headers(), body(4097), 413), "PayloadTooLarge");
  RawHeaders voip = apns_headers("apns-push-type", "voip");
  for (auto& [name, value] : voip) {
    if (name == "apns-topic") value += ".voip";
  }
  EXPECT_EQ(reason(device(), voip, body(5120), 200), "");
  EXPECT_EQ(reason(device(), voip, body(5121), 413), "PayloadTooLarge");
}

TEST_F(FakeApnsTest, checks_the_provider_token) {
  const TestCredentials& c = credentials();
  const auto made = [&](std::string_view key, std::string_view id, std::string_view team) {
    return "bearer " + apns_jwt(key, id, team, now_seconds());
  };
  const std::string stranger = make_p256_key().private_pem;
  EXPECT_EQ(with("authorization", "", 403), "MissingProviderToken");
  EXPECT_EQ(with("authorization", "bearer rubbish", 403), "InvalidProviderToken");
  EXPECT_EQ(with("authorization", made(stranger, c.key_id, c.team), 403), "InvalidProviderToken");
  EXPECT_EQ(with("authorization", made(c.apns.private_pem, "OTHERKEY12", c.team), 403),
            "InvalidProviderToken");
  EXPECT_EQ(with("authorization", made(c.apns.private_pem, c.key_id, "OTHERTEAM1"), 403),
            "InvalidProviderToken");
  EXPECT_EQ(with("authorization", "bearer " + jwt(3700), 403), "ExpiredProviderToken");
  EXPECT_EQ(with("authorization", "bearer " + jwt(-3700), 403), "ExpiredProviderToken");
  EXPECT_EQ(with("authorization", "bearer " + jwt(3500), 200), "");
  const std::string hs256 = sign_jwt(
      JwtAlgorithm::es256, c.apns.private_pem, R"({"alg":"HS256","kid":")" + c.key_id + "\"}",
      R"({"iss":")" + c.team + R"(","iat":)" + std::to_string(now_seconds()) + "}");
  EXPECT_EQ(with("authorization", "bearer " + hs256, 403), "InvalidProviderToken");
}

TEST_F(FakeApnsTest, a_token_may_be_updated_once_in_twenty_minutes) {
  const auto client = connect();
  const auto status_with = [&](const std::string& token) {
    return client
        ->request("POST", device(), apns_headers("authorization", "bearer " + token), kPayload)
        .status;
  };
  const std::string first = jwt(100);
  const std::string second = jwt(50);
  EXPECT_EQ(status_with(first), 200);
  EXPECT_EQ(status_with(second), 200);
  EXPECT_EQ(status_with(first), 200) << "a token seen before is no update";
  EXPECT_EQ(status_with(jwt(0)), 429);
  EXPECT_EQ(status_with(second), 200);
  const auto other = connect();
  EXPECT_EQ(
      other->request("POST", device(), apns_headers("authorization", "bearer " + jwt(0)), kPayload)
          .status,
      200)
      << "the limit is the connection's";
}

TEST_F(FakeApnsTest, one_connection_has_one_key) {
  FakeProviderOptions options = options_for(credentials());
  const KeyPair second = make_p256_key();
  options.apns->keys.push_back(
      {.team = credentials().team, .key_id = "SECONDKEY1", .pem = second.private_pem});
  start(std::move(options));
  const auto client = connect();
  EXPECT_EQ(push(*client).status, 200);
  const std::string other =
      "bearer " + apns_jwt(second.private_pem, "SECONDKEY1", credentials().team, now_seconds());
  const RawAnswer& answer =
      client->request("POST", device(), apns_headers("authorization", other), kPayload);
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(answer.body, R"({"reason":"UnrelatedKeyIdInToken"})");
  EXPECT_EQ(with("authorization", other, 200), "");
}

TEST_F(FakeApnsTest, the_sandbox_names_a_unique_id) {
  FakeProviderOptions options = options_for(credentials());
  options.apns->sandbox = true;
  start(std::move(options));
  const auto client = connect();
  EXPECT_EQ(push(*client).header("apns-unique-id").size(), 36U);
}

TEST_F(FakeApnsTest, speaks_http2_only) {
  const auto client = connect(false);
  const std::string answer = client->exchange_h1(
      "POST /3/device/aa HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}", "\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 505 ")) << answer;
  EXPECT_EQ(seen().accepted, 0U);
}

}  // namespace
}  // namespace sendonce::test
