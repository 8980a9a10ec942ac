#include "plugin/crypto/verify.hpp"

#include <utility>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/param_build.h>

#include "plugin/core/text.hpp"
#include "plugin/crypto/openssl.hpp"

namespace sendonce {
namespace {

struct ParamDelete {
  void operator()(OSSL_PARAM_BLD* builder) const noexcept { OSSL_PARAM_BLD_free(builder); }
  void operator()(OSSL_PARAM* params) const noexcept { OSSL_PARAM_free(params); }
  void operator()(EVP_PKEY_CTX* context) const noexcept { EVP_PKEY_CTX_free(context); }
  void operator()(BIGNUM* number) const noexcept { BN_free(number); }
};
template <class T>
using Owned = std::unique_ptr<T, ParamDelete>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Result<PkeyPtr> make_public(const char* type, OSSL_PARAM_BLD* builder) {
  const Owned<OSSL_PARAM> params(OSSL_PARAM_BLD_to_param(builder));
  const Owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (params == nullptr || context == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) != 1)
    return fail(Errc::invalid, "not a public key: " + openssl_reason());
  return PkeyPtr(key);
}

}  // namespace

struct VerifyingKey::Key {
  PkeyPtr pkey{};
};

VerifyingKey::VerifyingKey(SignatureAlgorithm algorithm, std::unique_ptr<Key> key)
    : algorithm_(algorithm), key_(std::move(key)) {}
VerifyingKey::VerifyingKey(VerifyingKey&&) noexcept = default;
VerifyingKey& VerifyingKey::operator=(VerifyingKey&&) noexcept = default;
VerifyingKey::~VerifyingKey() = default;

Result<VerifyingKey> VerifyingKey::from_pem(SignatureAlgorithm algorithm, const Credential& pem) {
  const bool is_public = pem.expose().find("BEGIN PUBLIC KEY") != std::string::npos;
  SO_TRY(PkeyPtr pkey, is_public ? public_key(pem.expose()) : private_key(pem.expose()));
  SO_CHECK(algorithm == SignatureAlgorithm::es256 ? check_p256(pkey.get()) : check_rsa(pkey.get()));
  auto key = std::make_unique<Key>();
  key->pkey = std::move(pkey);
  return VerifyingKey(algorithm, std::move(key));
}

Result<VerifyingKey> VerifyingKey::from_point(std::string_view x, std::string_view y) {
  if (x.size() != 32 || y.size() != 32)
    return fail(Errc::invalid, "a point on P-256 has two coordinates of 32 bytes");
  std::string point("\x04");
  point.append(x).append(y);
  auto key = std::make_unique<Key>();
  SO_TRY(key->pkey, p256_public(point));
  return VerifyingKey(SignatureAlgorithm::es256, std::move(key));
}

Result<VerifyingKey> VerifyingKey::from_modulus(std::string_view n, std::string_view e) {
  const Owned<BIGNUM> modulus(BN_bin2bn(bytes_of(n), static_cast<int>(n.size()), nullptr));
  const Owned<BIGNUM> exponent(BN_bin2bn(bytes_of(e), static_cast<int>(e.size()), nullptr));
  const Owned<OSSL_PARAM_BLD> builder(OSSL_PARAM_BLD_new());
  if (modulus == nullptr || exponent == nullptr || builder == nullptr ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get()) != 1)
    return fail(Errc::internal, "no memory for a key");
  auto key = std::make_unique<Key>();
  SO_TRY(key->pkey, make_public("RSA", builder.get()));
  return VerifyingKey(SignatureAlgorithm::rs256, std::move(key));
}

bool VerifyingKey::verify(std::string_view bytes, std::string_view signature) const {
  std::string form(signature);
  if (algorithm_ == SignatureAlgorithm::es256) {
    auto der = der_signature(signature);
    if (!der) return false;
    form = std::move(*der);
  }
  const MdContextPtr context(EVP_MD_CTX_new());
  const bool good = context != nullptr &&
                    EVP_DigestVerifyInit_ex(context.get(), nullptr, "SHA256", nullptr, nullptr,
                                            key_->pkey.get(), nullptr) == 1 &&
                    EVP_DigestVerify(context.get(), bytes_of(form), form.size(), bytes_of(bytes),
                                     bytes.size()) == 1;
  ERR_clear_error();
  return good;
}

bool VerifyingKey::verify_jws(std::string_view compact) const {
  const std::size_t dot = compact.rfind('.');
  if (dot == std::string_view::npos) return false;
  const auto signature = unbase64url(compact.substr(dot + 1));
  return signature && verify(compact.substr(0, dot), *signature);
}

}  // namespace sendonce
