#include "plugin/crypto/sign.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin/core/text.hpp"
#include "plugin/crypto/verify.hpp"
#include "tests/unit/crypto/test_keys.hpp"

namespace sendonce::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string b64(std::string_view text) {
  return unbase64url(text).value();
}

constexpr std::string_view kRfc7515Claims =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlf"
    "Q";

VerifyingKey rfc7515_point() {
  return VerifyingKey::from_point(b64("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"),
                                  b64("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"))
      .value();
}

// RFC 7515 A.3: somebody else's signature is good, and ours is good with the same key.
TEST(Sign, es256_rfc7515_a3) {
  const std::string input = "eyJhbGciOiJFUzI1NiJ9." + std::string(kRfc7515Claims);
  const std::string signature =
      b64("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q");
  const VerifyingKey point = rfc7515_point();
  EXPECT_TRUE(point.verify(input, signature));
  EXPECT_FALSE(point.verify(input + "x", signature));

  const auto key = SigningKey::es256(Credential(kRfc7515Key));
  ASSERT_TRUE(key) << key.error().text;
  const auto ours = key->sign(input);
  ASSERT_TRUE(ours);
  EXPECT_EQ(ours->size(), 64U);
  EXPECT_TRUE(point.verify(input, *ours));
}

// RFC 7515 A.2.
TEST(Sign, rs256_rfc7515_a2) {
  const auto key = VerifyingKey::from_modulus(
      b64("ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt"
          "0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSX"
          "ndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5"
          "IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"),
      b64("AQAB"));
  ASSERT_TRUE(key) << key.error().text;
  const std::string input = "eyJhbGciOiJSUzI1NiJ9." + std::string(kRfc7515Claims);
  const std::string signature =
      b64("cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W"
          "2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkS"
          "jtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnv"
          "Wh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw");
  EXPECT_TRUE(key->verify(input, signature));
  EXPECT_FALSE(key->verify(input, signature.substr(1)));
}

// RFC 6979 A.2.5, P-256 with SHA-256, message "sample".
TEST(Sign, es256_rfc6979_a25) {
  const auto key = VerifyingKey::from_point(
      unhex("60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6").value(),
      unhex("7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299").value());
  ASSERT_TRUE(key);
  const std::string raw = unhex(
                              "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716"
                              "F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8")
                              .value();
  EXPECT_TRUE(key->verify("sample", raw));
  EXPECT_FALSE(key->verify("Sample", raw));
}

TEST(Sign, rs256_is_deterministic) {
  const auto key = SigningKey::rs256(Credential(kRs256Key));
  ASSERT_TRUE(key) << key.error().text;
  EXPECT_EQ(name(key->algorithm()), "RS256");
  const auto verifier = VerifyingKey::from_pem(SignatureAlgorithm::rs256, Credential(kRs256Key));
  ASSERT_TRUE(verifier);
  const auto signature = key->sign("text");
  EXPECT_TRUE(verifier->verify("text", *signature));
  EXPECT_EQ(*signature, *key->sign("text"));
}

// DER drops leading zeros and guards a high bit with a zero; the raw form has 32 bytes always.
TEST(Sign, der_and_raw_agree_on_leading_zeros_and_high_bits) {
  struct Case {
    std::string r;
    std::string s;
    std::string der;
  };
  const std::string one = std::string(62, '0') + "01";
  const std::string high = "ff" + std::string(62, '1');
  const std::string low = "00" + std::string(62, '7');
  const std::string zeros_then_high = "0000" + std::string("80") + std::string(58, '0');
  const std::vector<Case> cases{
      {one, one, "3006020101020101"},
      {high, one, "3026022100" + high + "020101"},
      {low, high, "3044021f" + low.substr(2) + "022100" + high},
      {zeros_then_high, one, "3024021f00" + zeros_then_high.substr(4) + "020101"},
  };
  for (const Case& c : cases) {
    const std::string raw = unhex(c.r + c.s).value();
    const auto der = der_signature(raw);
    ASSERT_TRUE(der);
    EXPECT_EQ(hex(*der), c.der);
    const auto back = raw_signature(*der);
    ASSERT_TRUE(back);
    EXPECT_EQ(hex(*back), c.r + c.s);
  }
}

