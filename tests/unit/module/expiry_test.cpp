// What ends among the files of a configuration, and when that is said.
#include "plugin/module/expiry.hpp"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "plugin/core/clock.hpp"
#include "plugin/core/text.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/line_log.hpp"
#include "tests/support/temp_dir.hpp"

namespace sendonce::test {
namespace {

using std::chrono::hours, std::chrono::minutes;
using testing::ElementsAre;
using testing::IsEmpty;

WallTime wall() {
  return make_system_clock()->wall();
}

std::string creds(const std::string& claims) {
  return "-----BEGIN NATS USER JWT-----\n" + base64url("{}") + "." + base64url(claims) +
         ".c2ln\n------END NATS USER JWT------\n";
}

class ExpiryTest : public testing::Test {
 protected:
  std::string put(const std::string& file, const std::string& text) const {
    const std::string path = (dir_ / file).string();
    std::ofstream(path) << text;
    EXPECT_EQ(::chmod(path.c_str(), 0600), 0);
    return path;
  }
  std::string ends_in(hours left) const {
    return authority_.issue({.not_after = left}).certificate;
  }
  static std::vector<std::string> told(const FileEnd& of, WallTime now) {
    LineLog log;
    tell_ends({of}, now, log);
    return log.lines;
  }

  TempDir dir_{};
  Authority authority_{};
};

TEST_F(ExpiryTest, EachFileThatEndsIsKnownByItsKey) {
  Config config;
  config.providers.resize(3);
  config.providers[0].name = "apns";
  config.providers[1].name = "fcm";
  config.providers[1].ca = put("ca.pem", ends_in(hours(5 * 24)));
  config.providers[2].name = "gone";
  config.providers[2].ca = (dir_ / "none.pem").string();
  config.nats.ca = put("nats.pem", ends_in(hours(1)) + ends_in(hours(100 * 24)));
  config.nats.credentials =
      SecretRef{.text = "file:" + put("u.creds", creds(R"({"exp":1800000000})"))};
  const WallTime now = wall();
  const std::vector<FileEnd> ends = file_ends(config, "");
  ASSERT_EQ(ends.size(), 3U);
  EXPECT_EQ(ends[0].field, "nats.credentials");
  EXPECT_EQ(ends[0].end, WallTime(std::chrono::seconds(1'800'000'000)));
  EXPECT_EQ(ends[1].field, "nats.tls.ca");
  EXPECT_NEAR(static_cast<double>((ends[1].end - now) / hours(1)), 2400, 1) << "the last of both";
  EXPECT_EQ(ends[2].field, "provider.fcm.tls.ca");
  EXPECT_EQ(ends[2].provider, "fcm");
  EXPECT_NEAR(static_cast<double>((ends[2].end - now) / minutes(1)), 5 * 24 * 60, 2);
}

TEST_F(ExpiryTest, CredentialsWithoutAnEndHaveNone) {
  for (const char* claims : {"{}", R"({"exp":0})", R"({"exp":-1})", R"({"exp":"1800000000"})",
                             R"({"exp":1.5})", "[]", "{", R"({"exp":9223372036854775807})"})
    EXPECT_EQ(creds_end(creds(claims)), std::nullopt) << claims;
  for (const char* text :
       {"", "-----BEGIN NATS USER JWT-----", "-----BEGIN NATS USER JWT-----\na.b",
        "-----BEGIN NATS USER JWT-----\na.!!.c"})
    EXPECT_EQ(creds_end(text), std::nullopt) << text;
  EXPECT_EQ(ca_end(put("no.pem", "no certificate")), std::nullopt);
}

TEST_F(ExpiryTest, ThirtyDaysBeforeItIsAWarningAndBehindAnError) {
  const FileEnd of{.field = "nats.tls.ca", .end = WallTime(std::chrono::seconds(1'800'000'000))};
  EXPECT_THAT(told(of, of.end - hours(30 * 24)), IsEmpty());
  EXPECT_THAT(told(of, of.end - hours(5 * 24) - minutes(1)),
              ElementsAre("warn credential.expires_soon field=nats.tls.ca "
                          "ends=2027-01-15T08:00:00.000Z days=5"));
  EXPECT_THAT(told(of, of.end - minutes(1)),
              ElementsAre("warn credential.expires_soon field=nats.tls.ca "
                          "ends=2027-01-15T08:00:00.000Z days=0"));
  EXPECT_THAT(told(of, of.end), ElementsAre("error credential.expired field=nats.tls.ca "
                                            "ended=2027-01-15T08:00:00.000Z"));
}

}  // namespace
}  // namespace sendonce::test
