#include "plugin/crypto/aead.hpp"

#include <gtest/gtest.h>

#include "plugin/core/text.hpp"

namespace sendonce::test {
namespace {

std::string b64(std::string_view text) {
  return unbase64url(text).value();
}

// RFC 8188 3.1: "I am the walrus" in one record.
TEST(Aead, rfc8188_3_1) {
  const std::string body =
      b64("I1BsxtFttlv3u_Oo94xnmwAAEAAA-NAVub2qFgBEuQKRapoZu-IxkIva3MEB1PD-ly8Thjg");
  const std::string salt = body.substr(0, 16);
  const std::string secret = b64("yqdlZ-tYemfogSmv7Ws5PQ");
  const std::string key =
      hkdf_sha256(salt, secret, std::string_view("Content-Encoding: aes128gcm\0", 28), 16);
  const std::string nonce =
      hkdf_sha256(salt, secret, std::string_view("Content-Encoding: nonce\0", 24), 12);
  EXPECT_EQ(base64url(key), "_wniytB-ofscZDh4tbSjHw");
  EXPECT_EQ(base64url(nonce), "Bcs8gkIRKLI8GeI8");
  EXPECT_EQ(open_aes128gcm(key, nonce, body.substr(21)), "I am the walrus\x02");
  EXPECT_EQ(seal_aes128gcm(key, nonce, "I am the walrus\x02").value(), body.substr(21));
}

TEST(Aead, a_changed_bit_is_seen) {
  const std::string key(16, 'k');
  const std::string nonce(12, 'n');
  const std::string sealed = seal_aes128gcm(key, nonce, "text").value();
  EXPECT_EQ(sealed.size(), 4 + kGcmTagBytes);
  EXPECT_EQ(open_aes128gcm(key, nonce, sealed), "text");
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string other = sealed;
    other[i] = static_cast<char>(other[i] ^ 0x10);
    EXPECT_FALSE(open_aes128gcm(key, nonce, other)) << i;
  }
  EXPECT_FALSE(open_aes128gcm(key, nonce, sealed.substr(1)));
  EXPECT_FALSE(open_aes128gcm(key, nonce, ""));
  EXPECT_FALSE(open_aes128gcm(std::string(16, 'l'), nonce, sealed));
  EXPECT_EQ(open_aes128gcm(key, nonce, seal_aes128gcm(key, nonce, "").value()), "");
}

TEST(Aead, secret_bytes_differ) {
  EXPECT_EQ(secret_bytes(16)->size(), 16U);
  EXPECT_NE(*secret_bytes(16), *secret_bytes(16));
}

}  // namespace
}  // namespace sendonce::test
