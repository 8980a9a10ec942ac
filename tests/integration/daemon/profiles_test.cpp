// Shipped profiles, as they stand in their files but for address and secret, with the real daemon
// against services that are strict: Amazon SES checks the signature of what arrives, Huawei Push
// Kit wants a token of its own and answers failures with 200.
#include <filesystem>
#include <fstream>

#include <sysexits.h>

#include "tests/integration/daemon/rig.hpp"

namespace sendonce::test {
namespace {

void replace(std::string& text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
}

class ProfilesTest : public DaemonTest {
 protected:
  // The profile's text, for the fake provider and with the version that is asked for.
  static std::string profile(const std::string& name, std::string_view endpoint,
                             std::string_view secret, std::string_view version) {
    std::ifstream file(SENDONCE_SOURCE_DIR "/classifiers/profiles/" + name + ".toml");
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    replace(text, endpoint, "https://localhost:@PORT@");
    replace(text, "\"cred:" + name + "\"", "\"file:" + std::string(secret) + "\"");
    replace(text, "version     = \"1.1\"", "version     = \"" + std::string(version) + "\"");
    replace(text, "{ connect = \"5s\", total = \"20s\" }", "{ connect = \"2s\", total = \"3s\" }");
    const std::string head = "[provider." + name + "]\n";
    replace(text, head, head + "tls = { ca = \"@CREDENTIALS@/ca.pem\" }\n");
    return text;
  }
  static std::string classes(std::string_view channel, std::string_view provider) {
    return "[class.otp]\nsubject = \"notify.otp.>\"\n@TIMES@\n"
           "ambiguous = { default = \"give-up\" }\n"
           "route = { " +
           std::string(channel) + " = [\"" + std::string(provider) + "\"] }\n" +
           "[class.marketing]\nsubject = \"notify.campaign.>\"\n@TIMES@\n"
           "ambiguous = { default = \"give-up\" }\n"
           "route = { " +
           std::string(channel) + " = [\"" + std::string(provider) + "\"] }\n";
  }
  void publish_one(const std::string& event, const std::string& channel,
                   const std::string& target) {
    publish_body("marketing",
                 R"({"event_id":")" + event + R"(","recipient":"u)" + event + R"(","channel":")" +
                     channel + R"(","template":"t","targets":[)" + target +
                     R"(],"notification":{"title":"On its way","body":"Parcel \"8812\" left",)"
                     R"("data":{"order":"8812"}}})");
  }
  // ---- Amazon SES
  void make_ses(std::string_view version, std::string_view secret = "@CREDENTIALS@/aws") {
    make({.classes = classes("email", "ses") +
                     profile("ses", "https://email.us-east-1.amazonaws.com", secret, version)});
  }
  static std::string address(int n) { return "user" + std::to_string(n) + "@example.com"; }
  void publish_mails(int from, int to) {
    for (int i = from; i < to; ++i)
      publish_one("m" + std::to_string(i), "email",
                  R"({"provider":"ses","email":")" + address(i) + "\"}");
  }
  [[nodiscard]] Copies mails(int n) const { return provider_.seen(ProviderKind::http, address(n)); }
  // ---- Huawei Push Kit
  void make_huawei(std::string_view version = "1.1") {
    std::string text =
        profile("huawei", "https://push-api.cloud.huawei.com", "@CREDENTIALS@/huawei", version);
    replace(text, "https://oauth-login.cloud.huawei.com/oauth2/v3/token",
            "https://localhost:@PORT@/oauth2/v3/token");
    make({.classes = classes("push", "huawei") + text});
  }
  void publish_push(const std::string& event, const std::string& token) {
    publish_one(event, "push", R"({"provider":"huawei","token":")" + token + R"(","ref":"d"})");
  }
  [[nodiscard]] Copies pushes(const std::string& token) const {
    return provider_.seen(ProviderKind::http, token);
  }
  std::uint64_t dead_devices() {
    const Json info = api("STREAM.INFO.SENDONCE_OUTCOMES",
                          R"({"subjects_filter":"sendonce.device.push.invalid"})");
    const Json subjects = info.value("/state/subjects"_json_pointer, Json());
    std::uint64_t n = 0;
    if (subjects.is_object())
      for (const auto& count : subjects) n += count.get<std::uint64_t>();
    return n;
  }
};

