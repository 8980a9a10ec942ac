#include "plugin/crypto/openssl.hpp"

#include <array>
#include <limits>

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>

namespace sendonce {
namespace {

struct BioDelete {
  void operator()(BIO* bio) const noexcept { BIO_free(bio); }
};
using BioPtr = std::unique_ptr<BIO, BioDelete>;

struct PartDelete {
  void operator()(OSSL_PARAM_BLD* builder) const noexcept { OSSL_PARAM_BLD_free(builder); }
  void operator()(OSSL_PARAM* params) const noexcept { OSSL_PARAM_free(params); }
  void operator()(BIGNUM* number) const noexcept { BN_clear_free(number); }
  void operator()(EC_GROUP* group) const noexcept { EC_GROUP_free(group); }
  void operator()(EC_POINT* point) const noexcept { EC_POINT_free(point); }
};
template <class T>
using Part = std::unique_ptr<T, PartDelete>;

constexpr const char* kCurve = "prime256v1";
constexpr std::size_t kScalarBytes = 32;
constexpr std::size_t kPointBytes = 65;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// `scalar` may be null: then it is a public key.
Result<PkeyPtr> p256_key(const BIGNUM* scalar, std::string_view point) {
  const Part<OSSL_PARAM_BLD> builder(OSSL_PARAM_BLD_new());
  if (builder == nullptr ||
      OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, kCurve, 0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                       point.size()) != 1 ||
      (scalar != nullptr &&
       OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_PRIV_KEY, scalar) != 1))
    return fail(Errc::internal, "no memory for a key");
  const Part<OSSL_PARAM> params(OSSL_PARAM_BLD_to_param(builder.get()));
  const PkeyContextPtr context(EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr));
  EVP_PKEY* key = nullptr;
  const int part = scalar == nullptr ? EVP_PKEY_PUBLIC_KEY : EVP_PKEY_KEYPAIR;
  if (params == nullptr || context == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, part, params.get()) != 1)
    return fail(Errc::invalid, "not a key on P-256: " + openssl_reason());
  return PkeyPtr(key);
}

// Without this OpenSSL would ask at the terminal.
int no_password(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*context*/) {
  return -1;
}

Result<BioPtr> reader_of(std::string_view pem) {
  if (pem.empty()) return fail(Errc::invalid, "the key file is empty");
  if (pem.size() > 64U * 1024U) return fail(Errc::invalid, "the key file is longer than 64 KiB");
  BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  if (bio == nullptr) return fail(Errc::internal, "no memory for a key");
  return bio;
}

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

void OpensslDelete::operator()(EVP_PKEY* key) const noexcept {
  EVP_PKEY_free(key);
}

void OpensslDelete::operator()(EVP_MD_CTX* context) const noexcept {
  EVP_MD_CTX_free(context);
}

void OpensslDelete::operator()(EVP_PKEY_CTX* context) const noexcept {
  EVP_PKEY_CTX_free(context);
}

void OpensslDelete::operator()(EVP_CIPHER_CTX* context) const noexcept {
  EVP_CIPHER_CTX_free(context);
}

std::string openssl_reason() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "no reason given" : reason;
}

Result<PkeyPtr> private_key(std::string_view pem) {
  if (holds(pem, "BEGIN ENCRYPTED PRIVATE KEY") || holds(pem, "Proc-Type: 4,ENCRYPTED"))
    return fail(
        Errc::invalid,
        "the key is encrypted; store it without a password (openssl pkcs8 -topk8 -nocrypt)");
  SO_TRY(const BioPtr bio, reader_of(pem));
  if (!holds(pem, "PRIVATE KEY-----")) {
    if (holds(pem, "BEGIN CERTIFICATE"))
      return fail(Errc::invalid, "the file holds a certificate and no private key");
    if (holds(pem, "BEGIN PUBLIC KEY"))
      return fail(Errc::invalid, "the file holds a public key; the private key is needed");
    return fail(Errc::invalid,
                "the file holds no private key in PEM (no line -----BEGIN PRIVATE KEY-----)");
  }
  PkeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  if (key == nullptr)
    return fail(Errc::invalid, "the private key cannot be read: " + openssl_reason());
  return key;
}

