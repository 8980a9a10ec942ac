// What the application reports about devices reaches the ledger whatever happens in between, and
// the witness at the provider sees what it leads to.
#include <csignal>

#include <sysexits.h>

#include "tests/integration/daemon/rig.hpp"

namespace sendonce::test {
namespace {

using ::testing::Not;

constexpr const char* kClasses = R"(
[class.marketing]
subject   = "notify.campaign.>"
@TIMES@
ambiguous = { default = "give-up" }

[devices]
reports = "device-reports.>"
)";

class ReportsTest : public DaemonTest {
 protected:
  void begin() {
    make({.classes = kClasses});
    auto client = world_->connect();
    ASSERT_TRUE(client.has_value()) << client.error().text;
    client_ = std::move(*client);
  }
  void report(const std::string& body, const std::string& subject = "device-reports.app") {
    const auto done = client_->publish({.subject = subject, .body = body});
    ASSERT_TRUE(done.has_value()) << done.error().text;
  }
  static std::string of(int event, const std::string& state, const std::string& more = "") {
    return R"({"provider":"apns","token":")" + token(event) + R"(","state":")" + state + "\"" +
           more + "}";
  }
  // Another event for the device of `device`.
  void send(int event, int device) {
    const std::string n = std::to_string(event);
    publish_body("marketing", R"({"event_id":"e)" + n + R"(","recipient":"u","channel":"push",)" +
                                  R"("template":"t","targets":[)" + target(device) +
                                  R"(],"notification":{"title":"T"}})");
  }
  [[nodiscard]] std::uint64_t reports(const char* result) const {
    return status().value("device_reports", Json::object()).value(result, std::uint64_t{0});
  }
  [[nodiscard]] bool reported(const char* result, std::uint64_t n) const {
    return within(seconds(60), [&] { return reports(result) >= n; });
  }
  [[nodiscard]] Json consumer() {
    return api("CONSUMER.INFO.DEVICE_REPORTS.sendonce-devices-demo");
  }
  // Nothing is on its way to us, and nothing waits for our ack.
  [[nodiscard]] bool all_acked() {
    return within(seconds(60), [&] {
      const Json info = consumer();
      return info.value("num_pending", 1) == 0 && info.value("num_ack_pending", 1) == 0;
    });
  }
  [[nodiscard]] std::uint64_t messages_on(const std::string& stream, const std::string& subject) {
    const Json info = api("STREAM.INFO." + stream, R"({"subjects_filter":")" + subject + "\"}");
    const Json subjects = info.value("/state/subjects"_json_pointer, Json());
    std::uint64_t n = 0;
    if (subjects.is_object())
      for (const auto& count : subjects) n += count.get<std::uint64_t>();
    return n;
  }
  [[nodiscard]] std::uint64_t events(const std::string& change) {
    return messages_on("SENDONCE_OUTCOMES", "sendonce.device.apns." + change);
  }

  std::unique_ptr<Publisher> client_{};
};

TEST_F(ReportsTest, ARevokedTokenGetsNoFurtherRequest) {
  begin();
  start();
  send(1, 1);
  ASSERT_TRUE(settled());
  EXPECT_EQ(received(), 1U);
  report(of(1, "revoked", R"(,"reason":"switched off")"));
  ASSERT_TRUE(reported("applied", 1));
  ASSERT_TRUE(all_acked());
  send(2, 1);
  send(3, 2);
  ASSERT_TRUE(settled());
  EXPECT_EQ(received(), 2U) << "the one before, and the one for another device";
  EXPECT_EQ(seen(1).received, 1U);
  EXPECT_EQ(counter("suppressed"), 1U);
  ASSERT_TRUE(within(seconds(30), [&] { return events("revoked") == 1; }));
  const Ran listed = sendonce({"device", "list"});
  EXPECT_THAT(listed.text, HasSubstr("revoked"));
  // Revived by the application's own word.
  report(of(1, "active"));
  ASSERT_TRUE(reported("applied", 2));
  send(4, 1);
  ASSERT_TRUE(settled());
  EXPECT_EQ(seen(1).received, 2U);
  EXPECT_THAT(sendonce({"device", "list"}).text, Not(HasSubstr("revoked")));
  EXPECT_EQ(stop(), EX_OK);
  EXPECT_THAT(log(), Not(HasSubstr(token(1))));
}

