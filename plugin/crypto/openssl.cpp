#include "plugin/crypto/openssl.hpp"

#include <array>
#include <limits>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/pem.h>

namespace sendonce {
namespace {

struct BioDelete {
  void operator()(BIO* bio) const noexcept { BIO_free(bio); }
};
using BioPtr = std::unique_ptr<BIO, BioDelete>;

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
