#include "plugin/crypto/p256.hpp"

#include <utility>

#include "plugin/crypto/openssl.hpp"

namespace sendonce {

struct P256Key::Key {
  PkeyPtr pkey{};
};

P256Key::P256Key(std::unique_ptr<Key> key, std::string point)
    : key_(std::move(key)), point_(std::move(point)) {}
P256Key::P256Key(P256Key&&) noexcept = default;
P256Key& P256Key::operator=(P256Key&&) noexcept = default;
P256Key::~P256Key() = default;

Result<P256Key> P256Key::generate() {
  auto key = std::make_unique<Key>();
  key->pkey.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  if (key->pkey == nullptr) return fail(Errc::internal, "cannot make a key: " + openssl_reason());
  SO_TRY(std::string point, p256_point(key->pkey.get()));
  return P256Key(std::move(key), std::move(point));
}

Result<P256Key> P256Key::from_scalar(const Credential& scalar) {
  auto key = std::make_unique<Key>();
  SO_TRY(key->pkey, p256_private(scalar.expose()));
  SO_TRY(std::string point, p256_point(key->pkey.get()));
  return P256Key(std::move(key), std::move(point));
}

Result<Credential> P256Key::agree(std::string_view peer) const {
  SO_TRY(const PkeyPtr other, p256_public(peer));
  const PkeyContextPtr context(EVP_PKEY_CTX_new(key_->pkey.get(), nullptr));
  std::string secret(kP256ScalarBytes, '\0');
  std::size_t size = secret.size();
  // p256_public() has seen that the point is on the curve, which is all there is to check where the
  // cofactor is 1; OpenSSL's own check costs as much as the agreement.
  if (context == nullptr || EVP_PKEY_derive_init(context.get()) != 1 ||
      EVP_PKEY_derive_set_peer_ex(context.get(), other.get(), 0) != 1 ||
      EVP_PKEY_derive(context.get(), reinterpret_cast<unsigned char*>(secret.data()), &size) != 1 ||
      size != secret.size())
    return fail(Errc::invalid, "no key agreement: " + openssl_reason());
  return Credential(std::move(secret));
}

}  // namespace sendonce
