// What people see of a running daemon, and what the ledger keeps of what they do to it.
#include <sstream>

#include <pwd.h>
#include <sysexits.h>
#include <unistd.h>

#include "ledger/lmdb/upkeep.hpp"
#include "plugin/module/compose.hpp"
#include "tests/integration/daemon/rig.hpp"

namespace sendonce::test {
namespace {

using ::testing::ElementsAre;
using ::testing::Not;

std::vector<Json> lines_of(const std::string& text) {
  std::vector<Json> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with('{')) out.push_back(Json::parse(line, nullptr, false));
  return out;
}

std::string our_name() {
  const passwd* user = ::getpwuid(::getuid());  // NOLINT(concurrency-mt-unsafe)
  return user == nullptr ? std::string() : user->pw_name;
}

class AuditTest : public DaemonTest {
 protected:
  [[nodiscard]] std::vector<Json> audit(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"audit", "-o", "jsonl"});
    const Ran ran = sendonce(std::move(more));
    EXPECT_EQ(ran.code, EX_OK) << ran.text;
    return lines_of(ran.text);
  }
  void fail_one(int event) {
    script("[[rule]]\nprovider = \"apns\"\nstatus = 413\nreason = \"PayloadTooLarge\"\n");
    publish(event, event + 1);
    ASSERT_TRUE(settled());
    ASSERT_TRUE(within(seconds(30), [&] {
      return api("STREAM.INFO.SENDONCE_DLQ")
                 .value("/state/messages"_json_pointer, std::uint64_t{0}) > 0;
    }));
    script("");
  }
  [[nodiscard]] std::string key_of(int event) const {
    return lines_of(sendonce({"inspect", "e" + std::to_string(event), "--json"}).text)
        .at(0)
        .value("key", "");
  }
};

TEST_F(AuditTest, EverythingThatPeopleDoIsKept) {
  make();
  start();
  fail_one(1);
  const std::string key = key_of(1);
  const std::string hash(32, 'a');
  ASSERT_EQ(sendonce({"pause", "marketing", "--reason", "wrong template"}).code, EX_OK);
  ASSERT_EQ(sendonce({"resume", "marketing"}).code, EX_OK);
  ASSERT_EQ(sendonce({"device", "set", hash, "--provider", "apns", "--state", "revoked", "--reason",
                      "stolen"})
                .code,
            EX_OK);
  EXPECT_EQ(sendonce({"resolve", key, "--as", "accepted", "--reason", "he says so"}).code,
            EX_DATAERR);
  ASSERT_EQ(sendonce({"dlq", "replay", "1", "--reason", "mended"}).code, EX_OK);
  ASSERT_TRUE(settled());
  ASSERT_EQ(sendonce({"dlq", "drop", "1", "--reason", "done with"}).code, EX_OK);
  ASSERT_EQ(sendonce({"reload", "--reason", "just so"}).code, EX_OK);
  reload("daemon.reloaded");

  const auto deeds = audit();
  std::vector<std::string> verbs;
  for (const Json& d : deeds) verbs.push_back(d.value("verb", ""));
  EXPECT_THAT(verbs, ElementsAre("reload", "reload", "resolve", "replay", "resolve", "device_set",
                                 "resume", "pause"))
      << "the newest first";
  EXPECT_EQ(deeds[0]["uid"], nullptr) << "a signal has no peer";
  EXPECT_EQ(deeds[0]["by"], "host");
  for (std::size_t i = 1; i < deeds.size(); ++i) {
    EXPECT_EQ(deeds[i]["uid"], ::getuid());
    EXPECT_EQ(deeds[i]["user"], our_name());
    EXPECT_FALSE(deeds[i].value("by", "").empty());
  }
  EXPECT_EQ(deeds[1]["reason"], "just so");
  EXPECT_EQ(deeds[1]["result"], "done");
  EXPECT_EQ(deeds[2]["detail"], "letter dropped, class marketing");
  EXPECT_EQ(deeds[3]["object"], key);
  EXPECT_EQ(deeds[3]["result"], "done, failed -> waiting");
  EXPECT_THAT(deeds[4].value("result", ""), HasSubstr("refused: only an unknown row"));
  EXPECT_EQ(deeds[5]["object"], hash);
  EXPECT_EQ(deeds[5]["result"], "done, was active");
  EXPECT_EQ(deeds[7]["object"], "class marketing");
  EXPECT_EQ(deeds[7]["reason"], "wrong template");

  const Ran table = sendonce({"audit"});
  EXPECT_THAT(table.text, HasSubstr("wrong template"));
  EXPECT_THAT(table.text, HasSubstr(our_name()));
  EXPECT_EQ(audit({"--limit", "2"}).size(), 2U);
  EXPECT_EQ(audit({"--since", "1h"}).size(), 8U);
  EXPECT_EQ(audit({"--since", "2100-01-01T00:00:00Z"}).size(), 0U);
  EXPECT_EQ(sendonce({"audit", "--since", "yesterday"}).code, EX_USAGE);
  EXPECT_EQ(Json::parse(sendonce({"audit", "-o", "json"}).text).size(), 8U);
}