TEST_F(ReportsTest, ASuspectTokenGoesOn) {
  begin();
  start();
  report(of(1, "suspect"));
  ASSERT_TRUE(reported("applied", 1));
  send(1, 1);
  ASSERT_TRUE(settled());
  EXPECT_EQ(seen(1).accepted, 1U);
  EXPECT_EQ(stop(), EX_OK);
}

TEST_F(ReportsTest, KilledBeforeTheAckItIsAppliedOnce) {
  begin();
  report(of(1, "revoked"));
  mark();
  ASSERT_TRUE(world_->start_daemon({"SENDONCE_CRASH_AT=ack-due"}).has_value());
  const auto exit = world_->daemon().wait(seconds(60));
  ASSERT_TRUE(exit.has_value());
  ASSERT_EQ(exit->signal, SIGKILL);
  EXPECT_EQ(consumer().value("num_ack_pending", 0), 1);
  start();
  ASSERT_TRUE(reported("unchanged", 1)) << "it comes again after its ack_wait";
  ASSERT_TRUE(all_acked());
  EXPECT_EQ(reports("applied"), 0U);
  send(1, 1);
  ASSERT_TRUE(settled());
  EXPECT_EQ(received(), 0U);
  ASSERT_TRUE(within(seconds(30), [&] { return events("revoked") == 1; }));
  EXPECT_EQ(stop(), EX_OK);
  EXPECT_EQ(events("revoked"), 1U);
}

TEST_F(ReportsTest, KilledBeforeTheCommitItIsApplied) {
  begin();
  report(of(1, "revoked"));
  ASSERT_TRUE(world_->start_daemon().has_value());
  ASSERT_TRUE(within(seconds(60), [&] {
    return consumer().value("/delivered/consumer_seq"_json_pointer, 0) > 0;
  }));
  world_->kill_daemon();
  start();
  ASSERT_TRUE(within(seconds(60), [&] { return all_acked(); }));
  send(1, 1);
  ASSERT_TRUE(settled());
  EXPECT_EQ(received(), 0U);
  EXPECT_EQ(stop(), EX_OK);
}

TEST_F(ReportsTest, WhatSaysNothingIsKeptAndTheNextIsHeard) {
  begin();
  start();
  report(R"({"provider":"apns","token":")" + token(7) + R"(","state":"gone"})");
  report(R"({"provider":"apns","token":")" + token(7));
  report(of(1, "revoked"));
  ASSERT_TRUE(reported("applied", 1));
  ASSERT_TRUE(all_acked());
  EXPECT_EQ(reports("refused"), 2U);
  EXPECT_EQ(messages_on("SENDONCE_DLQ", "sendonce.dlq.devices.>"), 2U);
  EXPECT_TRUE(logs("device.report_refused"));
  EXPECT_THAT(log(), HasSubstr("$.state: must be one of"));
  EXPECT_THAT(log(), Not(HasSubstr(token(7))));
  EXPECT_EQ(api("STREAM.INFO.DEVICE_REPORTS").value("/state/messages"_json_pointer, 9), 0);
  const Ran listed = sendonce({"dlq", "list", "--class", "devices"});
  EXPECT_EQ(listed.code, EX_OK);
  EXPECT_THAT(listed.text, HasSubstr("devices"));
  // Somebody has mended the application, and wants the letter judged once more: it is no better.
  const Ran replayed = sendonce({"dlq", "replay", "1"});
  EXPECT_EQ(replayed.code, EX_OK) << replayed.text;
  ASSERT_TRUE(reported("refused", 3));
  EXPECT_EQ(stop(), EX_OK);
}

