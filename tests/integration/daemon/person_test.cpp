// What a person sees of a running daemon: the commands, and the log of a start that goes well.
#include <string>

#include <sysexits.h>

#include "tests/integration/daemon/rig.hpp"

namespace sendonce::test {
namespace {

using ::testing::AllOf;
using ::testing::Not;

constexpr const char* kSecret = "only for one pair of eyes";

TEST_F(DaemonTest, ACleanStartWarnsOfNothing) {
  make();
  start();
  publish(0, 1);
  ASSERT_TRUE(settled());
  EXPECT_EQ(stop(), EX_OK);
  EXPECT_THAT(log(), HasSubstr("event=lane.ready"));
  EXPECT_THAT(log(), AllOf(Not(HasSubstr("level=warn")), Not(HasSubstr("level=error"))));
}

TEST_F(DaemonTest, InspectSaysWhatIsHeldAndHasNoRow) {
  make({.streams = 1});
  start();
  // One stream, and every call takes its whole time: the last event waits for a minute.
  script("[[rule]]\nprovider = \"apns\"\nstall = \"stream\"\nprocessed = true\n");
  publish(0, 20);
  Ran ran;
  ASSERT_TRUE(within(seconds(40), [&] {
    ran = sendonce({"inspect", "e19"});
    return ran.code == EX_OK;
  })) << ran.text;
  EXPECT_THAT(ran.text,
              HasSubstr("held by the daemon, no row yet: class marketing, message 20 of stream "
                        "NOTIFY, target 0\n  it waits for its provider (apns)"));
  const Ran nothing = sendonce({"inspect", "e20"});
  EXPECT_EQ(nothing.code, 1);
  EXPECT_THAT(nothing.text, HasSubstr("the daemon does not hold the event now"));
}

TEST_F(DaemonTest, StatusCountsConflictsUndecodableMessagesAndTheLedger) {
  make();
  start();
  publish(0, 1);
  publish_body("marketing", "no JSON");
  ASSERT_TRUE(settled());
  const Ran ran = sendonce({"status"});
  EXPECT_EQ(ran.code, EX_OK);
  EXPECT_THAT(ran.text, AllOf(HasSubstr("conflicts"), HasSubstr("undecodable"),
                              HasSubstr("% of 4GiB used, 1 rows, 0 of them open")));
}

TEST_F(DaemonTest, AReloadThatIsRefusedNamesThePlace) {
  make();
  start();
  replace_in_config("subject   = \"notify.otp.>\"", "subject   = \"notify.code.>\"");
  reload("event=daemon.reload_refused");
  EXPECT_THAT(log(), HasSubstr("sendonce.toml:"));
  EXPECT_THAT(log(), HasSubstr("error: class.otp.subject: cannot change while running"));
}

// ---- tail -------------------------------------------------------------------------------------

class TailTest : public DaemonTest {
 protected:
  // What `sendonce tail` prints while poison and a good event come by, again and again: nobody can
  // see when it has begun to listen.
  std::string tailed(std::vector<std::string> args) {
    args.insert(args.begin(), {"--config", world_->config_path(), "tail"});
    const std::string output = world_->path("tail.log");
    auto tail = Process::start(
        {.program = cli::beside_us("sendonce"), .args = std::move(args), .output = output});
    EXPECT_TRUE(tail.has_value());
    int event = 0;
    EXPECT_TRUE(within(seconds(60), [&] {
      publish_body("marketing", std::string(R"({"secret":")") + kSecret + "\"}");
      publish(event, event + 1);
      ++event;
      return !tail->running();
    }));
    return read_file(output);
  }
};

TEST_F(TailTest, IsOfOutcomesAndDevices) {
  make();
  start();
  const std::string said = tailed({"--count", "2"});
  EXPECT_THAT(said, HasSubstr("sendonce.outcome.marketing.accepted "));
  EXPECT_THAT(said, AllOf(Not(HasSubstr("sendonce.dlq.")), Not(HasSubstr(kSecret))));
}

TEST_F(TailTest, DeadLettersKeepTheirPayloads) {
  make();
  start();
  const std::string said = tailed({"--subject", "sendonce.dlq.>", "--count", "1"});
  EXPECT_THAT(said, AllOf(HasSubstr("sendonce.dlq.marketing.undecodable [$"),
                          HasSubstr("--payloads prints them"), Not(HasSubstr(kSecret))));
  EXPECT_THAT(tailed({"--subject", "sendonce.dlq.>", "--count", "1", "--payloads"}),
              HasSubstr(kSecret));
}

TEST_F(TailTest, TargetsInReasonsAreJsonPaths) {
  make();
  start();
  publish_body("marketing",
               R"({"event_id":"e","recipient":"u","channel":"push","template":"t","targets":)"
               R"([{"provider":"none","token":"aa"}],"notification":{"title":"T"}})");
  ASSERT_TRUE(logs("event=message.undecodable"));
  EXPECT_THAT(log(), HasSubstr("$.targets[0]: no such provider"));
}

}  // namespace
}  // namespace sendonce::test
