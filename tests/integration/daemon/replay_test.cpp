// A replay is for one target: the witness at the provider sees nothing of the others.
#include "plugin/message/replay.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <sysexits.h>

#include "plugin/module/admin/admin_server.hpp"
#include "tests/integration/daemon/rig.hpp"

namespace sendonce::test {
namespace {

using ::testing::Not;

class ReplayTest : public DaemonTest {
 protected:
  [[nodiscard]] std::uint64_t letters() {
    return api("STREAM.INFO.SENDONCE_DLQ").value("/state/messages"_json_pointer, std::uint64_t{0});
  }
  static std::string envelope(const std::vector<int>& targets, const std::string& event = "e1") {
    std::string list;
    for (const int t : targets) list += (list.empty() ? "" : ",") + target(t);
    return R"({"event_id":")" + event +
           R"(","recipient":"u","channel":"push","template":"t","targets":[)" + list +
           R"(],"notification":{"title":"T","data":{"n":1.00}}})";
  }
  // Everything that goes to device `event` is refused for good.
  void refuse(int event) {
    script("[[rule]]\nprovider = \"apns\"\ntoken = \"" + token(event) +
           "\"\nstatus = 413\nreason = \"PayloadTooLarge\"\n");
  }
  void publish_named(const std::string& body, const std::string& key) {
    auto client = world_->connect();
    ASSERT_TRUE(client.has_value()) << client.error().text;
    const auto stored = (*client)->publish({.subject = "notify.campaign.x",
                                            .headers = {{std::string(kReplayHeader), key}},
                                            .body = body});
    ASSERT_TRUE(stored.has_value()) << stored.error().text;
  }
  // The key of device `event`, as `sendonce key` prints it for an envelope of it alone.
  [[nodiscard]] std::string key_of(int event, const std::string& event_id = "e1") {
    const std::string file = world_->path("one.json");
    std::ofstream(file) << envelope({event}, event_id);
    const Ran ran = sendonce({"key", "marketing", "--file", file, "--json"});
    EXPECT_EQ(ran.code, EX_OK) << ran.text;
    const std::size_t at = ran.text.find("\"key\":\"");
    return at == std::string::npos ? ran.text : ran.text.substr(at + 7, 64);
  }
  // Each of its threads: one that still runs would answer.
  [[nodiscard]] bool server_stands() {
    const std::string tasks = "/proc/" + std::to_string(world_->server_pid()) + "/task";
    return std::ranges::all_of(std::filesystem::directory_iterator(tasks), [](const auto& task) {
      const std::string stat = read_file(task.path() / "stat");
      return stat.find(") T") != std::string::npos;
    });
  }
  [[nodiscard]] Json row(const std::string& key) const {
    const Ran ran = sendonce({"inspect", key, "--json"});
    return Json::parse(ran.text.substr(0, ran.text.find('\n')), nullptr, false);
  }

