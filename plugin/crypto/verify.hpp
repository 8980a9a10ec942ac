// The other side of sign.hpp: what a provider does with our tokens. Used by tests and by the fake
// provider, so that a token is accepted for its signature and not for its looks.
#pragma once

#include <memory>
#include <string_view>

#include "plugin/core/error.hpp"
#include "plugin/core/secret.hpp"
#include "plugin/crypto/sign.hpp"

namespace sendonce {

class VerifyingKey {
 public:
  // From PEM, public or private.
  [[nodiscard]] static Result<VerifyingKey> from_pem(SignatureAlgorithm algorithm,
                                                     const Credential& pem);
  // From the numbers of a JWK (RFC 7518 6), as big-endian bytes.
  [[nodiscard]] static Result<VerifyingKey> from_point(std::string_view x, std::string_view y);
  [[nodiscard]] static Result<VerifyingKey> from_modulus(std::string_view n, std::string_view e);

  VerifyingKey(VerifyingKey&&) noexcept;
  VerifyingKey& operator=(VerifyingKey&&) noexcept;
  ~VerifyingKey();

  // `signature` in the form of JWS. False for anything that is no good signature of `bytes`.
  [[nodiscard]] bool verify(std::string_view bytes, std::string_view signature) const;
  // A compact JWS: the signature over its first two parts. Says nothing about the claims.
  [[nodiscard]] bool verify_jws(std::string_view compact) const;

 private:
  struct Key;
  VerifyingKey(SignatureAlgorithm algorithm, std::unique_ptr<Key> key);

  SignatureAlgorithm algorithm_;
  std::unique_ptr<Key> key_;
};

}  // namespace sendonce
