// People's decisions about real deliveries: the witness at the provider counts what they lead to.
#include <csignal>
#include <fstream>

#include <sys/wait.h>
#include <sysexits.h>

#include "tests/integration/daemon/rig.hpp"
#include "tests/support/eventually.hpp"

namespace sendonce::test {
namespace {

using ::testing::Not;

constexpr const char* kRefuses =
    "[[rule]]\nprovider = \"apns\"\nstatus = 413\nreason = \"PayloadTooLarge\"\n";
constexpr const char* kBreaks =
    "[[rule]]\nprovider = \"apns\"\nclose = \"fin\"\nprocessed = true\n";

class DecideTest : public DaemonTest {
 protected:
  void begin() {
    make();
    start();
  }
  // One event that ends as failed, its letter stored.
  void fail_one(int event) {
    script(kRefuses);
    publish(event, event + 1);
    ASSERT_TRUE(settled());
    ASSERT_TRUE(within(seconds(30), [&] { return letters() > 0; }));
    script("");
  }
  [[nodiscard]] std::uint64_t letters() {
    return api("STREAM.INFO.SENDONCE_DLQ").value("/state/messages"_json_pointer, std::uint64_t{0});
  }
  [[nodiscard]] Json listed(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"dlq", "list", "--json"});
    const Ran ran = sendonce(std::move(more));
    EXPECT_EQ(ran.code, EX_OK) << ran.text;
    Json out = Json::array();
    std::istringstream lines(ran.text);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with('{')) out.push_back(Json::parse(line, nullptr, false));
    return out;
  }
  // The rows of an event, as inspect shows them.
  [[nodiscard]] Json row(int event) const {
    const Ran ran = sendonce({"inspect", "e" + std::to_string(event), "--json"});
    return Json::parse(ran.text.substr(0, ran.text.find('\n')), nullptr, false);
  }
  [[nodiscard]] bool becomes(int event, std::string_view state) const {
    return within(seconds(60), [&] { return row(event).value("state", "") == state; });
  }
  void expect_received(int event, std::uint64_t times) const {
    EXPECT_EQ(seen(event).received, times) << "event " << event;
  }
};

// ---- replay -----------------------------------------------------------------------------------

TEST_F(DecideTest, AFailedDeliveryGoesOutOnce) {
  begin();
  fail_one(1);
  const Json letter = listed().at(0);
  EXPECT_EQ(letter["row_state"], "failed");
  EXPECT_EQ(letter["class"], "marketing");
  const Ran ran = sendonce({"dlq", "replay", "1"});
  EXPECT_EQ(ran.code, EX_OK) << ran.text;
  ASSERT_TRUE(becomes(1, "accepted"));
  ASSERT_TRUE(settled());
  EXPECT_EQ(seen(1).accepted, 1U);
  expect_received(1, 2);  // the refused one, and this
  // Who has had it, nobody gets again.
  const Ran again = sendonce({"dlq", "replay", "1"});
  EXPECT_EQ(again.code, EX_DATAERR);
  EXPECT_THAT(again.text, HasSubstr("it was sent"));
  EXPECT_THAT(again.text, HasSubstr("--force --reason"));
  EXPECT_EQ(listed().at(0)["row_state"], "accepted");
  publish(1, 2);  // nor by its producer
  ASSERT_TRUE(settled());
  expect_received(1, 2);
  EXPECT_TRUE(logs("admin.decided"));
}

TEST_F(DecideTest, TwoReplaysAtOnceSendOnce) {
  begin();
  fail_one(1);
  std::vector<Process> running;
  const TempDir out;
  for (int i = 0; i < 4; ++i) {
    auto process = Process::start({.program = cli::beside_us("sendonce"),
                                   .args = {"--config", world_->config_path(), "dlq", "replay", "1",
                                            "--reason", "by hand " + std::to_string(i % 2)},
                                   .output = out / ("out" + std::to_string(i))});
    ASSERT_TRUE(process.has_value());
    running.push_back(std::move(*process));
  }
  for (Process& process : running) ASSERT_TRUE(process.wait(seconds(60)).has_value());
  ASSERT_TRUE(becomes(1, "accepted"));
  ASSERT_TRUE(settled());
  EXPECT_EQ(seen(1).accepted, 1U);
  expect_received(1, 2);
}

