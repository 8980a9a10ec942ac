// The access token of a service account: a signed assertion is exchanged for it every hour.
// https://developers.google.com/identity/protocols/oauth2/service-account#httprest
#pragma once

#include <optional>
#include <string>

#include "classifiers/access_token.hpp"
#include "classifiers/fcm/service_account.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/verdict.hpp"
#include "plugin/crypto/sign.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

// One thread.
class FcmOauth {
 public:
  // `token_endpoint` empty: the account's token_uri. invalid: what is wrong with the key.
  [[nodiscard]] static Result<FcmOauth> make(const ServiceAccount& account,
                                             const std::string& token_endpoint);

  [[nodiscard]] bool ready(WallTime now) const { return token_.ready(now); }
  [[nodiscard]] const std::string& authorization() const { return token_.authorization(); }
  // The exchange, when it is due.
  [[nodiscard]] std::optional<HttpRequest> needs_auth(WallTime now);
  [[nodiscard]] Verdict accept(const CallResult& result, WallTime now) {
    return token_.accept(result, now);
  }
  void refused(WallTime now) { token_.refused(now); }
  [[nodiscard]] std::uint64_t fetched() const { return token_.fetched(); }
  [[nodiscard]] std::optional<WallTime> ends() const { return token_.ends(); }

 private:
  FcmOauth(const ServiceAccount& account, const std::string& token_endpoint, SigningKey key);
  [[nodiscard]] std::string assertion(WallTime now) const;

  std::string client_email_;
  std::string private_key_id_;
  std::string audience_;
  std::string url_;
  SigningKey key_;
  AccessToken token_{};
};

}  // namespace sendonce