TEST_F(AuditTest, ItOutlivesTheDaemonAndIsReadWithoutIt) {
  make();
  start();
  ASSERT_EQ(sendonce({"pause", "otp", "--reason", "before the kill"}).code, EX_OK);
  world_->kill_daemon();
  const Ran off = sendonce({"audit", "--offline", "-o", "jsonl"});
  EXPECT_EQ(off.code, EX_OK) << off.text;
  EXPECT_EQ(lines_of(off.text).at(0)["reason"], "before the kill");
  EXPECT_EQ(sendonce({"audit"}).code, EX_UNAVAILABLE);
  EXPECT_THAT(sendonce({"ledger", "export", "--audit"}).text, HasSubstr("before the kill"));
  EXPECT_THAT(sendonce({"ledger", "verify", "--json"}).text, HasSubstr("\"audit\":1"));
  start();
  EXPECT_EQ(audit().size(), 1U);
  EXPECT_EQ(sendonce({"audit", "--offline"}).code, EX_NOPERM) << "the daemon has the ledger";
  EXPECT_EQ(lines_of(sendonce({"ledger", "export", "--audit"}).text).size(), 1U) << "beside it";
}

TEST_F(AuditTest, ARefusedReloadIsKeptToo) {
  make();
  start();
  replace_in_config("notify.campaign.>", "notify.elsewhere.>");
  const Ran ran = sendonce({"reload", "--wait"});
  EXPECT_EQ(ran.code, EX_CONFIG);
  EXPECT_THAT(ran.text, HasSubstr("sendonce.toml:"));
  EXPECT_THAT(ran.text, HasSubstr("class.marketing.subject"));
  EXPECT_THAT(ran.text, HasSubstr("restart"));
  EXPECT_THAT(audit().at(0).value("result", ""), HasSubstr("refused: "));
}

// ---- reload -------------------------------------------------------------------------------------

TEST_F(AuditTest, AReloadSaysWhatItHasChanged) {
  make();
  start();
  replace_in_config("give-up", "resend");
  const Ran ran = sendonce({"reload", "--wait", "30s"});
  EXPECT_EQ(ran.code, EX_OK) << ran.text;
  EXPECT_THAT(ran.text, HasSubstr("reloaded\n"));
  EXPECT_THAT(ran.text, HasSubstr("class.marketing.ambiguous.default: \"give-up\" -> \"resend\""));
  const Ran same = sendonce({"reload"});
  EXPECT_EQ(same.text, "reloaded\n");
  EXPECT_EQ(sendonce({"reload", "--wait", "soon"}).code, EX_USAGE);
}

TEST_F(AuditTest, ADaemonThatDoesNotAnswerIsWaitedForNoLongerThanAsked) {
  make();
  start();
  world_->daemon().freeze();
  EXPECT_EQ(sendonce({"reload", "--wait", "1s"}).code, EX_UNAVAILABLE);
  world_->daemon().thaw();
}

// ---- top and tail -------------------------------------------------------------------------------

