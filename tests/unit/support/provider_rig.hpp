// A running fake provider, credentials for it, and well-formed requests.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "plugin/core/clock.hpp"
#include "tests/support/fake_provider.hpp"
#include "tests/support/raw_client.hpp"

namespace sendonce::test {

inline constexpr std::string_view kToken =
    "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
inline constexpr std::string_view kId = "0f8fad5b-d9cb-469f-a165-70867728950e";
inline constexpr std::string_view kPayload = R"({"aps":{"alert":"hello"}})";

inline std::int64_t now_seconds() {
  const auto since = make_system_clock()->wall().time_since_epoch();
  return std::chrono::floor<std::chrono::seconds>(since).count();
}

class ProviderRig : public testing::Test {
 protected:
  // RSA keys take a while: one set for all tests of the program.
  static const TestCredentials& credentials() {
    static const TestCredentials made = make_test_credentials();
    return made;
  }
  void start(FakeProviderOptions options = options_for(credentials())) {
    auto started = FakeProvider::start(std::move(options));
    ASSERT_TRUE(started) << started.error().text;
    provider = std::move(*started);
  }
  void start_with(const std::string& script) {
    auto parsed = Script::parse(script, "script.toml");
    ASSERT_TRUE(parsed) << parsed.error().text;
    FakeProviderOptions options = options_for(credentials());
    options.script = std::move(*parsed);
    start(std::move(options));
  }
  std::unique_ptr<RawClient> connect(bool h2 = true) const {
    auto client = RawClient::connect(provider->port(), {.ca_pem = provider->ca_pem(), .h2 = h2});
    EXPECT_TRUE(client) << client.error().text;
    return client ? std::move(*client) : nullptr;
  }
  static std::string jwt(std::int64_t age = 0) {
    const TestCredentials& c = credentials();
    return apns_jwt(c.apns.private_pem, c.key_id, c.team, now_seconds() - age);
  }
  // With one field changed: empty takes it away.
  RawHeaders apns_headers(std::string_view name = {}, std::string_view value = {}) const {
    const RawHeaders all{{"authorization", "bearer " + bearer},
                         {"apns-topic", credentials().topic},
                         {"apns-push-type", "alert"},
                         {"apns-id", std::string(kId)}};
    RawHeaders out;
    bool replaced = name.empty();
    for (const auto& [n, v] : all) {
      if (n != name) out.emplace_back(n, v);
      if (n == name && !value.empty()) out.emplace_back(n, value);
      replaced = replaced || n == name;
    }
    if (!replaced) out.emplace_back(name, value);
    return out;
  }
  static std::string device(std::string_view token = kToken) {
    return "/3/device/" + std::string(token);
  }
  const RawAnswer& push(RawClient& client) const {
    return client.request("POST", device(), apns_headers(), kPayload);
  }
  std::int32_t submit_push(RawClient& client) const {
    return client.submit("POST", device(), apns_headers(), kPayload);
  }
  Copies seen() const { return provider->witness().totals().copies; }

  std::string bearer = jwt();
  std::unique_ptr<FakeProvider> provider{};
};

}  // namespace sendonce::test
