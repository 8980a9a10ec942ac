// How the daemon starts, refuses to start, and stops.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <sysexits.h>

#include "ledger/lmdb/open.hpp"
#include "plugin/module/compose.hpp"
#include "tests/integration/daemon/rig.hpp"

namespace sendonce::test {
namespace {

namespace fs = std::filesystem;

TEST_F(DaemonTest, DeliversEachOnceAndDuplicatesNever) {
  make();
  start();
  publish(0, 50);
  publish(0, 50);
  publish(50, 60, "otp");
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("duplicates_suppressed"), 50U);
  expect_no_early_ack(110);
  EXPECT_EQ(stop(), EX_OK);
  expect_each_once(0, 60);
  EXPECT_EQ(rows().size(), 60U);
}

TEST_F(DaemonTest, TheLogLevelIsThatOfTheCommandLine) {
  make({.log_level = "debug"});
  start();
  publish(0, 2);
  publish(0, 2);
  ASSERT_TRUE(settled());
  EXPECT_EQ(stop(), EX_OK);
  EXPECT_THAT(log(), HasSubstr("level=debug event=claim.duplicate"));
  EXPECT_THAT(log(), HasSubstr("level=info"));
}

// ---- refusals ---------------------------------------------------------------------------------

TEST_F(DaemonTest, ABadConfigurationIsRefusedByLineAndColumn) {
  make();
  publish(0, 5);
  replace_in_config("claim     = \"10s\"", "clame     = \"10s\"");
  start_without_wait();
  EXPECT_EQ(exit_code(), EX_CONFIG);
  const std::string config = read_file(world_->config_path());
  const auto line =
      1 + std::count(config.begin(),
                     config.begin() + static_cast<std::ptrdiff_t>(config.find("clame")), '\n');
  EXPECT_THAT(log(), HasSubstr("daemon.config_refused"));
  EXPECT_THAT(log(),
              HasSubstr("sendonce.toml:" + std::to_string(line) + ":13: error: class.otp.clame"));
  expect_untouched(5);
}

TEST_F(DaemonTest, WithoutALedgerItSaysHowToMakeOne) {
  make();
  publish(0, 5);
  fs::remove_all(world_->state_dir() + "/ledger");
  start_without_wait();
  EXPECT_EQ(exit_code(), EX_CONFIG);
  EXPECT_THAT(log(), HasSubstr("daemon.start_failed"));
  EXPECT_THAT(log(), HasSubstr("sendonce setup"));
  EXPECT_FALSE(fs::exists(world_->state_dir() + "/ledger")) << "only setup makes one";
  expect_untouched(5);
}

TEST_F(DaemonTest, AForeignLedgerIsRefusedNamingBoth) {
  make();
  publish(0, 5);
  const std::string directory = ledger_directory(world_->config().instance);
  const auto id_of = [&] { return (*LedgerReader::open(directory))->id(); };
  const std::string ours = id_of();
  fs::remove_all(directory);
  ASSERT_TRUE(create_ledger(ledger_options(world_->config())).has_value());
  const std::string other = id_of();
  start_without_wait();
  EXPECT_EQ(exit_code(), EX_CONFIG);
  EXPECT_THAT(log(), HasSubstr(ours));
  EXPECT_THAT(log(), HasSubstr(other));
  EXPECT_THAT(log(), HasSubstr("--adopt"));
  expect_untouched(5);

  const Ran adopted = sendonce({"setup", "--adopt", "marketing", "--adopt", "otp"});
  EXPECT_EQ(adopted.code, EX_OK) << adopted.text;
  start();
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("unknown"), 5U) << "the lost ledger may have sent them";
  EXPECT_EQ(received(), 0U);
}

TEST_F(DaemonTest, AConsumerOfNobodyIsRefused) {
  make();
  publish(0, 5);
  Json config = api("CONSUMER.INFO.NOTIFY.sendonce_marketing")["config"];
  config["description"] = "somebody's";
  const Json request{{"stream_name", "NOTIFY"}, {"config", config}};
  const Json changed = api("CONSUMER.DURABLE.CREATE.NOTIFY.sendonce_marketing", request.dump());
  ASSERT_FALSE(changed.contains("error")) << changed.dump();
  start_without_wait();
  EXPECT_EQ(exit_code(), EX_CONFIG);
  EXPECT_THAT(log(), HasSubstr("belongs to no ledger"));
  expect_untouched(5);
}

TEST_F(DaemonTest, ASecondProcessIsSentAway) {
  make();
  start();
  const std::string other = world_->path("second.toml");
  std::string config = read_file(world_->config_path());
  const std::string socket = world_->path("admin.sock");
  config.replace(config.find(socket), socket.size(), world_->path("second.sock"));
  std::ofstream(other) << config;
  auto second = Process::start({.program = cli::beside_us("sendonced"),
                                .args = {"--config", other},
                                .output = world_->path("second.log")});
  ASSERT_TRUE(second.has_value());
  const auto exit = second->wait(seconds(60));
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->code, EX_TEMPFAIL);
  EXPECT_THAT(read_file(world_->path("second.log")),
              HasSubstr("belongs to process " + std::to_string(world_->daemon().pid()) +
                        ", which is running: stop it first, or use a state_dir of its own"));
  const Ran restored = sendonce({"setup", "--restored"});
  EXPECT_EQ(restored.code, EX_NOPERM) << restored.text;
  EXPECT_THAT(restored.text, HasSubstr("stop it first"));
  EXPECT_TRUE(world_->daemon_runs());
}

