// Stands in for plugin/crypto/sign.cpp: reading keys and signing was three quarters of a seed's
// time, and nothing in the simulator looks at a signature. A linker that finds these leaves the
// library's out.
#include <utility>

#include "plugin/core/assert.hpp"
#include "plugin/crypto/digest.hpp"
#include "plugin/crypto/sign.hpp"

namespace sendonce {

struct SigningKey::Key {
  std::string pem{};
  std::uint64_t signatures = 0;
};

SigningKey::SigningKey(SignatureAlgorithm algorithm, std::unique_ptr<Key> key)
    : algorithm_(algorithm), key_(std::move(key)) {}
SigningKey::SigningKey(SigningKey&&) noexcept = default;
SigningKey& SigningKey::operator=(SigningKey&&) noexcept = default;
SigningKey::~SigningKey() = default;

Result<SigningKey> SigningKey::es256(const Credential& pem) {
  return SigningKey(SignatureAlgorithm::es256, std::make_unique<Key>(Key{.pem = pem.expose()}));
}

Result<SigningKey> SigningKey::es256_scalar(const Credential& scalar) {
  return es256(scalar);
}

Result<SigningKey> SigningKey::rs256(const Credential& pem) {
  return SigningKey(SignatureAlgorithm::rs256, std::make_unique<Key>(Key{.pem = pem.expose()}));
}

Result<std::string> SigningKey::public_point() const {
  return std::string(65, '\x04');
}

Result<std::string> SigningKey::sign(std::string_view bytes) const {
  // As with ES256 no two signatures are alike: a token minted anew is another one.
  const std::string nonce = std::to_string(++key_->signatures);
  const Sha256Digest half = hmac_sha256(key_->pem + nonce, bytes);
  std::string signature(half.begin(), half.end());
  signature.append(half.begin(), half.end());  // 64 bytes, as ES256 has them
  return signature;
}

std::string_view name(SignatureAlgorithm algorithm) {
  return algorithm == SignatureAlgorithm::es256 ? "ES256" : "RS256";
}

Result<std::string> raw_signature(std::string_view /*der*/) {
  SO_ASSERT(false);
}

Result<std::string> der_signature(std::string_view /*raw*/) {
  SO_ASSERT(false);
}

}  // namespace sendonce
