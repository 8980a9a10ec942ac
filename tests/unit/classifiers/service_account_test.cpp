#include "classifiers/fcm/service_account.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/classifiers/fixtures.hpp"

namespace sendonce::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ServiceAccount, is_read) {
  const auto account = parse_service_account(Credential(service_account_json()));
  ASSERT_TRUE(account) << account.error().text;
  EXPECT_EQ(account->project_id, "demo-1");
  EXPECT_EQ(account->client_email, "push@demo-1.iam.gserviceaccount.com");
  EXPECT_EQ(account->private_key_id, "k1");
  EXPECT_EQ(account->token_uri, "https://oauth2.googleapis.com/token");
  EXPECT_EQ(account->private_key.expose(), kRs256Key);  // \n in JSON is a line feed in PEM
}

TEST(ServiceAccount, errors_name_the_member) {
  const auto error = [](std::string json) {
    const auto account = parse_service_account(Credential(std::move(json)));
    return account ? std::string() : account.error().text;
  };
  EXPECT_THAT(error(""), HasSubstr("not the JSON file"));
  EXPECT_THAT(error("[]"), HasSubstr("not the JSON file"));
  EXPECT_THAT(error(R"({"project_info":{}})"), HasSubstr("google-services.json"));
  EXPECT_THAT(error(R"({"type":"authorized_user"})"), HasSubstr("\"type\""));
  for (const char* member : {"project_id", "private_key", "client_email", "token_uri"}) {
    std::string json = service_account_json();
    const std::string quoted = std::string("\"") + member + "\"";
    json.replace(json.find(quoted), quoted.size(), "\"other_" + std::string(member) + "\"");
    EXPECT_THAT(error(json), HasSubstr(quoted));
    EXPECT_THAT(error(json), Not(HasSubstr("BEGIN")));
  }
  std::string json = service_account_json();
  json.replace(json.find("https://"), 8, "ftp://");
  EXPECT_THAT(error(json), HasSubstr("token_uri"));
}

}  // namespace
}  // namespace sendonce::test
