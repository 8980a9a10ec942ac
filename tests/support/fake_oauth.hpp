// Google's token endpoint for service accounts
// (https://developers.google.com/identity/protocols/oauth2/service-account, HTTP/REST).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/random.hpp"
#include "tests/support/http_message.hpp"
#include "tests/support/jwt.hpp"
#include "tests/support/script.hpp"

namespace sendonce::test {

struct OauthConfig {
  std::string client_email{};
  std::string key_pem{};                 // public or private
  std::vector<std::string> audiences{};  // token URIs that are ours
  std::chrono::seconds lifetime{3599};   // of access tokens
};

enum class AccessToken : std::uint8_t { good, unknown, expired };

// On the server's thread.
class FakeOauth {
 public:
  // Fails `invalid` when the key is not RSA.
  [[nodiscard]] static Result<std::unique_ptr<FakeOauth>> make(OauthConfig config);

  struct Refusal {
    std::string error{};  // empty: none
    std::string description{};
  };
  [[nodiscard]] Refusal refusal(const Request& request) const;
  // The `iss` of the assertion, unverified; empty when there is none.
  [[nodiscard]] static std::string issuer_of(const Request& request);
  void write_issued(const Request& request, Reply& reply);
  static void write_refused(const Refusal& refusal, Reply& reply);
  void write_scripted(const Action& action, const Request& request, Reply& reply);

  [[nodiscard]] AccessToken judge(std::string_view access_token, WallTime now) const;

 private:
  FakeOauth(OauthConfig config, std::unique_ptr<JwtVerifier> verifier)
      : config_(std::move(config)), verifier_(std::move(verifier)) {}
  [[nodiscard]] Refusal judge_assertion(const Jwt& token, WallTime now) const;

  OauthConfig config_;
  std::unique_ptr<JwtVerifier> verifier_;
  Random random_{system_seed()};
  std::unordered_map<std::string, WallTime> issued_{};  // access token to its end
};

}  // namespace sendonce::test
