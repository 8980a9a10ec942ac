#include "classifiers/apns/apns_token.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "classifiers/json_tree.hpp"
#include "plugin/core/text.hpp"
#include "plugin/crypto/verify.hpp"
#include "tests/unit/classifiers/fixtures.hpp"

namespace sendonce::test {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<ApnsTokenSource> source() {
  return ApnsTokenSource::make(apns_token_options()).value();
}

JsonTree claims_of(const std::string& authorization) {
  const std::size_t first = authorization.find('.');
  const std::size_t second = authorization.find('.', first + 1);
  return parse_json_tree(*unbase64url(authorization.substr(first + 1, second - first - 1))).value();
}

TEST(ApnsToken, says_who_we_are_and_is_signed) {
  const auto tokens = source();
  EXPECT_FALSE(tokens->usable(kNow));
  EXPECT_TRUE(tokens->authorization().empty());
  tokens->keep_fresh(kNow);
  EXPECT_TRUE(tokens->usable(kNow));
  const std::string& value = tokens->authorization();
  ASSERT_TRUE(value.starts_with("bearer "));
  const std::string jws = value.substr(7);
  const auto verifier = VerifyingKey::from_pem(SignatureAlgorithm::es256, Credential(kEs256Key));
  EXPECT_TRUE(verifier->verify_jws(jws));
  EXPECT_EQ(unbase64url(jws.substr(0, jws.find('.'))), R"({"alg":"ES256","kid":"KEY1234567"})");
  const JsonTree claims = claims_of(value);
  EXPECT_EQ(claims.string_at("iss"), "TEAM123456");
  EXPECT_EQ(claims.find("iat")->integer(), 1'795'953'600);
}

TEST(ApnsToken, is_kept_until_its_refresh_age) {
  const auto tokens = source();
  tokens->keep_fresh(kNow);
  const std::string first = tokens->authorization();
  for (int m = 1; m < 45; ++m) {
    tokens->keep_fresh(kNow + minutes(m));
    ASSERT_EQ(tokens->authorization(), first) << m;
  }
  tokens->keep_fresh(kNow + minutes(45));
  EXPECT_NE(tokens->authorization(), first);
}

TEST(ApnsToken, a_new_refresh_age_counts_for_the_token_at_hand) {
  const auto tokens = source();
  tokens->keep_fresh(kNow);
  const std::string first = tokens->authorization();
  tokens->set_refresh(minutes(40));
  tokens->keep_fresh(kNow + minutes(39));
  EXPECT_EQ(tokens->authorization(), first);
  tokens->keep_fresh(kNow + minutes(40));
  EXPECT_NE(tokens->authorization(), first);
}

TEST(ApnsToken, an_old_one_is_not_used) {
  const auto tokens = source();
  tokens->keep_fresh(kNow);
  EXPECT_TRUE(tokens->usable(kNow + minutes(58)));
  EXPECT_FALSE(tokens->usable(kNow + minutes(59)));
}

TEST(ApnsToken, survives_a_clock_that_is_set_back) {
  const auto tokens = source();
  tokens->keep_fresh(kNow);
  const std::string first = tokens->authorization();
  tokens->keep_fresh(kNow - minutes(10));
  EXPECT_EQ(tokens->authorization(), first);
  EXPECT_FALSE(tokens->usable(kNow - hours(2)));
  tokens->keep_fresh(kNow - hours(2));
  EXPECT_NE(tokens->authorization(), first);
  EXPECT_TRUE(tokens->usable(kNow - hours(2)));
}

TEST(ApnsToken, a_refusal_mints_once_and_then_suspects_the_clock) {
  const auto tokens = source();
  tokens->refused(kNow);
  EXPECT_TRUE(tokens->authorization().empty());  // nothing was there to be refused
  tokens->keep_fresh(kNow);
  const std::string first = tokens->authorization();
  tokens->refused(kNow + minutes(5));
  const std::string second = tokens->authorization();
  EXPECT_NE(second, first);
  EXPECT_FALSE(tokens->clock_suspect(kNow + minutes(5)));
  // Answers to calls with the first token are still coming in.
  for (int s = 0; s < 60; ++s) tokens->refused(kNow + minutes(5) + seconds(s));
  EXPECT_EQ(tokens->authorization(), second);
  EXPECT_TRUE(tokens->clock_suspect(kNow + minutes(7)));
  tokens->refused(kNow + minutes(24));
  EXPECT_EQ(tokens->authorization(), second);  // Apple: not within 20 minutes
  tokens->refused(kNow + minutes(25));
  EXPECT_NE(tokens->authorization(), second);
}

// Found by the simulator: a token minted while the clock was ahead was kept until it aged.
TEST(ApnsToken, a_token_from_a_time_to_come_is_minted_anew_when_it_is_refused) {
  const auto tokens = source();
  tokens->keep_fresh(kNow);
  tokens->refused(kNow);
  const std::string ahead = tokens->authorization();
  const WallTime put_right = kNow - minutes(10);
  EXPECT_TRUE(tokens->renewable(put_right));
  tokens->refused(put_right);
  const std::string right = tokens->authorization();
  EXPECT_NE(right, ahead);
  EXPECT_FALSE(tokens->renewable(put_right + seconds(1)));
  tokens->refused(put_right + seconds(1));
  EXPECT_EQ(tokens->authorization(), right);  // Apple: not within 20 minutes
}

TEST(ApnsToken, a_regular_refresh_clears_the_suspicion) {
  const auto tokens = source();
  tokens->keep_fresh(kNow);
  tokens->refused(kNow + minutes(1));
  tokens->keep_fresh(kNow + minutes(46));
  EXPECT_FALSE(tokens->clock_suspect(kNow + minutes(50)));
}

TEST(ApnsToken, options_are_checked) {
  const auto error = [](auto&& change) {
    ApnsTokenOptions options = apns_token_options();
    change(options);
    const auto made = ApnsTokenSource::make(options);
    return made ? std::string() : made.error().text;
  };
  EXPECT_THAT(error([](auto& o) { o.team = "SHORT"; }), HasSubstr("team"));
  EXPECT_THAT(error([](auto& o) { o.team = "TEAM\n12345"; }), HasSubstr("team"));
  EXPECT_THAT(error([](auto& o) { o.key_id = ""; }), HasSubstr("key_id"));
  EXPECT_THAT(error([](auto& o) { o.refresh = minutes(39); }), HasSubstr("refresh"));
  EXPECT_THAT(error([](auto& o) { o.refresh = minutes(51); }), HasSubstr("refresh"));
  EXPECT_THAT(error([](auto& o) { o.key = Credential(kP384Key); }), HasSubstr("P-256"));
  EXPECT_EQ(error([](auto& o) { o.refresh = minutes(40); }), "");
  EXPECT_EQ(error([](auto& o) { o.refresh = minutes(50); }), "");
}

}  // namespace
}  // namespace sendonce::test
