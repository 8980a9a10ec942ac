// The SHA256_* functions, which OpenSSL 3 still has and only calls old: EVP allocates and frees a
// state for every digest (3.0 to 3.5), and a delivery needs four.
#define OPENSSL_API_COMPAT 0x10100000L

#include "plugin/crypto/digest.hpp"

#include <cstring>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include "plugin/core/assert.hpp"

namespace sendonce {

struct Sha256::State {
  SHA256_CTX context{};
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}

Sha256::~Sha256() = default;

void Sha256::begin() {
  size_ = 0;
  SO_ASSERT(SHA256_Init(&state_->context) == 1);
}

void Sha256::update(std::string_view bytes) {
  if (bytes.size() > gathered_.size() - size_) flush();
  if (bytes.size() > gathered_.size()) {
    SO_ASSERT(SHA256_Update(&state_->context, bytes.data(), bytes.size()) == 1);
    return;
  }
  bytes.copy(gathered_.data() + size_, bytes.size());
  size_ += bytes.size();
}

void Sha256::flush() {
  SO_ASSERT(SHA256_Update(&state_->context, gathered_.data(), size_) == 1);
  size_ = 0;
}

void Sha256::update_field(std::string_view bytes) {
  const auto n = static_cast<std::uint32_t>(bytes.size());
  const std::array<char, 4> size{static_cast<char>(n >> 24U), static_cast<char>(n >> 16U),
                                 static_cast<char>(n >> 8U), static_cast<char>(n)};
  if (bytes.size() + size.size() > gathered_.size() - size_) {
    update({size.data(), size.size()});
    return update(bytes);
  }
  char* const to = gathered_.data() + size_;
  std::memcpy(to, size.data(), size.size());
  bytes.copy(to + size.size(), bytes.size());
  size_ += size.size() + bytes.size();
}

Sha256Digest Sha256::finish() {
  flush();
  Sha256Digest digest{};
  SO_ASSERT(SHA256_Final(digest.data(), &state_->context) == 1);
  return digest;
}

Sha256Digest Sha256::of(std::string_view bytes) {
  begin();
  update(bytes);
  return finish();
}

Sha256Digest hmac_sha256(std::string_view secret, std::string_view bytes) {
  Sha256Digest digest{};
  unsigned size = 0;
  SO_ASSERT(HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                 reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data(),
                 &size) != nullptr);
  SO_ASSERT(size == digest.size());
  return digest;
}

bool same_secret(std::string_view secret, std::string_view given) {
  return secret.size() == given.size() &&
         CRYPTO_memcmp(secret.data(), given.data(), secret.size()) == 0;
}

}  // namespace sendonce
