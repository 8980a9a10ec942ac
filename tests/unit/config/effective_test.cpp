#include "config/effective.hpp"

#include <gmock/gmock.h>

#include "tests/unit/config/fixture.hpp"

namespace sendonce::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Effective, LoadsToTheSameValues) {
  const LoadResult sample =
      load_config(SENDONCE_SOURCE_DIR "/config/sendonce.toml", Surroundings::ignore);
  ASSERT_TRUE(sample.config);
  const std::string text = effective_toml(*sample.config);
  const LoadResult again = load_config_text(text, "effective");
  ASSERT_TRUE(again.config) << text;
  EXPECT_EQ(effective_toml(*again.config), text);
  EXPECT_EQ(again.config->hash, sample.config->hash);
}

TEST(Effective, ShowsDefaultsAndReferences) {
  const std::string text = effective_toml(config_of(good()));
  EXPECT_THAT(text, HasSubstr("[provider.apns]\nkind = \"apns\"\nendpoint = "
                              "\"https://api.push.apple.com\"\n"));
  EXPECT_THAT(text, HasSubstr("auth.key = \"cred:apns.p8\"\n"));
  EXPECT_THAT(text, HasSubstr("auth.refresh = \"45m\"\n"));
  EXPECT_THAT(text, HasSubstr("[class.otp]\nstream = \"NOTIFY\"\n"));
  EXPECT_THAT(text, HasSubstr("retry.factor = 2.0\n"));
  EXPECT_THAT(text, HasSubstr("map_size = \"8GiB\"\n"));
  EXPECT_THAT(text, Not(HasSubstr("service_account")));
}

TEST(Effective, TheHashIsOfTheValuesNotOfTheFile) {
  const std::string spread = "# a comment\n\n" + with_line(good(), 10, "expires = \"180s\"");
  EXPECT_EQ(config_of(spread).hash, config_of(good()).hash);
  EXPECT_EQ(config_of(good()).hash, effective_hash(config_of(good())));
  EXPECT_NE(config_of(with_line(good(), 10, "expires = \"181s\"")).hash, config_of(good()).hash);
}

}  // namespace
}  // namespace sendonce::test
