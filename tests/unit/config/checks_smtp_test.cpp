// kind = "smtp": what is refused, and at which place.
#include <gmock/gmock.h>

#include "config/effective.hpp"
#include "config/reload.hpp"
#include "tests/unit/config/fixture.hpp"

namespace sendonce::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Its first line is number 14.
constexpr std::string_view kMail = R"([provider.mail]
kind = "smtp"
endpoint = "smtps://mail.example.com"
from = "no-reply@example.com"
from_name = "Shop"
auth = { user = "shop", secret = "file:/etc/sendonce/mail" }
call = { total = "1m" }
)";
constexpr std::string_view kClass = R"([class.mail]
subject = "notify.mail.>"
expires = "1h"
claim = "70s"
ack_wait = "80s"
retention = "2d"
ambiguous = { default = "give-up" }
route = { email = ["mail"] }
)";

std::string text_with(std::string_view from, std::string_view to) {
  std::string mail(kMail);
  mail.append("\n").append(kClass);
  if (!from.empty()) mail.replace(mail.find(from), from.size(), to);
  return with_line(good(), 3, "drain = \"70s\"") + mail;
}

std::vector<std::string> with(std::string_view from, std::string_view to) {
  return findings_of(text_with(from, to));
}

// A relay's user may be half of what opens it; addresses are people's.
TEST(CheckSmtp, AReloadShowsNeitherAccountNorAddress) {
  for (const auto& [from, to] : {std::pair("\"shop\"", "\"AKIAX\""),
                                 std::pair("no-reply@example.com", "anna@example.com")}) {
    const std::vector<Change> changes =
        compare(config_of(text_with("", "")), config_of(text_with(from, to)));
    ASSERT_EQ(changes.size(), 1U) << from;
    EXPECT_EQ(changes[0].after, "(not shown)");
    EXPECT_EQ(changes[0].before, "(not shown)");
  }
}

TEST(CheckSmtp, AGoodOneHasNoFinding) {
  EXPECT_THAT(with("", ""), IsEmpty());
}

TEST(CheckSmtp, PlacesOfWhatIsWrong) {
  EXPECT_THAT(
      with("smtps://mail.example.com", "https://mail.example.com"),
      testing::Contains(HasSubstr("t.toml:16:12: error: provider.mail.endpoint: not the URL "
                                  "of a mail server")));
  EXPECT_THAT(with("smtps://mail.example.com", "smtps://u:p@mail.example.com"),
              testing::Contains(HasSubstr("provider.mail.endpoint: holds a user or password")));
  EXPECT_THAT(with("smtps://mail.example.com", "smtp://mail.example.com/x"),
              testing::Contains(HasSubstr("provider.mail.endpoint: has a path")));
  EXPECT_THAT(with("endpoint = \"smtps://mail.example.com\"\n", ""),
              testing::Contains(HasSubstr("provider.mail.endpoint: missing, and has no default")));
  EXPECT_THAT(with("\"no-reply@example.com\"", "\"Shop <no-reply@example.com>\""),
              testing::Contains(HasSubstr("t.toml:17:8: error: provider.mail.from: ")));
  EXPECT_THAT(with("from = \"no-reply@example.com\"\n", ""),
              testing::Contains(HasSubstr("provider.mail.from: missing")));
  EXPECT_THAT(with("\"Shop\"", "\"a\\nb\""),
              testing::Contains(HasSubstr("provider.mail.from_name: holds control characters")));
  EXPECT_THAT(with("user = \"shop\", ", ""),
              testing::Contains(HasSubstr("provider.mail.auth.user: missing")));
  EXPECT_THAT(with(", secret = \"file:/etc/sendonce/mail\"", ""),
              testing::Contains(HasSubstr("provider.mail.auth.secret: missing")));
  EXPECT_THAT(with("total = \"1m\"", "total = \"10s\""),
              testing::Contains(HasSubstr("provider.mail.call.total: 10s is short")));
  EXPECT_THAT(with("smtps://mail.example.com\"", "smtp://mail.example.com\"\ninsecure = true"),
              testing::Contains(HasSubstr("provider.mail.insecure: without TLS")));
  EXPECT_THAT(with("from_name = \"Shop\"", "topic = \"x\""),
              testing::Contains(HasSubstr("provider.mail.topic: has no meaning for this kind")));
}

TEST(CheckSmtp, NoKeyCanSuppressARepeat) {
  EXPECT_THAT(with("\"give-up\"", "\"resend-with-key\""),
              testing::Contains(HasSubstr("has nothing to do \"resend-with-key\" with")));
}

TEST(CheckSmtp, TheEffectiveConfigurationSaysSmtp) {
  const Config config = config_of(text_with("", ""));
  EXPECT_THAT(effective_toml(config), HasSubstr("kind = \"smtp\""));
  EXPECT_THAT(effective_toml(config), HasSubstr("from = \"no-reply@example.com\""));
}

}  // namespace
}  // namespace sendonce::test