class SesVersions : public ProfilesTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(SesVersions, TakesWhatIsSignedAndOnce) {
  make_ses(GetParam());
  start();
  publish_mails(0, 10);
  publish_mails(0, 10);
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("accepted"), 10U);
  EXPECT_EQ(stop(), EX_OK);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(mails(i).accepted, 1U) << i;
    EXPECT_EQ(mails(i).received, 1U) << i << ": refused before";
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, SesVersions, ::testing::Values("1.1", "2"),
                         [](const auto& tested) {
                           return std::string_view(tested.param) == "2" ? "Two" : "OneOne";
                         });

// The wrong secret: the provider is held, nothing is lost, and the right one lets all go.
TEST_F(ProfilesTest, SesHoldsAWrongSecretUntilItIsReplaced) {
  make_ses("1.1", "@CREDENTIALS@/deployed");
  const std::string deployed = provider_.credentials() + "/deployed";
  {
    std::ofstream file(deployed);
    file << "AKIDEXAMPLE:wrong:session/token+of==";
  }
  std::filesystem::permissions(deployed, std::filesystem::perms(0600));
  start();
  publish_mails(0, 5);
  ASSERT_TRUE(logs("http_403"));
  EXPECT_EQ(counter("accepted"), 0U);
  EXPECT_EQ(counter("failed"), 0U);
  std::filesystem::copy_file(provider_.credentials() + "/aws", deployed,
                             std::filesystem::copy_options::overwrite_existing);
  reload("daemon.reloaded");
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("accepted"), 5U);
  EXPECT_EQ(stop(), EX_OK);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(mails(i).accepted, 1U) << i;
}

class HuaweiVersions : public ProfilesTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(HuaweiVersions, TakesOneTokenACallWithItsOwnCredential) {
  make_huawei(GetParam());
  start();
  for (int i = 0; i < 10; ++i) publish_push("p" + std::to_string(i), "tok-" + std::to_string(i));
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("accepted"), 10U);
  EXPECT_EQ(stop(), EX_OK);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(pushes("tok-" + std::to_string(i)).accepted, 1U) << i;
}

INSTANTIATE_TEST_SUITE_P(Versions, HuaweiVersions, ::testing::Values("1.1", "2"),
                         [](const auto& tested) {
                           return std::string_view(tested.param) == "2" ? "Two" : "OneOne";
                         });

constexpr const char* kDead =
    "[[rule]]\nprovider = \"http\"\ntoken = \"dead*\"\nstatus = 200\nreason = \"80300007\"\n"
    "processed = false\n";

// The same way as APNs and FCM: an event, and no further call for that token alone.
TEST_F(ProfilesTest, HuaweiEndsADeadTokenAndThatOneOnly) {
  make_huawei();
  start();
  publish_push("p0", "tok-0");
  ASSERT_TRUE(settled());
  ASSERT_EQ(counter("accepted"), 1U);  // proves app and credential
  script(kDead);
  publish_push("p1", "dead-1");
  publish_push("p2", "tok-2");
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("accepted"), 2U);
  EXPECT_EQ(counter("failed"), 1U);
  EXPECT_TRUE(within(seconds(30), [this] { return dead_devices() == 1; }));
  publish_push("p3", "dead-1");
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("suppressed"), 1U);
  EXPECT_EQ(stop(), EX_OK);
  EXPECT_EQ(pushes("dead-1").received, 1U);
}

// Tokens of another app: nothing was ever accepted here, so nothing proves that they are dead.
TEST_F(ProfilesTest, HuaweiEndsNoTokenBeforeAnythingWasAccepted) {
  make_huawei();
  start();
  script(kDead);
  publish_push("p1", "dead-1");
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("failed"), 1U);
  EXPECT_EQ(dead_devices(), 0U);
  EXPECT_EQ(stop(), EX_OK);
}

TEST_F(ProfilesTest, HuaweiRenewsATokenThatItNoLongerTakes) {
  make_huawei();
  start();
  script(
      "[[rule]]\nprovider = \"http\"\nnth = [1]\nstatus = 200\nreason = \"80200003\"\n"
      "processed = false\n");
  publish_push("p1", "tok-1");
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("accepted"), 1U);
  EXPECT_EQ(stop(), EX_OK);
  EXPECT_EQ(pushes("tok-1").accepted, 1U);
}

}  // namespace
}  // namespace sendonce::test