Result<PkeyPtr> public_key(std::string_view pem) {
  SO_TRY(const BioPtr bio, reader_of(pem));
  PkeyPtr key(PEM_read_bio_PUBKEY(bio.get(), nullptr, no_password, nullptr));
  if (key == nullptr)
    return fail(Errc::invalid, "the public key cannot be read: " + openssl_reason());
  return key;
}

Result<PkeyPtr> p256_private(std::string_view scalar) {
  if (scalar.size() != kScalarBytes)
    return fail(Errc::invalid,
                "a private key on P-256 has 32 bytes, this one " + std::to_string(scalar.size()));
  const Part<BIGNUM> number(BN_bin2bn(bytes_of(scalar), static_cast<int>(scalar.size()), nullptr));
  const Part<EC_GROUP> group(EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1));
  if (number == nullptr || group == nullptr) return fail(Errc::internal, "no memory for a key");
  if (BN_is_zero(number.get()) || BN_cmp(number.get(), EC_GROUP_get0_order(group.get())) >= 0)
    return fail(Errc::invalid, "the private key is out of the range of P-256");
  const Part<EC_POINT> point(EC_POINT_new(group.get()));
  std::string octets(kPointBytes, '\0');
  if (point == nullptr ||
      EC_POINT_mul(group.get(), point.get(), number.get(), nullptr, nullptr, nullptr) != 1 ||
      EC_POINT_point2oct(group.get(), point.get(), POINT_CONVERSION_UNCOMPRESSED,
                         reinterpret_cast<unsigned char*>(octets.data()), octets.size(),
                         nullptr) != octets.size())
    return fail(Errc::internal, "cannot compute a public key: " + openssl_reason());
  return p256_key(number.get(), octets);
}

Result<PkeyPtr> p256_public(std::string_view point) {
  if (point.size() != kPointBytes || point.front() != '\x04')
    return fail(Errc::invalid, "a point on P-256 has 65 bytes and begins with 4");
  return p256_key(nullptr, point);
}

Result<std::string> p256_point(EVP_PKEY* key) {
  std::string point(kPointBytes, '\0');
  std::size_t size = 0;
  // The form of a key that was read from PEM may be the compressed one.
  if (EVP_PKEY_set_utf8_string_param(key, OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT,
                                     OSSL_PKEY_EC_POINT_CONVERSION_FORMAT_UNCOMPRESSED) != 1 ||
      EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY,
                                      reinterpret_cast<unsigned char*>(point.data()), point.size(),
                                      &size) != 1 ||
      size != point.size())
    return fail(Errc::invalid, "the key has no public point: " + openssl_reason());
  return point;
}

Result<void> check_p256(EVP_PKEY* key) {
  if (EVP_PKEY_get_base_id(key) != EVP_PKEY_EC)
    return fail(Errc::invalid, "the key is not an elliptic-curve key; ES256 needs one on P-256");
  std::array<char, 64> group{};
  std::size_t size = 0;
  if (EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, group.data(), group.size(),
                                     &size) != 1)
    return fail(Errc::invalid, "the key names no curve: " + openssl_reason());
  const std::string_view curve(group.data(), size);
  if (curve != "prime256v1" && curve != "P-256")
    return fail(Errc::invalid,
                "the key is on curve " + std::string(curve) + "; ES256 needs P-256 (prime256v1)");
  return {};
}

Result<void> check_rsa(EVP_PKEY* key) {
  if (EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA)
    return fail(Errc::invalid, "the key is not an RSA key; RS256 needs one");
  const int bits = EVP_PKEY_get_bits(key);
  if (bits < 2048)
    return fail(Errc::invalid,
                "the RSA key has " + std::to_string(bits) + " bits; RS256 needs at least 2048");
  return {};
}

}  // namespace sendonce