TEST_F(DaemonTest, ACredentialThatCannotBeReadIsNamed) {
  make();
  publish(0, 5);
  const fs::path key = fs::path(provider_.credentials()) / "apns.p8";
  fs::permissions(key, fs::perms(0644));
  start_without_wait();
  EXPECT_EQ(exit_code(), EX_NOPERM);
  EXPECT_THAT(log(), HasSubstr("provider.apns"));
  EXPECT_THAT(log(), HasSubstr("chmod 0600"));
  fs::remove(key);
  start_without_wait();
  EXPECT_EQ(exit_code(), EX_CONFIG);
  EXPECT_THAT(log(), HasSubstr("provider.apns"));
  EXPECT_THAT(log(), HasSubstr("apns.p8"));
  expect_untouched(5);
}

TEST_F(DaemonTest, NatsCredentialsThatCannotBeReadAreNamed) {
  make();
  replace_in_config("[ledger]", "credentials = \"file:/no/such/file.creds\"\n\n[ledger]");
  start_without_wait();
  EXPECT_EQ(exit_code(), EX_CONFIG);
  EXPECT_THAT(log(), HasSubstr("nats.credentials"));
  EXPECT_THAT(log(), HasSubstr("/no/such/file.creds"));
}

// ---- offline verbs ----------------------------------------------------------------------------

TEST_F(DaemonTest, OfflineVerbsRefuseWhileTheDaemonRuns) {
  make();
  start();
  publish(0, 3);
  ASSERT_TRUE(settled());
  for (const std::vector<std::string>& verb :
       {std::vector<std::string>{"list", "--offline"}, {"inspect", "e1", "--offline"}}) {
    const Ran refused = sendonce(verb);
    EXPECT_EQ(refused.code, EX_NOPERM) << refused.text;
    EXPECT_THAT(refused.text, HasSubstr("socket"));
    EXPECT_THAT(refused.text, HasSubstr(std::to_string(world_->daemon().pid())));
  }
  EXPECT_EQ(sendonce({"inspect", "e1"}).code, EX_OK) << "the socket answers";
  EXPECT_EQ(stop(), EX_OK);
  const Ran offline = sendonce({"inspect", "e1", "--offline"});
  EXPECT_EQ(offline.code, EX_OK);
  EXPECT_THAT(offline.text, HasSubstr("accepted"));
  EXPECT_EQ(sendonce({"inspect", "e1"}).code, EX_UNAVAILABLE);
}

// ---- stopping ---------------------------------------------------------------------------------

TEST_F(DaemonTest, SigtermLetsCallsEndAndHandsBackTheRest) {
  make({.streams = 20});
  start();
  publish(0, 1);  // APNs allows one stream before its first answer
  ASSERT_TRUE(settled());
  script("[[rule]]\nprovider = \"apns\"\ndelay = \"1s\"\n");
  publish(1, 60);
  ASSERT_TRUE(within(seconds(60), [this] { return received() >= 10; }));
  EXPECT_EQ(stop(), EX_OK);
  EXPECT_THAT(log(), HasSubstr("daemon.stopped"));
  EXPECT_THAT(log(), ::testing::Not(HasSubstr("daemon.stopped_in_doubt")));
  const std::uint64_t called = received();
  EXPECT_LT(called, 60U) << "some had not started";
  for (const auto& [event, state] : rows())
    EXPECT_NE(state, State::claimed) << "event " << event << " is left in doubt";
  EXPECT_EQ(stored(), 60 - called) << "acked is what has ended, and nothing else";
  script("");
  start();
  ASSERT_TRUE(settled());
  EXPECT_EQ(stop(), EX_OK);
  expect_each_once(0, 60);
}

TEST_F(DaemonTest, ACallThatHangsEndsWithinTheDrain) {
  make();
  start();
  script("[[rule]]\nprovider = \"apns\"\nstall = \"stream\"\nprocessed = true\n");
  publish(0, 1);
  ASSERT_TRUE(within(seconds(60), [this] { return received() == 1; }));
  EXPECT_EQ(stop(), EX_OK);
  EXPECT_EQ(stored(), 0U);
  EXPECT_EQ(rows()[0], State::unknown) << "in doubt, and the class gives up";
  expect_each_once(0, 1);
}

TEST_F(DaemonTest, ASecondSignalStopsAtOnce) {
  make();
  start();
  script("[[rule]]\nprovider = \"apns\"\nstall = \"stream\"\nprocessed = true\n");
  publish(0, 1);
  ASSERT_TRUE(within(seconds(60), [this] { return received() == 1; }));
  world_->daemon().signal(SIGTERM);
  ASSERT_TRUE(logs("daemon.stopping"));
  world_->daemon().signal(SIGTERM);
  const auto exit = world_->daemon().wait(seconds(60));
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->signal, SIGTERM);
  script("");
  start();
  ASSERT_TRUE(settled());
  EXPECT_EQ(stop(), EX_OK);
  expect_each_once(0, 1);
}

}  // namespace
}  // namespace sendonce::test
