// The access token of a service account: a signed assertion is exchanged for it every hour.
// https://developers.google.com/identity/protocols/oauth2/service-account#httprest
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "classifiers/fcm/service_account.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/verdict.hpp"
#include "plugin/crypto/sign.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

// Total and pure: an answer of the token endpoint. Nothing was sent to anybody, so nothing here is
// ever ambiguous: effect not_sent throughout, but for `accepted`.
[[nodiscard]] Verdict judge_oauth(const CallResult& result, WallTime now);

// One thread. The token is fetched 5 minutes before it ends and the old one is used meanwhile.
class FcmOauth {
 public:
  // `token_endpoint` empty: the account's token_uri. invalid: what is wrong with the key.
  [[nodiscard]] static Result<FcmOauth> make(const ServiceAccount& account,
                                             const std::string& token_endpoint);

  [[nodiscard]] bool ready(WallTime now) const;
  // "Bearer ya29…"; empty before the first token.
  [[nodiscard]] const std::string& authorization() const noexcept { return authorization_; }
  // The exchange, when it is due; one whose call never came is due again.
  [[nodiscard]] std::optional<HttpRequest> needs_auth(WallTime now);
  [[nodiscard]] Verdict accept(const CallResult& result, WallTime now);
  // FCM refused the token. A new one is fetched: if that is refused too, it is the account, and the
  // next is fetched after 2 minutes at the earliest.
  void refused(WallTime now);

 private:
  FcmOauth(const ServiceAccount& account, const std::string& token_endpoint, SigningKey key);
  [[nodiscard]] std::string assertion(WallTime now) const;

  std::string client_email_;
  std::string private_key_id_;
  std::string audience_;
  std::string url_;
  SigningKey key_;
  std::string authorization_{};
  WallTime ends_{};                       // of the token at hand
  WallTime fetched_{};                    // the token at hand
  std::optional<WallTime> not_before_{};  // after a failed exchange
  Duration wait_{};                       // until then, as it was named
  std::uint32_t failures_ = 0;            // in a row
  bool refused_ = false;                  // the token at hand
  bool after_refusal_ = false;            // the token at hand was fetched because of one
};

}  // namespace sendonce
