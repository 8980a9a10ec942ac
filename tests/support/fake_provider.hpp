// The fake provider: APNs, FCM, Google's token endpoint, a Web Push service and a generic endpoint
// on one port, a mail server on another, a script of faults, a witness and a record. As a library
// it runs on a thread of its own:
//
//   const TestCredentials credentials = make_test_credentials();
//   auto provider = FakeProvider::start(options_for(credentials));
//   ... requests to (*provider)->url(), trusting (*provider)->ca_pem() ...
//   EXPECT_EQ((*provider)->witness().totals().duplicates, 0);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "plugin/core/error.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/fake_apns.hpp"
#include "tests/support/fake_fcm.hpp"
#include "tests/support/fake_http.hpp"
#include "tests/support/fake_mail.hpp"
#include "tests/support/fake_oauth.hpp"
#include "tests/support/fake_webpush.hpp"
#include "tests/support/h2_server.hpp"
#include "tests/support/script.hpp"
#include "tests/support/witness.hpp"

namespace sendonce::test {

struct FakeProviderOptions {
  ServerOptions server{.max_concurrent_streams =
                           1};       // as APNs: one stream before the first success
  std::vector<std::string> names{};  // more names for the certificate, "DNS:host" or "IP:1.2.3.4"
  std::uint32_t max_concurrent_streams = 1000;  // after the first success of a connection
  std::optional<ApnsConfig> apns{};
  std::optional<FcmConfig> fcm{};
  std::optional<OauthConfig> oauth{};  // goes with fcm; our own token URIs are added to audiences
  std::optional<WebPushConfig> webpush{};
  HttpConfig http{};  // always there, below /hook/
  std::optional<MailConfig> mail{};
  Script script{};
  std::string record{};  // a file; empty: none
  Duration latency{0};   // added to every answer
};

class FakeProvider {
 public:
  // Makes a certificate of its own authority, unless options.server.identity is set, and serves.
  [[nodiscard]] static Result<std::unique_ptr<FakeProvider>> start(FakeProviderOptions options);
  ~FakeProvider();  // stops
  FakeProvider(const FakeProvider&) = delete;
  FakeProvider& operator=(const FakeProvider&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::string url() const;  // https://localhost:PORT
  // smtps:// or smtp://; empty: there is no such server.
  [[nodiscard]] std::string mail_url() const;
  [[nodiscard]] std::string token_uri() const;  // of the OAuth endpoint
  [[nodiscard]] const std::string& ca_pem() const;
  [[nodiscard]] const FakeWebPush* webpush() const;  // null: not configured
  [[nodiscard]] const Witness& witness() const;
  [[nodiscard]] const ServerTotals& totals() const;
  // Any thread, from the next request on; counts and clocks of the rules begin anew.
  void set_script(Script script);
  void kill_connections();  // TCP RST to every client
  void stop();              // closes all connections and the port; the witness stays

 private:
  struct State;
  explicit FakeProvider(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Credentials both sides of a test agree on.
struct TestCredentials {
  KeyPair apns{};
  std::string team = "TEAM123456";
  std::string key_id = "KEY1234567";
  std::string topic = "com.example.app";
  KeyPair service{};  // of the service account
  std::string project = "demo-project";
  KeyPair vapid{};
  std::string email = "sender@demo-project.iam.gserviceaccount.com";
  std::string mail_user = "shop";
  std::string mail_password{};
};

[[nodiscard]] TestCredentials make_test_credentials();
// Options that accept these credentials and nothing else.
[[nodiscard]] FakeProviderOptions options_for(const TestCredentials& credentials);
// Of a VAPID key in PEM, as pages and push services know it; empty when it is none.
[[nodiscard]] std::string vapid_public_key(const std::string& private_pem);
// The service-account file for a provider at `token_uri`.
[[nodiscard]] std::string service_account_for(const TestCredentials& credentials,
                                              std::string_view token_uri);

}  // namespace sendonce::test
