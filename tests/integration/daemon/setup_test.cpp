// `sendonce setup` where the ledger is not what it was: damaged, put back from a copy, its keys
// made in another way. What might be sent again must not be.
#include <filesystem>
#include <fstream>

#include <sysexits.h>

#include "ledger/lmdb/open.hpp"
#include "plugin/module/compose.hpp"
#include "tests/integration/daemon/rig.hpp"

namespace sendonce::test {
namespace {

namespace fs = std::filesystem;
using ::testing::Not;

class SetupTest : public DaemonTest {
 protected:
  [[nodiscard]] std::string ledger() const { return ledger_directory(world_->config().instance); }

  // One life of the daemon in which the events [from, to) end.
  void live(int from, int to) {
    start();
    publish(from, to);
    ASSERT_TRUE(settled());
    ASSERT_EQ(stop(), EX_OK);
  }
  // The next start is refused, and says so.
  void expect_refused(const char* remedy) {
    start_without_wait();
    EXPECT_EQ(exit_code(), EX_CONFIG);
    EXPECT_THAT(log(), HasSubstr(remedy));
    mark();
  }
};

TEST_F(SetupTest, ADamagedLedgerIsNotTakenForAMissingOne) {
  make();
  live(0, 1);
  const std::string data = ledger() + "/data.mdb";
  std::fstream(data, std::ios::in | std::ios::out | std::ios::binary) << std::string(8192, 'x');
  const std::vector<std::vector<std::string>> commands{
      {"setup"}, {"setup", "--dry-run"}, {"setup", "--restored"}, {"setup", "--accept-keys"}};
  for (const auto& command : commands) {
    const Ran ran = sendonce(command);
    EXPECT_EQ(ran.code, EX_DATAERR) << ran.text;
    EXPECT_THAT(ran.text, HasSubstr("data.mdb"));
    EXPECT_THAT(ran.text, Not(HasSubstr("there is a ledger already")));
    EXPECT_THAT(ran.text, Not(HasSubstr("to be made")));
  }
}

TEST_F(SetupTest, ACopyThatWasPutBackSendsNothingTwice) {
  make();
  live(0, 2);
  fs::copy(ledger(), world_->path("copy"));
  live(2, 5);
  fs::remove_all(ledger());
  fs::copy(world_->path("copy"), ledger());
  publish(0, 5);  // once more: 0 and 1 the copy knows, 2 to 4 it has forgotten

  const Ran looked = sendonce({"setup", "--restored", "--dry-run"});
  EXPECT_EQ(looked.code, EX_OK) << looked.text;
  EXPECT_THAT(looked.text, HasSubstr("nothing was changed"));
  const auto id = [&] { return (*LedgerReader::open(ledger()))->id(); };
  const std::string before = id();
  const Ran restored = sendonce({"setup", "--restored"});
  EXPECT_EQ(restored.code, EX_OK) << restored.text;
  EXPECT_NE(id(), before) << "and the dry run had not changed it";
  start();
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("unknown"), 3U) << "give-up: they may have been sent";
  expect_each_once(0, 5);
  EXPECT_EQ(stop(), EX_OK);
}

TEST_F(SetupTest, ABackupPutBackSendsNothingBeforeItIsAdopted) {
  make();
  publish(0, 2);
  start();
  ASSERT_TRUE(settled());
  const std::string backup = world_->path("backup");
  const Ran made = sendonce({"ledger", "backup", backup});  // beside the daemon
  EXPECT_EQ(made.code, EX_OK) << made.text;
  publish(2, 5);
  ASSERT_TRUE(settled());
  const Ran beside = sendonce({"ledger", "verify"});
  EXPECT_EQ(beside.code, EX_OK) << beside.text;
  EXPECT_EQ(stop(), EX_OK);

  EXPECT_EQ(sendonce({"ledger", "restore", backup}).code, EX_NOPERM) << "there is a ledger";
  fs::remove(ledger() + "/data.mdb");
  const Ran restored = sendonce({"ledger", "restore", backup});
  EXPECT_EQ(restored.code, EX_OK) << restored.text;
  publish(0, 5);  // once more: 0 and 1 the backup knows, 2 to 4 it has forgotten
  expect_refused("--adopt");
  EXPECT_EQ(stored(), 5U);

  EXPECT_THAT(restored.text, HasSubstr("sendonce setup --adopt"));
  const Ran adopted = sendonce({"setup", "--adopt", "otp", "--adopt", "marketing"});
  EXPECT_EQ(adopted.code, EX_OK) << adopted.text;
  start();
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("unknown"), 3U) << "give-up: they may have been sent";
  expect_each_once(0, 5);
  EXPECT_EQ(stop(), EX_OK);
}

