#include "plugin/crypto/p256.hpp"

#include <gtest/gtest.h>

#include "plugin/core/text.hpp"
#include "plugin/crypto/sign.hpp"
#include "tests/unit/crypto/test_keys.hpp"

namespace sendonce::test {
namespace {

std::string b64(std::string_view text) {
  return unbase64url(text).value();
}

// RFC 8291 appendix A: both sides, their points, and what they agree on.
constexpr std::string_view kSender = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw";
constexpr std::string_view kSenderPoint =
    "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8";
constexpr std::string_view kReceiver = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94";
constexpr std::string_view kReceiverPoint =
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";

TEST(P256, rfc8291_appendix_a) {
  const auto sender = P256Key::from_scalar(Credential(b64(kSender)));
  const auto receiver = P256Key::from_scalar(Credential(b64(kReceiver)));
  ASSERT_TRUE(sender && receiver);
  EXPECT_EQ(base64url(sender->point()), kSenderPoint);
  EXPECT_EQ(base64url(receiver->point()), kReceiverPoint);
  const auto one = sender->agree(receiver->point());
  const auto other = receiver->agree(sender->point());
  ASSERT_TRUE(one && other);
  EXPECT_EQ(base64url(one->expose()), "kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs");
  EXPECT_EQ(*one, *other);
}

TEST(P256, a_fresh_key_is_another_each_time) {
  const auto one = P256Key::generate();
  const auto other = P256Key::generate();
  ASSERT_TRUE(one && other);
  EXPECT_NE(one->point(), other->point());
  EXPECT_EQ(one->agree(other->point())->expose(), other->agree(one->point())->expose());
}

TEST(P256, what_is_no_key_is_refused) {
  EXPECT_FALSE(P256Key::from_scalar(Credential(std::string(32, '\0'))));
  EXPECT_FALSE(P256Key::from_scalar(Credential(std::string(32, '\xff'))));  // beyond the order
  EXPECT_FALSE(P256Key::from_scalar(Credential(std::string(31, '\x01'))));
  const auto key = P256Key::from_scalar(Credential(b64(kSender)));
  ASSERT_TRUE(key);
  std::string off_the_curve = b64(kReceiverPoint);
  off_the_curve.back() = static_cast<char>(off_the_curve.back() ^ 1);
  EXPECT_FALSE(key->agree(off_the_curve));
  EXPECT_FALSE(key->agree(""));
  EXPECT_FALSE(key->agree(std::string(65, '\0')));
  EXPECT_FALSE(key->agree(b64(kReceiverPoint).substr(0, 33)));
}

// RFC 7515 A.3: the point of a signing key, from PEM and from the scalar alone.
TEST(P256, a_signing_key_tells_its_point) {
  const std::string point = std::string("\x04") +
                            b64("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU") +
                            b64("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0");
  const auto pem = SigningKey::es256(Credential(kRfc7515Key));
  const auto scalar =
      SigningKey::es256_scalar(Credential(b64("jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI")));
  ASSERT_TRUE(pem && scalar);
  EXPECT_EQ(pem->public_point().value(), point);
  EXPECT_EQ(scalar->public_point().value(), point);
}

}  // namespace
}  // namespace sendonce::test
