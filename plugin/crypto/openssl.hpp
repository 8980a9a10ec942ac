// RAII for the handles of OpenSSL, its error queue, and reading keys. Only below plugin/crypto.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <openssl/evp.h>

#include "plugin/core/error.hpp"

namespace sendonce {

struct OpensslDelete {
  void operator()(EVP_PKEY* key) const noexcept;
  void operator()(EVP_MD_CTX* context) const noexcept;
  void operator()(EVP_PKEY_CTX* context) const noexcept;
  void operator()(EVP_CIPHER_CTX* context) const noexcept;
};
using PkeyPtr = std::unique_ptr<EVP_PKEY, OpensslDelete>;
using MdContextPtr = std::unique_ptr<EVP_MD_CTX, OpensslDelete>;
using PkeyContextPtr = std::unique_ptr<EVP_PKEY_CTX, OpensslDelete>;
using CipherContextPtr = std::unique_ptr<EVP_CIPHER_CTX, OpensslDelete>;

// The last reason that OpenSSL gave, and empties its queue. Quotes no input.
[[nodiscard]] std::string openssl_reason();

// A private key in PEM. Encrypted keys are refused: there is nobody to ask for a password.
[[nodiscard]] Result<PkeyPtr> private_key(std::string_view pem);
[[nodiscard]] Result<PkeyPtr> public_key(std::string_view pem);

// A key on P-256 from its scalar of 32 bytes, or from its uncompressed point of 65.
[[nodiscard]] Result<PkeyPtr> p256_private(std::string_view scalar);
[[nodiscard]] Result<PkeyPtr> p256_public(std::string_view point);
// The uncompressed point of a key on P-256.
[[nodiscard]] Result<std::string> p256_point(EVP_PKEY* key);

// What JWS asks of a key for ES256 and RS256.
[[nodiscard]] Result<void> check_p256(EVP_PKEY* key);
[[nodiscard]] Result<void> check_rsa(EVP_PKEY* key);

}  // namespace sendonce