TEST_F(DecideTest, ByForceItIsSentAgainAndSaysWhoAndWhy) {
  begin();
  fail_one(1);
  ASSERT_EQ(sendonce({"dlq", "replay", "1"}).code, EX_OK);
  ASSERT_TRUE(becomes(1, "accepted"));
  EXPECT_EQ(sendonce({"dlq", "replay", "1", "--force"}).code, EX_USAGE);
  const Ran ran = sendonce({"dlq", "replay", "1", "--force", "--reason", "lost his phone"});
  EXPECT_EQ(ran.code, EX_OK) << ran.text;
  ASSERT_TRUE(within(seconds(60), [&] { return seen(1).accepted == 2; }));
  ASSERT_TRUE(becomes(1, "accepted"));
  EXPECT_TRUE(logs("lost his phone"));
  const Json events = api("STREAM.MSG.GET.SENDONCE_OUTCOMES",
                          R"({"last_by_subj":"sendonce.outcome.marketing.waiting"})");
  EXPECT_TRUE(events.contains("message")) << "the decision is an event of its own";
}

TEST_F(DecideTest, AReplayThatFailsAgainKeepsItsLetter) {
  begin();
  fail_one(1);
  script(kRefuses);
  ASSERT_EQ(sendonce({"dlq", "replay", "1"}).code, EX_OK);
  ASSERT_TRUE(within(seconds(60), [&] { return seen(1).received == 2; }));
  ASSERT_TRUE(becomes(1, "failed"));
  ASSERT_TRUE(settled());
  EXPECT_GE(letters(), 1U);
  script("");
  ASSERT_EQ(sendonce({"dlq", "replay", "--all", "--class", "marketing"}).code, EX_OK);
  ASSERT_TRUE(becomes(1, "accepted"));
  EXPECT_EQ(seen(1).accepted, 1U);
}

TEST_F(DecideTest, TheOtherTargetsOfItsMessageAreNotSentAgain) {
  begin();
  script("[[rule]]\nprovider = \"apns\"\ntoken = \"" + token(2) +
         "\"\nstatus = 413\nreason = \"PayloadTooLarge\"\n");
  publish_body("marketing", R"({"event_id":"e1","recipient":"u","channel":"push","template":"t",)"
                            R"("targets":[)" +
                                target(1) + "," + target(2) +
                                R"(],"notification":{"title":"T","data":{"n":1.00}}})");
  ASSERT_TRUE(settled());
  ASSERT_TRUE(within(seconds(30), [&] { return letters() == 1; }));
  script("");
  ASSERT_EQ(sendonce({"dlq", "replay", "--all"}).code, EX_OK);
  ASSERT_TRUE(within(seconds(60), [&] { return seen(2).accepted == 1; }));
  ASSERT_TRUE(settled());
  EXPECT_EQ(seen(1).received, 1U);
  EXPECT_EQ(seen(2).received, 2U);
  EXPECT_EQ(counter("conflicts"), 0U) << "a replay has the same content";
}

TEST_F(DecideTest, AConflictIsNotReplayed) {
  begin();
  publish(1, 2);
  ASSERT_TRUE(settled());
  publish_body("marketing", R"({"event_id":"e1","recipient":"u1","channel":"push","template":"t",)"
                            R"("targets":[)" +
                                target(1) + R"(],"notification":{"title":"other"}})");
  ASSERT_TRUE(within(seconds(30), [&] { return letters() == 1; }));
  for (const auto& more : {std::vector<std::string>{}, {"--force", "--reason", "x"}}) {
    std::vector<std::string> args{"dlq", "replay", "1"};
    args.insert(args.end(), more.begin(), more.end());
    const Ran ran = sendonce(args);
    EXPECT_EQ(ran.code, EX_DATAERR);
    EXPECT_THAT(ran.text, HasSubstr("another content"));
  }
  EXPECT_EQ(row(1)["state"], "accepted");
  expect_received(1, 1);
}