TEST_F(SetupTest, ADamagedBackupIsNotPutBack) {
  make();
  live(0, 2);
  const std::string backup = world_->path("backup");
  ASSERT_EQ(sendonce({"ledger", "backup", backup}).code, EX_OK);
  fs::remove(ledger() + "/data.mdb");
  std::fstream(backup + "/data.mdb", std::ios::in | std::ios::out | std::ios::binary)
      << std::string(8192, 'x');
  EXPECT_EQ(sendonce({"ledger", "verify", backup}).code, EX_DATAERR);
  EXPECT_EQ(sendonce({"ledger", "restore", backup}).code, EX_DATAERR);
  EXPECT_FALSE(fs::exists(ledger() + "/data.mdb"));
}

TEST_F(SetupTest, OtherKeysAreRefusedUntilTheyAreAccepted) {
  make();
  live(0, 3);
  replace_in_config("[class.marketing]\n",
                    "[class.marketing]\nkey = [\"event_id\", \"recipient\", \"channel\"]\n");
  publish(0, 3);  // once more: under their new keys nobody knows them
  expect_refused("--accept-keys");
  const Ran looked = sendonce({"setup", "--accept-keys", "--dry-run"});
  EXPECT_EQ(looked.code, EX_OK) << looked.text;
  EXPECT_THAT(looked.text, HasSubstr("accept  "));
  expect_refused("--accept-keys");
  EXPECT_EQ(stored(), 3U);

  const Ran accepted = sendonce({"setup", "--accept-keys"});
  EXPECT_EQ(accepted.code, EX_OK) << accepted.text;
  start();
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("unknown"), 3U) << "give-up: they may have been sent";
  expect_each_once(0, 3);
  EXPECT_EQ(stop(), EX_OK);
}

TEST_F(SetupTest, ARefusedPlanMakesNoLedger) {
  make();
  fs::remove_all(ledger());
  const Ran refused = sendonce({"setup"});
  EXPECT_NE(refused.code, EX_OK);
  EXPECT_THAT(refused.text, HasSubstr("--adopt"));
  EXPECT_THAT(refused.text, HasSubstr("nothing was changed"));
  EXPECT_FALSE(fs::exists(ledger() + "/data.mdb"));
  const Ran adopted = sendonce({"setup", "--adopt", "otp", "--adopt", "marketing"});
  EXPECT_EQ(adopted.code, EX_OK) << adopted.text;
  EXPECT_TRUE(fs::exists(ledger() + "/data.mdb"));
}

TEST_F(SetupTest, ATargetWithoutAKeyIsSaid) {
  make();
  const std::string file = world_->path("envelope.json");
  std::ofstream(file) << R"({"event_id":"e","recipient":"u","channel":"push","template":"t",)"
                         R"("notification":{"title":"T"},"targets":[{"provider":"apns",)"
                         R"("token":"nothex"},{"provider":"nobody","token":"ab"}]})";
  const Ran ran = sendonce({"key", "otp", "--file", file});
  EXPECT_EQ(ran.code, EX_DATAERR) << ran.text;
  EXPECT_THAT(ran.text, HasSubstr("$.targets[0]"));
  EXPECT_THAT(ran.text, HasSubstr("$.targets[1]: no such provider"));
}

}  // namespace
}  // namespace sendonce::test
