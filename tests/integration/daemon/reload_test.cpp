// SIGHUP: all or nothing, and only what changed.
#include <filesystem>
#include <fstream>

#include <sysexits.h>

#include "tests/integration/daemon/rig.hpp"

namespace sendonce::test {
namespace {

namespace fs = std::filesystem;

class ReloadTest : public DaemonTest {
 protected:
  [[nodiscard]] std::string hash() const { return status().value("config_hash", ""); }

  // One delivery through each provider, so that both are connected.
  void connect_both(int event) {
    publish(event, event + 1);
    publish_body("marketing",
                 R"({"event_id":"f)" + std::to_string(event) +
                     R"(","recipient":"u","channel":"push","template":"t","targets":[)" +
                     R"({"provider":"fcm","token":"fcm-)" + std::to_string(event) +
                     R"(","ref":"d)" + std::to_string(event) +
                     R"("}],"notification":{"title":"T","body":"B"}})");
    ASSERT_TRUE(settled());
  }
};

TEST_F(ReloadTest, ABadFileKeepsTheOldConfiguration) {
  make();
  start();
  const std::string before = hash();
  replace_in_config("drain = \"10s\"", "drain = \"10s\"\ndrian = \"11s\"");
  replace_in_config("give-up", "resend");
  reload("daemon.reload_refused");
  EXPECT_THAT(log(), HasSubstr("sendonce.toml:8:9: error: instance.drian"));
  EXPECT_THAT(log(), HasSubstr("drain")) << "the nearest name";
  EXPECT_EQ(hash(), before);
  script("[[rule]]\nprovider = \"apns\"\nnth = [1]\nstatus = 500\nprocessed = true\n");
  publish(0, 1);
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("unknown"), 1U) << "still give-up";
  EXPECT_EQ(stop(), EX_OK);
  expect_each_once(0, 1);
}

TEST_F(ReloadTest, NoFileAtAllKeepsTheOldConfiguration) {
  make();
  start();
  const std::string config = read_file(world_->config_path());
  fs::remove(world_->config_path());
  reload("daemon.reload_refused");
  publish(0, 1);
  ASSERT_TRUE(settled());
  world_->write_config(config);
  reload("daemon.reloaded");
  EXPECT_EQ(stop(), EX_OK);
  expect_each_once(0, 1);
}

TEST_F(ReloadTest, AGoodFileApplies) {
  make();
  start();
  const std::string before = hash();
  const std::string fault =
      "[[rule]]\nprovider = \"apns\"\nnth = [1]\nstatus = 500\nprocessed = true\n";
  script(fault);
  publish(0, 1);
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("unknown"), 1U);
  replace_in_config("give-up", "resend");
  reload("daemon.reloaded");
  EXPECT_THAT(log(), HasSubstr("config.changed"));
  EXPECT_THAT(log(), HasSubstr("class.marketing.ambiguous.default"));
  EXPECT_NE(hash(), before);
  script(fault);
  publish(1, 2);
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("accepted"), 1U);
  EXPECT_EQ(seen(1).received, 2U) << "resend, as asked for";
  EXPECT_EQ(seen(0).received, 1U) << "and nothing of the time before";
  EXPECT_EQ(stop(), EX_OK);
}

TEST_F(ReloadTest, WhatNeedsARestartIsRefusedWhole) {
  make();
  start();
  const std::string before = hash();
  replace_in_config("notify.campaign.>", "notify.elsewhere.>");
  replace_in_config("give-up", "resend");
  reload("daemon.reload_refused");
  EXPECT_THAT(log(), HasSubstr("class.marketing.subject"));
  EXPECT_THAT(log(), HasSubstr("restart"));
  EXPECT_EQ(hash(), before);
}

TEST_F(ReloadTest, OfTheSameFileTouchesNoConnection) {
  make();
  start();
  connect_both(0);
  const std::uint64_t before = connections();
  EXPECT_EQ(before, 3U) << "APNs, FCM, and the token endpoint";
  reload("daemon.reloaded");
  connect_both(1);
  reload("daemon.reloaded");
  connect_both(2);
  EXPECT_EQ(connections(), before);
  EXPECT_THAT(log(), ::testing::Not(HasSubstr("h2.closed")));
  EXPECT_EQ(stop(), EX_OK);
  expect_each_once(0, 3);
}