TEST_F(DecideTest, AnUndecodableLetterIsJudgedAnew) {
  begin();
  publish_body("marketing", "nonsense");
  ASSERT_TRUE(within(seconds(30), [&] { return letters() == 1; }));
  EXPECT_EQ(listed().at(0)["row_state"], "-");
  ASSERT_EQ(sendonce({"dlq", "replay", "1"}).code, EX_OK);
  ASSERT_TRUE(within(seconds(30), [&] { return letters() == 2; }));
  EXPECT_EQ(received(), 0U);
}

TEST_F(DecideTest, ADeadDaemonReplaysNothing) {
  begin();
  fail_one(1);
  ASSERT_EQ(stop(), EX_OK);
  const Ran ran = sendonce({"dlq", "replay", "1"});
  EXPECT_EQ(ran.code, EX_UNAVAILABLE);
  EXPECT_EQ(stored(), 0U) << "nothing was published";
  EXPECT_EQ(sendonce({"dlq", "drop", "1", "--reason", "x"}).code, EX_UNAVAILABLE);
  EXPECT_EQ(letters(), 1U);
}

// Killed between opening the row and sending: the message is there or the command is run again.
TEST_F(DecideTest, AReplayOutlivesAKill) {
  begin();
  fail_one(1);
  ASSERT_EQ(sendonce({"pause", "marketing", "--reason", "test"}).code, EX_OK);
  ASSERT_EQ(sendonce({"dlq", "replay", "1"}).code, EX_OK);
  world_->kill_daemon();
  start_without_wait();
  ASSERT_TRUE(within(seconds(60), [&] { return status().contains("classes"); }));
  expect_received(1, 1);
  const Ran repeat = sendonce({"dlq", "replay", "1"});
  EXPECT_EQ(repeat.code, EX_OK) << repeat.text;
  EXPECT_THAT(repeat.text, HasSubstr("was published already"));
  ASSERT_EQ(sendonce({"resume", "marketing"}).code, EX_OK);
  ASSERT_TRUE(becomes(1, "accepted"));
  ASSERT_TRUE(settled());
  EXPECT_EQ(seen(1).accepted, 1U);
}

// ---- looking and dropping -----------------------------------------------------------------------

TEST_F(DecideTest, NoPayloadIsShownUnasked) {
  begin();
  fail_one(1);
  for (const auto& args : {std::vector<std::string>{"dlq", "list"},
                           {"dlq", "list", "--json"},
                           {"dlq", "show", "1"},
                           {"dlq", "show", "1", "--json"}}) {
    const Ran ran = sendonce(args);
    EXPECT_EQ(ran.code, EX_OK);
    EXPECT_THAT(ran.text, HasSubstr("marketing"));
    EXPECT_THAT(ran.text, Not(HasSubstr(token(1))));
    EXPECT_THAT(ran.text, Not(HasSubstr("\"title\"")));
  }
  EXPECT_THAT(sendonce({"dlq", "show", "1", "--payload"}).text, HasSubstr(token(1)));
  EXPECT_EQ(sendonce({"dlq", "show", "99"}).code, EX_DATAERR);
}

TEST_F(DecideTest, ADroppedLetterIsGoneAndNoted) {
  begin();
  fail_one(1);
  EXPECT_EQ(sendonce({"dlq", "drop", "1"}).code, EX_USAGE);
  ASSERT_EQ(sendonce({"dlq", "drop", "1", "--reason", "test data"}).code, EX_OK);
  EXPECT_EQ(letters(), 0U);
  EXPECT_THAT(row(1).value("reason", ""), HasSubstr("test data"));
  EXPECT_EQ(row(1)["state"], "failed");
  EXPECT_TRUE(listed().empty());
}

