// Voluntary identification of an application server (RFC 8292): a token for each push service,
// signed with the key that the subscriptions were made with.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/secret.hpp"
#include "plugin/crypto/sign.hpp"

namespace sendonce {

// Pure but for the signature, which is random. One thread.
class VapidTokens {
 public:
  // `key`: PEM, or the 32 octets of the private key in base64url, as the tools of Web Push print
  // them. `subject`: mailto: or https:, whom a push service may write to. invalid: what is wrong.
  [[nodiscard]] static Result<VapidTokens> make(const Credential& key, std::string_view subject);

  // "vapid t=…, k=…" for "https://host[:port]". Signed for 12 hours and used for 11 of them: a push
  // service refuses more than 24, and Apple asks for no new one within the hour. A clock that was
  // set back counts as an old token.
  [[nodiscard]] Result<std::string_view> authorization(std::string_view origin, WallTime now);

  // As pages give it to PushManager.subscribe(): 65 octets in base64url.
  [[nodiscard]] const std::string& public_key() const noexcept { return public_key_; }

 private:
  VapidTokens(SigningKey key, std::string public_key, std::string_view subject);

  struct Token {
    std::string authorization{};
    WallTime minted{};
  };
  SigningKey key_;
  std::string public_key_;
  std::string subject_;
  std::map<std::string, Token, std::less<>> tokens_{};  // by origin
};

}  // namespace sendonce
