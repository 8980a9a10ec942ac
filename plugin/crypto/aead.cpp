#include "plugin/crypto/aead.hpp"

#include <openssl/err.h>
#include <openssl/rand.h>

#include "plugin/core/assert.hpp"
#include "plugin/crypto/digest.hpp"
#include "plugin/crypto/openssl.hpp"

namespace sendonce {
namespace {

unsigned char* bytes_of(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string_view text_of(const Sha256Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

std::string hkdf_sha256(std::string_view salt, std::string_view secret, std::string_view info,
                        std::size_t bytes) {
  SO_ASSERT(bytes <= std::tuple_size_v<Sha256Digest>);
  const Sha256Digest key = hmac_sha256(salt, secret);
  std::string block(info);
  block.push_back('\x01');
  const Sha256Digest out = hmac_sha256(text_of(key), block);
  return std::string(text_of(out).substr(0, bytes));
}

Result<std::string> seal_aes128gcm(std::string_view key, std::string_view nonce,
                                   std::string_view plaintext) {
  SO_ASSERT(key.size() == kAesKeyBytes && nonce.size() == kGcmNonceBytes);
  SO_ASSERT(plaintext.size() < (1U << 30U));
  const CipherContextPtr context(EVP_CIPHER_CTX_new());
  std::string out(plaintext.size() + kGcmTagBytes, '\0');
  int size = 0;
  int last = 0;
  if (context == nullptr ||
      EVP_EncryptInit_ex2(context.get(), EVP_aes_128_gcm(), bytes_of(key), bytes_of(nonce),
                          nullptr) != 1 ||
      EVP_EncryptUpdate(context.get(), bytes_of(out), &size, bytes_of(plaintext),
                        static_cast<int>(plaintext.size())) != 1 ||
      EVP_EncryptFinal_ex(context.get(), bytes_of(out) + size, &last) != 1 ||
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, static_cast<int>(kGcmTagBytes),
                          bytes_of(out) + plaintext.size()) != 1)
    return fail(Errc::internal, "cannot encrypt: " + openssl_reason());
  return out;
}

std::optional<std::string> open_aes128gcm(std::string_view key, std::string_view nonce,
                                          std::string_view sealed) {
  SO_ASSERT(key.size() == kAesKeyBytes && nonce.size() == kGcmNonceBytes);
  if (sealed.size() < kGcmTagBytes || sealed.size() >= (1U << 30U)) return std::nullopt;
  const CipherContextPtr context(EVP_CIPHER_CTX_new());
  const std::string_view body = sealed.substr(0, sealed.size() - kGcmTagBytes);
  std::string tag(sealed.substr(body.size()));
  std::string out(body.size() + 1, '\0');
  int size = 0;
  int last = 0;
  const bool good = context != nullptr &&
                    EVP_DecryptInit_ex2(context.get(), EVP_aes_128_gcm(), bytes_of(key),
                                        bytes_of(nonce), nullptr) == 1 &&
                    EVP_DecryptUpdate(context.get(), bytes_of(out), &size, bytes_of(body),
                                      static_cast<int>(body.size())) == 1 &&
                    EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG,
                                        static_cast<int>(kGcmTagBytes), tag.data()) == 1 &&
                    EVP_DecryptFinal_ex(context.get(), bytes_of(out) + size, &last) == 1;
  ERR_clear_error();
  if (!good) return std::nullopt;
  out.resize(body.size());
  return out;
}

Result<std::string> secret_bytes(std::size_t bytes) {
  std::string out(bytes, '\0');
  if (RAND_bytes(bytes_of(out), static_cast<int>(bytes)) != 1)
    return fail(Errc::unavailable, "no random bytes: " + openssl_reason());
  return out;
}

}  // namespace sendonce
