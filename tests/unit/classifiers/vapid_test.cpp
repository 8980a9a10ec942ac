#include "classifiers/webpush/vapid.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin/core/text.hpp"
#include "plugin/crypto/verify.hpp"
#include "tests/support/jwt.hpp"
#include "tests/unit/classifiers/fixtures.hpp"

namespace sendonce::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kSubject = "mailto:ops@example.com";
constexpr const char* kOrigin = "https://push.example.net";
// Of RFC 7515 A.3.
constexpr const char* kScalar = "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI";

VapidTokens tokens() {
  auto made = VapidTokens::make(Credential(kScalar), kSubject);
  EXPECT_TRUE(made) << made.error().text;
  return std::move(*made);
}

bool verifies(std::string_view token, std::string_view public_key) {
  const std::string point = unbase64url(public_key).value();
  const auto key = VerifyingKey::from_point(point.substr(1, 32), point.substr(33));
  return key && key->verify_jws(token);
}

struct Parts {
  std::string token{};
  std::string key{};
};

Parts parts_of(std::string_view authorization) {
  constexpr std::string_view kBegin = "vapid t=";
  const std::size_t comma = authorization.find(", k=");
  EXPECT_TRUE(authorization.starts_with(kBegin));
  return {std::string(authorization.substr(kBegin.size(), comma - kBegin.size())),
          std::string(authorization.substr(comma + 4))};
}

// RFC 8292 2.4: signatures are random, so somebody else's is verified.
TEST(Vapid, rfc8292_section_2_4) {
  const std::string token =
      "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOj"
      "E0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9GAu_HLGkMl"
      "MuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA";
  EXPECT_TRUE(verifies(
      token,
      "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"));
  const auto jwt = parse_jwt(token);
  ASSERT_TRUE(jwt);
  EXPECT_EQ(jwt->text("aud"), "https://push.example.net");
  EXPECT_EQ(jwt->number("exp"), 1'453'523'768);
  EXPECT_EQ(jwt->text("sub"), "mailto:push@example.com");
}

// The same claims from us are the same bytes up to the signature, and that is good.
TEST(Vapid, says_what_rfc8292_says) {
  auto ours = VapidTokens::make(Credential(kScalar), "mailto:push@example.com");
  ASSERT_TRUE(ours);
  const WallTime then{seconds(1'453'523'768 - 12 * 3600)};
  const Parts parts = parts_of(ours->authorization(kOrigin, then).value());
  EXPECT_THAT(parts.token,
              StartsWith("eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBs"
                         "ZS5uZXQiLCJleHAiOjE0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29t"
                         "In0."));
  EXPECT_TRUE(verifies(parts.token, parts.key));
  EXPECT_EQ(parts.key, ours->public_key());
}

TEST(Vapid, one_token_an_origin_for_eleven_hours) {
  VapidTokens t = tokens();
  const std::string first(t.authorization(kOrigin, kNow).value());
  EXPECT_EQ(t.authorization(kOrigin, kNow + hours(11) - seconds(1)).value(), first);
  EXPECT_NE(t.authorization("https://other.example", kNow).value(), first);
  const auto jwt = parse_jwt(parts_of(first).token);
  ASSERT_TRUE(jwt);
  const auto now_s = std::chrono::floor<seconds>(kNow.time_since_epoch()).count();
  EXPECT_EQ(jwt->number("exp"), now_s + 12 * 3600);
  EXPECT_NE(t.authorization(kOrigin, kNow + hours(11)).value(), first);
}

TEST(Vapid, a_clock_that_was_set_back_makes_a_new_token) {
  VapidTokens t = tokens();
  const std::string first(t.authorization(kOrigin, kNow).value());
  EXPECT_EQ(t.authorization(kOrigin, kNow - minutes(59)).value(), first);
  EXPECT_NE(t.authorization(kOrigin, kNow - hours(1)).value(), first)
      << "seen from then it might be good for more than 24 hours";
}

TEST(Vapid, many_origins_do_not_grow_without_end) {
  VapidTokens t = tokens();
  for (int i = 0; i < 500; ++i)
    EXPECT_TRUE(t.authorization("https://h" + std::to_string(i) + ".example", kNow));
}

TEST(Vapid, takes_pem_and_bare_keys) {
  const auto pem = VapidTokens::make(Credential(kRfc7515Key), kSubject);
  ASSERT_TRUE(pem) << pem.error().text;
  EXPECT_EQ(pem->public_key(), tokens().public_key());
  for (const std::string& key :
       {std::string(), std::string("AAAA"), std::string(kP384Key), std::string(kRs256Key)}) {
    const auto made = VapidTokens::make(Credential(key), kSubject);
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().text, StartsWith("key: "));
  }
}

TEST(Vapid, a_subject_must_be_somebody) {
  for (const char* subject : {"", "ops@example.com", "mailto:ops", "http://example.com",
                              "mailto:a@localhost", "https://", "mailto:a b@example.com"}) {
    const auto made = VapidTokens::make(Credential(kScalar), subject);
    ASSERT_FALSE(made) << subject;
    EXPECT_THAT(made.error().text, HasSubstr("subject"));
  }
  EXPECT_TRUE(VapidTokens::make(Credential(kScalar), "https://example.com/contact"));
}

}  // namespace
}  // namespace sendonce::test
