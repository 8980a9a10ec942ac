// Signatures of JSON Web Signature: ES256 for APNs, RS256 for Google (RFC 7518 3.3 and 3.4).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "plugin/core/error.hpp"
#include "plugin/core/secret.hpp"

namespace sendonce {

enum class SignatureAlgorithm : std::uint8_t { es256, rs256 };
[[nodiscard]] std::string_view name(SignatureAlgorithm algorithm);  // as the `alg` header has it

// A private key that was found fit for its algorithm. Movable, not thread-safe.
class SigningKey {
 public:
  // PEM as Apple's .p8 has it (PKCS#8) or SEC1, on P-256. RFC 7518 3.4 allows no other curve.
  [[nodiscard]] static Result<SigningKey> es256(const Credential& pem);
  // The scalar alone, 32 bytes, as tools for Web Push write it (in base64url).
  [[nodiscard]] static Result<SigningKey> es256_scalar(const Credential& scalar);
  // PEM as the private_key of a Google service account has it, of at least 2048 bits (RFC
  // 7518 3.3).
  [[nodiscard]] static Result<SigningKey> rs256(const Credential& pem);

  SigningKey(SigningKey&&) noexcept;
  SigningKey& operator=(SigningKey&&) noexcept;
  ~SigningKey();

  [[nodiscard]] SignatureAlgorithm algorithm() const noexcept { return algorithm_; }
  // The public point, 65 bytes; of a key for ES256 only.
  [[nodiscard]] Result<std::string> public_point() const;
  // The signature as JWS wants it: for ES256 r and s, 32 bytes each. ES256 is random: equal bytes
  // give different signatures.
  [[nodiscard]] Result<std::string> sign(std::string_view bytes) const;

 private:
  struct Key;
  SigningKey(SignatureAlgorithm algorithm, std::unique_ptr<Key> key);

  SignatureAlgorithm algorithm_;
  std::unique_ptr<Key> key_;
};

// The two forms of an ECDSA signature on P-256: OpenSSL makes DER, JWS wants r and s in 64 bytes.
// DER drops leading zeros and adds one before a high bit.
[[nodiscard]] Result<std::string> raw_signature(std::string_view der);
[[nodiscard]] Result<std::string> der_signature(std::string_view raw);

}  // namespace sendonce