// ---- resolve ------------------------------------------------------------------------------------

TEST_F(DecideTest, AnUnknownDeliveryIsWhatAPersonSays) {
  begin();
  script(kBreaks);
  publish(1, 4);
  ASSERT_TRUE(settled());
  script("");
  for (int i = 1; i < 4; ++i) ASSERT_EQ(row(i)["state"], "unknown") << row(i).dump();
  const auto decide = [&](int event, const char* as) {
    return sendonce(
        {"resolve", row(event)["key"].get<std::string>(), "--as", as, "--reason", "looked it up"});
  };
  const std::uint64_t before = received();
  EXPECT_EQ(decide(1, "accepted").code, EX_OK);
  EXPECT_EQ(decide(2, "failed").code, EX_OK);
  EXPECT_EQ(row(1)["state"], "accepted");
  EXPECT_EQ(row(2)["state"], "failed");
  EXPECT_THAT(row(2).value("reason", ""), HasSubstr("looked it up"));
  EXPECT_EQ(decide(1, "failed").code, EX_DATAERR) << "it is decided";
  publish(1, 4);
  ASSERT_TRUE(settled());
  EXPECT_EQ(received(), before) << "a decision sends nothing, and a duplicate neither";

  const Ran resend = decide(3, "resend");
  EXPECT_EQ(resend.code, EX_OK);
  EXPECT_THAT(resend.text, HasSubstr("publish its event again"));
  EXPECT_EQ(received(), before);
  publish(3, 4);
  publish(3, 4);
  ASSERT_TRUE(becomes(3, "accepted"));
  ASSERT_TRUE(settled());
  EXPECT_EQ(received(), before + 1);
}

TEST_F(DecideTest, WhatIsUnknownToTheLedgerCannotBeResolved) {
  begin();
  EXPECT_EQ(sendonce({"resolve", std::string(64, 'a'), "--as", "failed", "--reason", "x"}).code,
            EX_DATAERR);
  EXPECT_EQ(sendonce({"resolve", "xyz", "--as", "failed", "--reason", "x"}).code, EX_DATAERR);
  EXPECT_EQ(sendonce({"resolve", std::string(64, 'a'), "--as", "sent", "--reason", "x"}).code,
            EX_USAGE);
}

// ---- devices ------------------------------------------------------------------------------------

class DevicesTest : public DecideTest {
 protected:
  // With the token on standard input, as a person has it.
  [[nodiscard]] Ran with_token(const std::string& text, const std::string& args) const {
    const TempDir dir;
    dir.write("token", text + "\n");
    const std::string command = cli::beside_us("sendonce") + " --config " + world_->config_path() +
                                " device " + args + " --json < " + (dir / "token").string() +
                                " > " + (dir / "out").string() + " 2>&1";
    const int rc = std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe,cert-env33-c)
    return {WEXITSTATUS(rc), read_file(dir / "out")};
  }
};

TEST_F(DevicesTest, ARevokedDeviceGetsNothingUntilItIsActiveAgain) {
  begin();
  const Ran before = with_token(token(1), "show --provider apns");
  EXPECT_EQ(before.code, EX_OK) << before.text;
  const Json shown = Json::parse(before.text, nullptr, false);
  EXPECT_EQ(shown["state"], "active");
  const std::string hash = shown["hash"];
  ASSERT_EQ(with_token(token(1), "set --provider apns --state revoked --reason stolen").code,
            EX_OK);
  EXPECT_THAT(sendonce({"device", "list"}).text, HasSubstr(hash));
  EXPECT_THAT(sendonce({"device", "show", hash}).text, HasSubstr("revoked"));
  publish(1, 3);
  ASSERT_TRUE(settled());
  EXPECT_EQ(seen(1).received, 0U);
  EXPECT_EQ(seen(2).received, 1U);
  EXPECT_EQ(row(1)["state"], "suppressed");
  ASSERT_EQ(sendonce({"device", "set", hash, "--provider", "apns", "--state", "active", "--reason",
                      "found"})
                .code,
            EX_OK);
  EXPECT_THAT(sendonce({"device", "list"}).text, Not(HasSubstr(hash)));
  publish_body("marketing",
               R"({"event_id":"later","recipient":"u1","channel":"push","template":"t",)"
               R"("targets":[)" +
                   target(1) + R"(],"notification":{"title":"T"}})");
  ASSERT_TRUE(settled());
  EXPECT_EQ(seen(1).received, 1U);
  EXPECT_TRUE(logs("admin.device_set"));
  EXPECT_THAT(log(), Not(HasSubstr(token(1))));
}