TEST_F(ReloadTest, OfOneProviderRenewsThatOneOnly) {
  make();
  start();
  connect_both(0);
  const std::uint64_t before = connections();
  replace_in_config("streams = 500", "streams = 50");  // of apns, which comes first
  reload("daemon.reloaded");
  connect_both(1);
  EXPECT_EQ(connections(), before + 1);
  EXPECT_EQ(stop(), EX_OK);
  expect_each_once(0, 2);
}

TEST_F(ReloadTest, CallsInFlightEndOnTheirOldConnection) {
  make();
  start();
  connect_both(0);
  script("[[rule]]\nprovider = \"apns\"\ndelay = \"1s\"\n");
  const std::uint64_t before = received();
  publish(1, 11);
  ASSERT_TRUE(within(seconds(60), [&] { return received() == before + 10; }));
  replace_in_config("streams = 500", "streams = 50");
  reload("daemon.reloaded");
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("unknown"), 0U);
  EXPECT_EQ(stop(), EX_OK);
  expect_each_once(0, 11);
}

TEST_F(ReloadTest, ANewCredentialTakesANewConnectionAndABadOneIsRefused) {
  make();
  start();
  connect_both(0);
  const std::uint64_t before = connections();
  const fs::path key = fs::path(provider_.credentials()) / "apns.p8";
  const std::string good = read_file(key);
  const auto put = [&](const std::string& content) { std::ofstream(key) << content; };

  fs::remove(key);
  reload("daemon.reload_refused");
  EXPECT_THAT(log(), HasSubstr("provider.apns"));
  put("no key at all\n");
  fs::permissions(key, fs::perms(0600));
  reload("daemon.reload_refused");
  EXPECT_THAT(log(), HasSubstr("provider.apns"));
  EXPECT_THAT(log(), ::testing::Not(HasSubstr("no key at all")));
  connect_both(1);
  EXPECT_EQ(connections(), before) << "a refused reload touches nothing";

  put(make_p256_key().private_pem);  // of somebody else
  reload("daemon.reloaded");
  publish(2, 3);
  ASSERT_TRUE(logs("provider.held"));
  EXPECT_EQ(connections(), before + 1);
  EXPECT_EQ(stored(), 1U) << "a credential's fault ends no message";
  EXPECT_EQ(seen(2).accepted, 0U);
  put(good);
  reload("daemon.reloaded");
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("accepted"), 5U);
  EXPECT_EQ(seen(2).accepted, 1U);
  EXPECT_EQ(stop(), EX_OK);
}

// Who asks on the admin socket learns what came of it.
TEST_F(ReloadTest, TheCommandSaysWhatCameOfIt) {
  make();
  start();
  const std::string before = hash();
  replace_in_config("give-up", "resend");
  mark();
  Ran asked = sendonce({"reload"});
  EXPECT_EQ(asked.code, EX_OK) << asked.text;
  EXPECT_TRUE(logs("admin.reloaded"));
  EXPECT_NE(hash(), before);

  const std::string good = read_file(world_->config_path());
  const std::string applied = hash();
  replace_in_config("name = \"demo\"", "name = \"another\"");
  mark();
  asked = sendonce({"reload"});
  EXPECT_EQ(asked.code, EX_CONFIG) << "a change that only the daemon can refuse";
  EXPECT_TRUE(logs("admin.reload_refused")) << asked.text;
  EXPECT_EQ(hash(), applied);

  world_->write_config(good + "\n[class.otp.typo]\n");
  EXPECT_EQ(sendonce({"reload"}).code, EX_CONFIG) << "refused before the daemon is asked";
  world_->write_config(good);
  EXPECT_EQ(stop(), EX_OK);
  EXPECT_EQ(sendonce({"reload"}).code, EX_UNAVAILABLE);
}

}  // namespace
}  // namespace sendonce::test
