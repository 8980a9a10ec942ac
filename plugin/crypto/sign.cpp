#include "plugin/crypto/sign.hpp"

#include <utility>

#include <openssl/ec.h>
#include <openssl/ecdsa.h>

#include "plugin/crypto/openssl.hpp"

namespace sendonce {
namespace {

constexpr int kScalarBytes = 32;  // of P-256
constexpr std::size_t kRawBytes = 64;

struct EcdsaDelete {
  void operator()(ECDSA_SIG* signature) const noexcept { ECDSA_SIG_free(signature); }
};
using EcdsaPtr = std::unique_ptr<ECDSA_SIG, EcdsaDelete>;

unsigned char* bytes_of(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::string_view name(SignatureAlgorithm algorithm) {
  switch (algorithm) {
    case SignatureAlgorithm::es256:
      return "ES256";
    case SignatureAlgorithm::rs256:
      return "RS256";
  }
  SO_ASSERT(false);
}

struct SigningKey::Key {
  PkeyPtr pkey{};
};

SigningKey::SigningKey(SignatureAlgorithm algorithm, std::unique_ptr<Key> key)
    : algorithm_(algorithm), key_(std::move(key)) {}
SigningKey::SigningKey(SigningKey&&) noexcept = default;
SigningKey& SigningKey::operator=(SigningKey&&) noexcept = default;
SigningKey::~SigningKey() = default;

Result<SigningKey> SigningKey::es256(const Credential& pem) {
  SO_TRY(PkeyPtr pkey, private_key(pem.expose()));
  SO_CHECK(check_p256(pkey.get()));
  auto key = std::make_unique<Key>();
  key->pkey = std::move(pkey);
  return SigningKey(SignatureAlgorithm::es256, std::move(key));
}

Result<SigningKey> SigningKey::es256_scalar(const Credential& scalar) {
  auto key = std::make_unique<Key>();
  SO_TRY(key->pkey, p256_private(scalar.expose()));
  return SigningKey(SignatureAlgorithm::es256, std::move(key));
}

Result<std::string> SigningKey::public_point() const {
  return p256_point(key_->pkey.get());
}

Result<SigningKey> SigningKey::rs256(const Credential& pem) {
  SO_TRY(PkeyPtr pkey, private_key(pem.expose()));
  SO_CHECK(check_rsa(pkey.get()));
  auto key = std::make_unique<Key>();
  key->pkey = std::move(pkey);
  return SigningKey(SignatureAlgorithm::rs256, std::move(key));
}

Result<std::string> SigningKey::sign(std::string_view bytes) const {
  const MdContextPtr context(EVP_MD_CTX_new());
  if (context == nullptr || EVP_DigestSignInit_ex(context.get(), nullptr, "SHA256", nullptr,
                                                  nullptr, key_->pkey.get(), nullptr) != 1)
    return fail(Errc::internal, "cannot sign: " + openssl_reason());
  std::size_t size = 0;
  if (EVP_DigestSign(context.get(), nullptr, &size, bytes_of(bytes), bytes.size()) != 1)
    return fail(Errc::internal, "cannot sign: " + openssl_reason());
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(), bytes_of(signature), &size, bytes_of(bytes), bytes.size()) != 1)
    return fail(Errc::internal, "cannot sign: " + openssl_reason());
  signature.resize(size);
  return algorithm_ == SignatureAlgorithm::es256 ? raw_signature(signature)
                                                 : Result<std::string>(std::move(signature));
}

Result<std::string> raw_signature(std::string_view der) {
  const unsigned char* at = bytes_of(der);
  const EcdsaPtr signature(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())));
  if (signature == nullptr || at != bytes_of(der) + der.size())
    return fail(Errc::invalid, "not an ECDSA signature in DER: " + openssl_reason());
  std::string raw(kRawBytes, '\0');
  if (BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), bytes_of(raw), kScalarBytes) < 0 ||
      BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), bytes_of(raw) + kScalarBytes, kScalarBytes) <
          0)
    return fail(Errc::invalid, "not an ECDSA signature on P-256: " + openssl_reason());
  return raw;
}

Result<std::string> der_signature(std::string_view raw) {
  if (raw.size() != kRawBytes)
    return fail(Errc::invalid,
                "an ES256 signature has 64 bytes, this one " + std::to_string(raw.size()));
  const EcdsaPtr signature(ECDSA_SIG_new());
  BIGNUM* r = BN_bin2bn(bytes_of(raw), kScalarBytes, nullptr);
  BIGNUM* s = BN_bin2bn(bytes_of(raw) + kScalarBytes, kScalarBytes, nullptr);
  if (signature == nullptr || r == nullptr || s == nullptr ||
      ECDSA_SIG_set0(signature.get(), r, s) != 1) {  // takes both over
    BN_free(r);
    BN_free(s);
    return fail(Errc::internal, "no memory for a signature");
  }
  const int size = i2d_ECDSA_SIG(signature.get(), nullptr);
  if (size <= 0) return fail(Errc::internal, "cannot encode a signature: " + openssl_reason());
  std::string der(static_cast<std::size_t>(size), '\0');
  unsigned char* out = bytes_of(der);
  i2d_ECDSA_SIG(signature.get(), &out);
  return der;
}

}  // namespace sendonce