  const std::unique_ptr<Clock> clock_ = make_system_clock();
  const std::unique_ptr<Log> log_ = make_null_log();
};

TEST_F(ReplayTest, OnlyTheLettersTargetGetsARequest) {
  make();
  start();
  refuse(2);
  publish_body("marketing", envelope({1, 2, 3}));
  ASSERT_TRUE(settled());
  ASSERT_TRUE(within(seconds(30), [&] { return letters() == 1; }));
  const std::uint64_t targets = counter("targets");
  script("");
  const Ran ran = sendonce({"dlq", "replay", "1"});
  ASSERT_EQ(ran.code, EX_OK) << ran.text;
  ASSERT_TRUE(within(seconds(60), [&] { return seen(2).accepted == 1; }));
  ASSERT_TRUE(settled());
  EXPECT_EQ(seen(2).received, 2U);
  EXPECT_EQ(seen(1).received, 1U);
  EXPECT_EQ(seen(3).received, 1U);
  EXPECT_EQ(counter("targets"), targets + 1) << "nobody even asks the ledger about the others";
  EXPECT_EQ(counter("duplicates_suppressed"), 0U);
  EXPECT_EQ(counter("conflicts"), 0U);
}

// Whoever is forgotten, here since the ledger has never heard of him, would be sent to.
TEST_F(ReplayTest, ForgottenTargetsOfTheEventGetNothing) {
  make();
  start();
  publish_named(envelope({1, 2, 3}), key_of(2));
  ASSERT_TRUE(within(seconds(60), [&] { return seen(2).accepted == 1; }));
  ASSERT_TRUE(settled());
  EXPECT_EQ(seen(1).received, 0U);
  EXPECT_EQ(seen(3).received, 0U);
  // The message of the event comes later, as its producer sent it: they are new, and 2 is not.
  publish_body("marketing", envelope({1, 2, 3}));
  ASSERT_TRUE(settled());
  for (int i = 1; i < 4; ++i) EXPECT_EQ(seen(i).received, 1U) << i;
}

// Two messages of one event, each with a target of its own: each letter brings its own alone.
TEST_F(ReplayTest, EachMessageOfAnEventHasItsOwn) {
  make();
  start();
  refuse(2);
  publish_body("marketing", envelope({1, 2}));
  publish_body("marketing", envelope({2, 3}));
  ASSERT_TRUE(settled());
  ASSERT_TRUE(within(seconds(30), [&] { return letters() >= 1; }));
  script("");
  ASSERT_EQ(sendonce({"dlq", "replay", "1"}).code, EX_OK);
  ASSERT_TRUE(within(seconds(60), [&] { return seen(2).accepted == 1; }));
  ASSERT_TRUE(settled());
  EXPECT_EQ(seen(1).received, 1U);
  EXPECT_EQ(seen(3).received, 1U);
  EXPECT_EQ(seen(2).accepted, 1U);
}

TEST_F(ReplayTest, ANameThatIsNoTargetsIsALetterAndStaysAReplay) {
  make();
  start();
  publish_named(envelope({1}), key_of(2));
  ASSERT_TRUE(settled());
  ASSERT_TRUE(within(seconds(30), [&] { return letters() == 1; }));
  EXPECT_EQ(received(), 0U);
  EXPECT_THAT(sendonce({"dlq", "show", "1"}).text, HasSubstr("none of its targets has this key"));
  // Its letter published again is for nobody, too.
  ASSERT_EQ(sendonce({"dlq", "replay", "1"}).code, EX_OK);
  ASSERT_TRUE(within(seconds(30), [&] { return letters() == 2; }));
  ASSERT_TRUE(settled());
  EXPECT_EQ(received(), 0U);
}

TEST_F(ReplayTest, ABodyThatIsNoEnvelopeOpensNoRow) {
  make();
  start();
  std::string late = envelope({1});
  late.insert(1, R"("expires_at":"2020-01-01T00:00:00Z",)");
  publish_body("marketing", late);
  ASSERT_TRUE(settled());
  const std::string key = key_of(1);
  ASSERT_EQ(row(key)["state"], "suppressed");
  auto client = world_->connect();
  ASSERT_TRUE(client.has_value());
  const auto letter =
      (*client)->publish({.subject = "sendonce.dlq.marketing.x",
                          .message_id = key + ".dlq",
                          .headers = {{"Sendonce-Key", key},
                                      {"Sendonce-Class", "marketing"},
                                      {"Sendonce-Original-Subject", "notify.campaign.x"}},
                          .body = "[]"});
  ASSERT_TRUE(letter.has_value()) << letter.error().text;
  const Ran ran = sendonce({"dlq", "replay", std::to_string(letter->seq)});
  EXPECT_EQ(ran.code, EX_DATAERR);
  EXPECT_THAT(ran.text, HasSubstr("its body is no envelope"));
  EXPECT_EQ(row(key)["state"], "suppressed") << "a row without a message would wait for nothing";
}

// The server takes the message and its confirmation gets lost: it is published once more by itself,
// with the same id.
TEST_F(ReplayTest, ALostConfirmationIsAskedForAgain) {
  make();
  start();
  refuse(1);
  publish_body("marketing", envelope({1}));
  ASSERT_TRUE(settled());
  ASSERT_TRUE(within(seconds(30), [&] { return letters() == 1; }));
  script("");
  ASSERT_EQ(stop(), EX_OK);
  // In the place of the daemon: it opens the row, and the server stops answering.
  const std::string deadline = "2100-01-01T00:00:00Z";
  AdminServer stand_in(*clock_, *log_);
  ASSERT_TRUE(stand_in
                  .start(
                      world_->config().instance.socket,
                      [&](const AdminRequest&, AdminReply& reply) -> Result<void> {
                        world_->server().freeze();
                        EXPECT_TRUE(within(seconds(30), [&] { return server_stands(); }));
                        reply.result(R"({"done":true,"revision":7,"deadline":")" + deadline +
                                     "\"}");
                        return {};
                      },
                      [](const HttpQuestion&) { return HttpReply{}; })
                  .has_value());
  const std::string said = world_->path("said");
  auto process = Process::start({.program = cli::beside_us("sendonce"),
                                 .args = {"--config", world_->config_path(), "dlq", "replay", "1",
                                          "--force", "--reason", "test"},
                                 .output = said});
  ASSERT_TRUE(process.has_value());
  EXPECT_TRUE(within(seconds(60),
                     [&] { return read_file(said).find("not confirmed") != std::string::npos; }));
  world_->server().thaw();
  const auto exit = process->wait(seconds(90));
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->code, EX_OK) << read_file(said);
  EXPECT_EQ(stored(), 1U) << "one message, however often it was published";
  stand_in.stop();
  EXPECT_THAT(read_file(said), Not(HasSubstr("run the same command")));
}

}  // namespace
}  // namespace sendonce::test
