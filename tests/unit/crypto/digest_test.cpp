#include "plugin/crypto/digest.hpp"

#include <gtest/gtest.h>

#include "plugin/core/text.hpp"

namespace sendonce::test {
namespace {

std::string hex_of(const Sha256Digest& digest) {
  return hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

// FIPS 180-4, the examples of NIST.
TEST(Digest, sha256_vectors) {
  Sha256 sha;
  EXPECT_EQ(hex_of(sha.of("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex_of(sha.of("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  sha.begin();
  sha.update("abcdbcdecdefdefgefghfghighij");
  sha.update("hijkijkljklmklmnlmnomnopnopq");
  EXPECT_EQ(hex_of(sha.finish()),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Digest, fields_do_not_run_into_each_other) {
  Sha256 sha;
  sha.begin();
  sha.update_field("ab");
  sha.update_field("c");
  const auto one = sha.finish();
  sha.begin();
  sha.update_field("a");
  sha.update_field("bc");
  EXPECT_NE(one, sha.finish());
}

// RFC 4231 4.3.
TEST(Digest, hmac_vector) {
  EXPECT_EQ(hex_of(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(Digest, a_secret_is_the_same_as_itself_alone) {
  EXPECT_TRUE(same_secret("secret", "secret"));
  for (const char* other : {"", "secre", "secret2", "Secret", "secreT"})
    EXPECT_FALSE(same_secret("secret", other)) << other;
  EXPECT_TRUE(same_secret("", ""));
}

}  // namespace
}  // namespace sendonce::test
