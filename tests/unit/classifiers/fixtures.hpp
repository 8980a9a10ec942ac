// What the tests of both providers start from.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "classifiers/apns/apns_token.hpp"
#include "classifiers/provider.hpp"
#include "tests/unit/crypto/test_keys.hpp"

namespace sendonce::test {

using std::chrono::hours, std::chrono::minutes, std::chrono::seconds;

// 2026-11-29T12:00:00Z
inline constexpr WallTime kNow{seconds(1'795'953'600)};

struct Sample {
  Notification notification{};
  Target target{};
  Key key{};
  NidDigest nid{};
  std::string collapse = "order-8812";
  WallTime deadline = kNow + hours(6);

  explicit Sample(std::string token) {
    notification.content.title = "On its way";
    notification.content.body = "Parcel \"8812\" left.";
    notification.content.data = {{"order", "\"8812\""}};
    target.destination = Destination(std::move(token));
    for (std::size_t i = 0; i < key.bytes.size(); ++i) {
      key.bytes[i] = static_cast<std::uint8_t>(i);
      nid.bytes[i] = static_cast<std::uint8_t>(0xF0U + i);
    }
  }

  [[nodiscard]] Attempt attempt() const {
    return {notification, target, key, nid, collapse, deadline};
  }
};

inline HttpAnswer answer(int status, std::string body = {},
                         std::initializer_list<std::pair<const char*, const char*>> headers = {}) {
  HttpAnswer a;
  a.status = status;
  a.body = std::move(body);
  for (const auto& [name, value] : headers) a.headers.add(name, value);
  return a;
}

inline CallFailure failure(Effect effect, Cause cause) {
  CallFailure f;
  f.effect = effect;
  f.cause = cause;
  return f;
}

// "name: value" lines, in order.
inline std::string text_of(const Headers& headers) {
  std::string out;
  for (std::size_t i = 0; i < headers.size(); ++i)
    out.append(headers[i].name).append(": ").append(headers[i].value).append("\n");
  return out;
}

inline ApnsTokenOptions apns_token_options() {
  ApnsTokenOptions options;
  options.team = "TEAM123456";
  options.key_id = "KEY1234567";
  options.key = Credential(kEs256Key);
  return options;
}

inline std::string service_account_json() {
  std::string pem;
  for (const char c : std::string(kRs256Key)) pem += c == '\n' ? "\\n" : std::string(1, c);
  return R"({"type":"service_account","project_id":"demo-1","private_key_id":"k1",)"
         R"("private_key":")" +
         pem +
         R"(","client_email":"push@demo-1.iam.gserviceaccount.com",)"
         R"("token_uri":"https://oauth2.googleapis.com/token"})";
}

}  // namespace sendonce::test