// A letter that is a report after all once the configuration knows its provider: it counts as of
// the day when it was first said.
TEST_F(ReportsTest, AReplayedLetterCountsAsOfItsFirstDay) {
  constexpr std::string_view kProvider = R"([provider.voip]
kind     = "apns"
endpoint = "https://localhost:@PORT@"
topic    = "com.example.demo.voip"
auth     = { team = "TEAM123456", key_id = "KEY1234567", key = "file:@CREDENTIALS@/apns.p8" }
tls      = { ca = "@CREDENTIALS@/ca.pem" })";
  std::string later = "\n#" + std::string(kProvider);
  for (std::size_t at = 1; (at = later.find('\n', at)) != std::string::npos; at += 2)
    later.insert(at + 1, "#");
  make({.classes = kClasses + later + "\n"});
  client_ = std::move(*world_->connect());
  start();
  report(R"({"provider":"voip","token":")" + token(1) + R"(","state":"revoked"})");
  ASSERT_TRUE(reported("refused", 1));
  const std::string refused_at = status().value("time", "");
  EXPECT_EQ(stop(), EX_OK);
  for (int line = 0; line < 6; ++line) replace_in_config("\n#", "\n");
  start();
  const Ran replayed = sendonce({"dlq", "replay", "1"});
  EXPECT_EQ(replayed.code, EX_OK) << replayed.text;
  ASSERT_TRUE(reported("applied", 1));
  const Json device = Json::parse(sendonce({"device", "list", "--json"}).text, nullptr, false);
  EXPECT_EQ(device.value("state", ""), "revoked") << device;
  EXPECT_LE(device.value("since", "z"), refused_at) << device;
  EXPECT_EQ(stop(), EX_OK);
}

TEST_F(ReportsTest, AConsumerThatLetsRepeatsOvertakeIsRefused) {
  begin();
  EXPECT_THAT(sendonce({"setup", "--dry-run"}).text, HasSubstr("none    consumer DEVICE_REPORTS"));
  Json config = consumer().value("config", Json());
  config["max_ack_pending"] = 100;
  const Json request{{"stream_name", "DEVICE_REPORTS"}, {"config", config}};
  ASSERT_FALSE(api("CONSUMER.DURABLE.CREATE.DEVICE_REPORTS.sendonce-devices-demo", request.dump())
                   .contains("error"));
  start_without_wait();
  EXPECT_EQ(exit_code(), EX_CONFIG);
  EXPECT_THAT(log(), HasSubstr("max_ack_pending 100, 1 is needed"));
  EXPECT_EQ(sendonce({"setup"}).code, EX_OK);
  start();
  EXPECT_EQ(stop(), EX_OK);
}

TEST_F(ReportsTest, WithoutItsConsumerTheDaemonRefuses) {
  begin();
  static_cast<void>(api("CONSUMER.DELETE.DEVICE_REPORTS.sendonce-devices-demo"));
  start_without_wait();
  EXPECT_EQ(exit_code(), EX_CONFIG);
  EXPECT_THAT(log(), HasSubstr("sendonce setup"));
}

// They are applied in the order of their stream, so the last word holds.
TEST_F(ReportsTest, ManyReportsOfOneDeviceEndWithTheLast) {
  begin();
  constexpr int kReports = 300;
  for (int i = 0; i < kReports; ++i)
    report(of(1, i % 2 == 0 ? "revoked" : "suspect"), "device-reports.n" + std::to_string(i));
  report(of(1, "active"));
  start();
  ASSERT_TRUE(all_acked());
  send(1, 1);
  ASSERT_TRUE(settled());
  EXPECT_EQ(seen(1).accepted, 1U);
  EXPECT_EQ(stop(), EX_OK);
}

}  // namespace
}  // namespace sendonce::test
