#include "classifiers/webpush/webpush_encryption.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin/core/text.hpp"
#include "tests/support/process.hpp"
#include "tests/support/push_receiver.hpp"
#include "tests/support/temp_dir.hpp"

namespace sendonce::test {
namespace {

using ::testing::HasSubstr;

std::string b64(std::string_view text) {
  return unbase64url(text).value();
}

Target subscription(std::string p256dh, std::string auth) {
  Target t;
  t.p256dh = Destination(std::move(p256dh));
  t.auth = Destination(std::move(auth));
  return t;
}

SubscriptionKeys keys_of(const PushReceiver& receiver) {
  return subscription_keys(subscription(receiver.p256dh(), receiver.auth())).value();
}

// RFC 8291 section 5 and appendix A.
constexpr const char* kText = "When I grow up, I want to be a watermelon";
constexpr const char* kReceiver = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94";
constexpr const char* kAuth = "BTBZMqHH6r4Tts7J_aSIgg";
constexpr const char* kBody =
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6"
    "TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulc"
    "y4a-fN";

TEST(WebPushEncryption, rfc8291_section_5) {
  const auto sender =
      P256Key::from_scalar(Credential(b64("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")));
  ASSERT_TRUE(sender);
  const PushReceiver receiver(kReceiver, kAuth);
  EXPECT_EQ(receiver.p256dh(),
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAi"
            "w4");
  const auto body = encrypt_push(kText, keys_of(receiver), *sender, b64("DGv6ra1nlYgDCS1FRnbzlw"));
  ASSERT_TRUE(body) << body.error().text;
  EXPECT_EQ(base64url(*body), kBody);
  EXPECT_EQ(receiver.read(b64(kBody)), kText);
}

TEST(WebPushEncryption, fresh_keys_and_salts_are_read_and_never_the_same) {
  const PushReceiver receiver;
  const std::string one = encrypt_push(kText, keys_of(receiver)).value();
  const std::string other = encrypt_push(kText, keys_of(receiver)).value();
  EXPECT_NE(one.substr(0, 16), other.substr(0, 16));
  EXPECT_NE(one.substr(21, 65), other.substr(21, 65));
  EXPECT_EQ(receiver.read(one), kText);
  EXPECT_EQ(receiver.read(other), kText);
  EXPECT_FALSE(PushReceiver().read(one)) << "another subscription reads nothing";
}

TEST(WebPushEncryption, the_largest_text_makes_the_largest_body) {
  const PushReceiver receiver;
  const std::string text(kPushPlaintextMax, 'x');
  const auto body = encrypt_push(text, keys_of(receiver));
  ASSERT_TRUE(body);
  EXPECT_EQ(body->size(), kPushBodyMax);
  EXPECT_EQ(receiver.read(*body), text);
  const auto longer = encrypt_push(text + "x", keys_of(receiver));
  ASSERT_FALSE(longer);
  EXPECT_THAT(longer.error().text, HasSubstr("3994"));
}

TEST(WebPushEncryption, keys_that_are_none_are_named) {
  const PushReceiver receiver;
  EXPECT_TRUE(subscription_keys(subscription(receiver.p256dh() + "=", receiver.auth() + "==")));
  for (const std::string& point : {std::string("BA"), std::string(), receiver.p256dh().substr(4),
                                   base64url(std::string(65, '\x02'))}) {
    const auto keys = subscription_keys(subscription(point, receiver.auth()));
    ASSERT_FALSE(keys) << point;
    EXPECT_THAT(keys.error().text, HasSubstr("p256dh"));
  }
  for (const std::string& auth : {std::string(), std::string("AAAA"), receiver.p256dh()}) {
    const auto keys = subscription_keys(subscription(receiver.p256dh(), auth));
    ASSERT_FALSE(keys);
    EXPECT_THAT(keys.error().text, HasSubstr("auth"));
  }
  const auto off_the_curve =
      subscription_keys(subscription(base64url("\x04" + std::string(64, '\x05')), receiver.auth()));
  ASSERT_TRUE(off_the_curve);
  EXPECT_FALSE(encrypt_push("x", *off_the_curve));
}

// Another implementation reads it: python3-cryptography, where it is installed.
TEST(WebPushEncryption, an_independent_implementation_reads_it) {
  const TempDir dir;
  const auto python = [&](std::vector<std::string> args) {
    auto process = Process::start({.program = "python3",
                                   .args = std::move(args),
                                   .output = dir / "out",
                                   .errors = dir / "e"});
    const auto exit = process ? process->wait(std::chrono::seconds(60)) : std::nullopt;
    return exit && exit->signal == 0 ? exit->code : -1;
  };
  if (python({"-c", "import cryptography"}) != 0)
    GTEST_SKIP() << "python3-cryptography is not installed";
  const std::string text = "Grüße, \"watermelon\"";
  const auto body = encrypt_push(text, keys_of(PushReceiver(kReceiver, kAuth)));
  ASSERT_TRUE(body);
  ASSERT_EQ(python({SENDONCE_SOURCE_DIR "/tests/unit/classifiers/webpush_decrypt.py", kReceiver,
                    kAuth, base64url(*body)}),
            0)
      << read_file(dir / "e");
  EXPECT_EQ(read_file(dir / "out"), text);
}

}  // namespace
}  // namespace sendonce::test
