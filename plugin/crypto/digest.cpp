#include "plugin/crypto/digest.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "plugin/core/assert.hpp"

namespace sendonce {

struct Sha256::State {
  std::unique_ptr<EVP_MD, void (*)(EVP_MD*)> algorithm{EVP_MD_fetch(nullptr, "SHA256", nullptr),
                                                       EVP_MD_free};
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  SO_ASSERT(state_->algorithm != nullptr && state_->context != nullptr);
}

Sha256::~Sha256() = default;

void Sha256::begin() {
  SO_ASSERT(EVP_DigestInit_ex2(state_->context.get(), state_->algorithm.get(), nullptr) == 1);
}

void Sha256::update(std::string_view bytes) {
  SO_ASSERT(EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()) == 1);
}

void Sha256::update_field(std::string_view bytes) {
  const auto n = static_cast<std::uint32_t>(bytes.size());
  const std::array<char, 4> size{static_cast<char>(n >> 24U), static_cast<char>(n >> 16U),
                                 static_cast<char>(n >> 8U), static_cast<char>(n)};
  update({size.data(), size.size()});
  update(bytes);
}

Sha256Digest Sha256::finish() {
  Sha256Digest digest{};
  SO_ASSERT(EVP_DigestFinal_ex(state_->context.get(), digest.data(), nullptr) == 1);
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

}  // namespace sendonce