TEST_F(DevicesTest, NoTokenIsRepeatedInAnError) {
  begin();
  const Ran bad = with_token("not-a-token", "show --provider apns");
  EXPECT_EQ(bad.code, EX_DATAERR);
  EXPECT_THAT(bad.text, Not(HasSubstr("not-a-token")));
  EXPECT_EQ(with_token(token(1), "show").code, EX_DATAERR) << "whose token";
  EXPECT_EQ(sendonce({"device", "show", "zz"}).code, EX_DATAERR);
  EXPECT_EQ(sendonce({"device", "set", std::string(32, 'a'), "--provider", "apns", "--state",
                      "dead", "--reason", "x"})
                .code,
            EX_USAGE);
}

// ---- pause --------------------------------------------------------------------------------------

TEST_F(DecideTest, APausedClassSendsNothingOverARestart) {
  begin();
  EXPECT_EQ(sendonce({"pause", "marketing"}).code, EX_USAGE);
  EXPECT_EQ(sendonce({"pause", "nobody", "--reason", "x"}).code, EX_DATAERR);
  ASSERT_EQ(sendonce({"pause", "marketing", "--reason", "wrong template"}).code, EX_OK);
  publish(1, 6);
  publish(6, 7, "otp");
  ASSERT_TRUE(within(seconds(30), [&] { return seen(6).accepted == 1; })) << "the others go on";
  EXPECT_THAT(status().dump(), HasSubstr("wrong template"));
  ASSERT_EQ(stop(), EX_OK);
  start();
  EXPECT_THAT(status().dump(), HasSubstr("wrong template"));
  publish(7, 8, "otp");
  ASSERT_TRUE(within(seconds(30), [&] { return seen(7).accepted == 1; }));
  ASSERT_TRUE(within(seconds(30), [&] { return stored() == 5U; })) << "acked after its answer";
  for (int i = 1; i < 6; ++i) expect_received(i, 0);
  ASSERT_EQ(sendonce({"resume", "marketing"}).code, EX_OK);
  ASSERT_TRUE(settled());
  expect_each_once(1, 6);
}

TEST_F(DecideTest, APausedProviderLetsItsMessagesGoBack) {
  begin();
  ASSERT_EQ(sendonce({"pause", "apns", "--reason", "maintenance"}).code, EX_OK);
  publish(1, 4);
  ASSERT_TRUE(within(seconds(30), [&] { return counter("received") >= 3; }));
  ASSERT_TRUE(within(seconds(30), [&] { return counter("postponed") >= 3; }));
  EXPECT_EQ(received(), 0U);
  EXPECT_EQ(counter("claimed"), 0U);
  ASSERT_EQ(sendonce({"resume", "apns"}).code, EX_OK);
  ASSERT_TRUE(settled());
  expect_each_once(1, 4);
}

TEST_F(DecideTest, ADamagedListOfPausesIsNotTakenForNone) {
  make();
  std::ofstream(world_->config().instance.state_dir + "/paused.json") << "{";
  start_without_wait();
  const auto code = exit_code();
  ASSERT_TRUE(code.has_value());
  EXPECT_NE(*code, EX_OK);
  EXPECT_THAT(log(), HasSubstr("paused.json is damaged"));
}

}  // namespace
}  // namespace sendonce::test
