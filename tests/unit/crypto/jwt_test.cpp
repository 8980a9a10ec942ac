#include "plugin/crypto/jwt.hpp"

#include <gtest/gtest.h>

#include "plugin/core/text.hpp"
#include "plugin/crypto/verify.hpp"
#include "tests/unit/crypto/test_keys.hpp"

namespace sendonce::test {
namespace {

TEST(Jwt, three_parts_byte_for_byte_and_a_good_signature) {
  const auto key = SigningKey::es256(Credential(kEs256Key));
  ASSERT_TRUE(key);
  const auto jws = make_jws(*key, R"({"alg":"ES256","kid":"ABC"})", R"({"iss":"T","iat":1})");
  ASSERT_TRUE(jws);
  const std::size_t first = jws->find('.');
  const std::size_t second = jws->find('.', first + 1);
  EXPECT_EQ(unbase64url(jws->substr(0, first)), R"({"alg":"ES256","kid":"ABC"})");
  EXPECT_EQ(unbase64url(jws->substr(first + 1, second - first - 1)), R"({"iss":"T","iat":1})");
  EXPECT_EQ(jws->find_first_of("=+/\n"), std::string::npos);

  const auto verifier = VerifyingKey::from_pem(SignatureAlgorithm::es256, Credential(kEs256Key));
  EXPECT_TRUE(verifier->verify_jws(*jws));
  std::string forged = *jws;
  forged[first + 3] = forged[first + 3] == 'A' ? 'B' : 'A';
  EXPECT_FALSE(verifier->verify_jws(forged));
}

}  // namespace
}  // namespace sendonce::test