// Of 400 random signatures about three have a leading zero byte; all have 64 bytes and verify.
TEST(Sign, many_signatures_have_64_bytes) {
  const auto key = SigningKey::es256(Credential(kEs256Key));
  ASSERT_TRUE(key) << key.error().text;
  const auto verifier =
      VerifyingKey::from_pem(SignatureAlgorithm::es256, Credential(kEs256PublicKey));
  ASSERT_TRUE(verifier) << verifier.error().text;
  for (int i = 0; i < 400; ++i) {
    const std::string text = std::to_string(i);
    const auto signature = key->sign(text);
    ASSERT_TRUE(signature);
    ASSERT_EQ(signature->size(), 64U);
    ASSERT_TRUE(verifier->verify(text, *signature));
  }
}

TEST(Sign, broken_der_and_raw_are_refused) {
  EXPECT_FALSE(raw_signature(""));
  EXPECT_FALSE(raw_signature("not DER"));
  EXPECT_FALSE(raw_signature(unhex("300602010102010100").value()));  // a byte too many
  EXPECT_FALSE(raw_signature(unhex("3026022101" + std::string(64, 'f') + "020101").value()));
  EXPECT_FALSE(der_signature(std::string(63, 'x')));
  EXPECT_FALSE(der_signature(std::string(65, 'x')));
}

TEST(Sign, sec1_is_read_too) {
  EXPECT_TRUE(SigningKey::es256(Credential(kSec1Key)));
}

TEST(Sign, a_key_moves) {
  auto key = SigningKey::es256(Credential(kEs256Key)).value();
  const SigningKey moved = std::move(key);
  EXPECT_TRUE(moved.sign("x"));
}

std::string es256_error(const char* pem) {
  const auto key = SigningKey::es256(Credential(pem));
  return key ? "" : key.error().text;
}

TEST(Sign, errors_say_what_is_wrong_with_the_key) {
  EXPECT_THAT(es256_error(""), HasSubstr("empty"));
  EXPECT_THAT(es256_error("hello"), HasSubstr("no private key in PEM"));
  EXPECT_THAT(es256_error(kEncryptedKey), HasSubstr("encrypted"));
  EXPECT_THAT(es256_error(kEncryptedSec1Key), HasSubstr("encrypted"));
  EXPECT_THAT(es256_error(kP384Key), HasSubstr("P-256"));
  EXPECT_THAT(es256_error(kP384Key), HasSubstr("secp384r1"));
  EXPECT_THAT(es256_error(kRs256Key), HasSubstr("not an elliptic-curve key"));
  EXPECT_THAT(es256_error(kCertificate), HasSubstr("certificate"));
  EXPECT_THAT(es256_error(kEs256PublicKey), HasSubstr("public key"));
  EXPECT_THAT(SigningKey::rs256(Credential(kEs256Key)).error().text, HasSubstr("not an RSA key"));
  EXPECT_THAT(SigningKey::rs256(Credential(kShortRsaKey)).error().text, HasSubstr("1024"));
  EXPECT_THAT(SigningKey::rs256(Credential(kEncryptedKey)).error().text, HasSubstr("encrypted"));
}

TEST(Sign, a_key_cut_anywhere_is_an_error_that_quotes_nothing) {
  const std::string whole(kEs256Key);
  const std::string secret = whole.substr(40, 20);
  for (std::size_t cut = 0; cut + 20 < whole.size(); ++cut) {
    const auto key = SigningKey::es256(Credential(whole.substr(0, cut)));
    ASSERT_FALSE(key) << cut;
    ASSERT_THAT(key.error().text, Not(HasSubstr(secret)));
  }
}

TEST(Verify, garbage_is_no_good_signature) {
  const VerifyingKey point = rfc7515_point();
  EXPECT_FALSE(point.verify("x", ""));
  EXPECT_FALSE(point.verify("x", std::string(64, '\0')));
  EXPECT_FALSE(point.verify("x", std::string(64, '\xff')));
  EXPECT_FALSE(point.verify_jws("no dots"));
  EXPECT_FALSE(point.verify_jws("a.b.***"));
  EXPECT_FALSE(VerifyingKey::from_point("short", "short"));
  EXPECT_FALSE(VerifyingKey::from_point(std::string(32, '\1'), std::string(32, '\2')));
}

}  // namespace
}  // namespace sendonce::test