class WatchTest : public AuditTest {
 protected:
  // `sendonce` with these arguments, while what it follows happens.
  [[nodiscard]] Process following(std::vector<std::string> args, const std::string& to) const {
    args.insert(args.begin(), {"--config", world_->config_path()});
    auto process = Process::start({.program = cli::beside_us("sendonce"),
                                   .args = std::move(args),
                                   .output = world_->path(to)});
    EXPECT_TRUE(process.has_value());
    return process ? std::move(*process) : Process();
  }
};

TEST_F(WatchTest, TopShowsWhatHappens) {
  make();
  start();
  publish(0, 5);
  ASSERT_TRUE(settled());
  const Ran text = sendonce({"top", "--once", "--interval", "200ms"});
  EXPECT_EQ(text.code, EX_OK) << text.text;
  EXPECT_THAT(text.text, HasSubstr("demo: ready"));
  EXPECT_THAT(text.text, HasSubstr("marketing        ready"));
  EXPECT_THAT(text.text, HasSubstr("apns             up"));
  std::istringstream lines(text.text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  const Ran json = sendonce({"top", "--once", "--interval", "200ms", "-o", "json"});
  const Json view = Json::parse(json.text, nullptr, false);
  ASSERT_TRUE(view.is_object()) << json.text;
  EXPECT_EQ(view["state"], "ready");
  EXPECT_EQ(view["providers"][0]["state"], "up");
  EXPECT_GT(view["seconds"], 0.1);
  EXPECT_EQ(sendonce({"top", "--interval", "1ms"}).code, EX_USAGE);
  // And it goes on: rates of what comes meanwhile.
  Process top = following({"top", "--interval", "100ms", "-o", "json"}, "top");
  int event = 5;
  EXPECT_TRUE(within(seconds(60), [&] {
    publish(event, event + 1);
    ++event;
    double most = 0;
    for (const Json& line : lines_of(read_file(world_->path("top"))))
      if (line.is_object())
        for (const Json& c : line["classes"]) most = std::max(most, c.value("in_per_s", 0.0));
    return most > 0;
  }));
  top.kill();
}

TEST_F(WatchTest, AttemptsAreFollowedAsTheySettle) {
  make();
  start();
  script("[[rule]]\nprovider = \"apns\"\nnth = [1]\nstatus = 503\nreason = \"Shutdown\"\n");
  Process tail = following({"tail", "attempts", "--count", "2", "--json"}, "attempts");
  // It is under way once the daemon makes lines for it: the first are of nobody.
  int event = 0;
  ASSERT_TRUE(within(seconds(60), [&] {
    publish(event, event + 1);
    ++event;
    return !lines_of(read_file(world_->path("attempts"))).empty();
  }));
  ASSERT_TRUE(tail.wait(seconds(60)).has_value());
  const auto lines = lines_of(read_file(world_->path("attempts")));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["class"], "marketing");
  EXPECT_EQ(lines[0]["provider"], "apns");
  EXPECT_EQ(lines[0].value("key", "").size(), 64U);
  EXPECT_THAT(read_file(world_->path("attempts")), Not(HasSubstr(token(1))));
}

TEST_F(WatchTest, TheLogIsFollowed) {
  make();
  start();
  Process tail = following({"tail", "log"}, "log");
  ASSERT_TRUE(within(seconds(60), [&] {
    EXPECT_EQ(sendonce({"reload"}).code, EX_OK);
    return read_file(world_->path("log")).find("admin.reloaded") != std::string::npos;
  }));
  tail.kill();
  EXPECT_EQ(sendonce({"tail", "weather"}).code, EX_USAGE);
}

TEST_F(WatchTest, NobodyFollowsADaemonThatIsGone) {
  make();
  start();
  ASSERT_EQ(stop(), EX_OK);
  EXPECT_EQ(sendonce({"tail", "log"}).code, EX_UNAVAILABLE);
  EXPECT_EQ(sendonce({"tail", "attempts"}).code, EX_UNAVAILABLE);
  EXPECT_EQ(sendonce({"top", "--once"}).code, EX_UNAVAILABLE);
}

}  // namespace
}  // namespace sendonce::test
