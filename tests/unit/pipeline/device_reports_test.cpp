// Reports of the application on their way through the engine.
#include "plugin/pipeline/device_reports.hpp"

#include <gmock/gmock.h>

#include "plugin/core/text.hpp"
#include "tests/unit/pipeline/engine_fixture.hpp"

namespace sendonce::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::uint16_t kLane = 1;  // after the one class

// What is logged, as text.
class TextLog final : public Log {
 public:
  void write(Level, std::string_view event, std::span<const Field> fields) override {
    text += event;
    for (const Field& f : fields) text.append(" ").append(f.name).append("=").append(f.value);
    text += '\n';
  }
  [[nodiscard]] bool enabled(Level) const override { return true; }

  std::string text{};
};

class DeviceReportsTest : public EngineTest {
 protected:
  void SetUp() override {
    log = std::make_unique<TextLog>();
    start_with_reports();
  }
  // A new incarnation of the process on the same ledger.
  void start_with_reports() {
    engine.reset();
    ledger = std::make_unique<MemoryLedger>(disk, MemoryLedgerOptions{.rows_max = rows_max});
    lane = std::make_unique<StepLane>(*ledger, clock);
    std::vector<ProviderSlot> slots;
    for (const auto& [name, kind] : providers) {
      ProviderSlot& slot = slots.emplace_back();
      slot.config.name = name;
      slot.config.kind = kind;
      slot.provider = &provider;
    }
    engine = std::make_unique<Engine>(
        EngineDeps{clock, *log, broker, *lane, transport},
        EngineOptions{.ledger_id = "L",
                      .secret = std::string(32, 's'),
                      .seed = 1,
                      .reports = DeviceReportLane{.index = ClassIndex(kLane),
                                                  .name = "devices",
                                                  .stream = "DEVICE_REPORTS",
                                                  .ack_wait = seconds(10)}},
        std::vector<ClassPolicy>{make_class(AmbiguityPolicy::give_up)}, std::move(slots));
  }
  Message report(std::uint64_t seq, const std::string& body) {
    Message m;
    m.message_class = ClassIndex(kLane);
    m.seq = StreamSeq(seq);
    m.stored_at = clock.wall();
    m.incarnation = 1;
    m.subject = "device-reports.apns";
    m.reply = "report." + std::to_string(seq);
    m.body = body;
    return m;
  }
  static std::string of(const std::string& state, const std::string& more = "") {
    return R"({"provider":"apns","token":"aa","state":")" + state + "\"" + more + "}";
  }
  DeviceReportCounters reports() const { return engine->report().device_reports.value().counters; }
  const std::string& logged() const { return static_cast<const TextLog&>(*log).text; }
  bool is_sent(std::uint64_t seq, const std::string& event, const std::string& target) {
    const std::size_t before = transport.submitted;
    arrive(message(seq, target, event));
    if (transport.submitted == before) return false;
    transport.answer_status(200);
    step();
    return true;
  }

  std::size_t rows_max = 0;
  std::vector<std::pair<std::string, ProviderKind>> providers{{"apns", ProviderKind::apns}};
};

TEST_F(DeviceReportsTest, ARevokedTokenGetsNothingMore) {
  EXPECT_TRUE(is_sent(1, "e1", token("aa")));
  arrive(report(1, of("revoked", R"(,"reason":"switched off")")));
  EXPECT_THAT(broker.acked, testing::Contains("report.1"));
  EXPECT_FALSE(is_sent(2, "e2", token("aa")));
  EXPECT_TRUE(is_sent(3, "e3", token("bb"))) << "and nobody else";
  EXPECT_EQ(counters().suppressed, 1U);
  EXPECT_EQ(reports().applied, 1U);
  EXPECT_EQ(broker.published_on("sendonce.device.apns.revoked"), 1U);
}

TEST_F(DeviceReportsTest, ASuspectTokenGetsEverything) {
  arrive(report(1, of("suspect")));
  EXPECT_TRUE(is_sent(1, "e1", token("aa")));
  EXPECT_EQ(broker.published_on("sendonce.device.apns.suspect"), 1U);
}

TEST_F(DeviceReportsTest, ANewerRegistrationRevivesIt) {
  arrive(report(1, of("revoked", R"(,"at":"2020-01-01T00:00:00Z")")));
  EXPECT_FALSE(is_sent(
      1, "e1", R"({"provider":"apns","token":"aa","registered_at":"2019-12-31T23:59:59Z"})"));
  EXPECT_TRUE(is_sent(
      2, "e2", R"({"provider":"apns","token":"aa","registered_at":"2020-01-01T00:00:01Z"})"));
}

// Published once more, it is stored later than a registration that came in between.
TEST_F(DeviceReportsTest, ARepeatWithoutATimeLeavesANewerRegistrationAlone) {
  arrive(report(1, of("revoked")));
  const WallTime first = disk.devices.begin()->second.since;
  clock.advance(seconds(60));
  const std::string device =
      R"({"provider":"apns","token":"aa","registered_at":")" + rfc3339(first + seconds(30)) + "\"}";
  EXPECT_TRUE(is_sent(1, "e1", device));
  arrive(report(2, of("revoked")));
  EXPECT_EQ(reports().unchanged, 1U);
  EXPECT_EQ(disk.devices.begin()->second.since, first);
  EXPECT_TRUE(is_sent(2, "e2", device));
  // With its time it is a new word.
  arrive(report(3, of("revoked", R"(,"at":")" + rfc3339(first + seconds(45)) + "\"")));
  EXPECT_EQ(reports().applied, 2U);
  EXPECT_FALSE(is_sent(3, "e3", device));
}

TEST_F(DeviceReportsTest, ATimeToComeIsNow) {
  arrive(report(1, of("revoked", R"(,"at":"2199-01-01T00:00:00Z")")));
  ASSERT_EQ(disk.devices.size(), 1U);
  EXPECT_LE(disk.devices.begin()->second.since, clock.wall());
}

// Acked only when it is durable: a ledger that cannot commit keeps the report on its stream.
TEST_F(DeviceReportsTest, NothingIsAckedBeforeItIsDurable) {
  bool broken = true;
  engine.reset();
  ledger = std::make_unique<MemoryLedger>(disk, MemoryLedgerOptions{.fault = [&](CommitStage) {
                                            return broken ? std::optional(Errc::exhausted)
                                                          : std::nullopt;
                                          }});
  lane = std::make_unique<StepLane>(*ledger, clock);
  ProviderSlot slot;
  slot.config.name = "apns";
  slot.provider = &provider;
  engine =
      std::make_unique<Engine>(EngineDeps{clock, *log, broker, *lane, transport},
                               EngineOptions{.ledger_id = "L",
                                             .secret = std::string(32, 's'),
                                             .reports = DeviceReportLane{.index = ClassIndex(kLane),
                                                                         .name = "devices",
                                                                         .stream = "DEVICE_REPORTS",
                                                                         .ack_wait = seconds(10)}},
                               std::vector<ClassPolicy>{make_class(AmbiguityPolicy::give_up)},
                               std::vector<ProviderSlot>{slot});
  arrive(report(1, of("revoked")));
  wait(seconds(12));
  EXPECT_THAT(broker.acked, IsEmpty());
  EXPECT_THAT(broker.progressed, Not(IsEmpty())) << "the broker hears that it is held";
  EXPECT_FALSE(engine->drained());
  broken = false;
  wait(seconds(2));
  EXPECT_THAT(broker.acked, ElementsAre("report.1"));
  EXPECT_EQ(disk.devices.size(), 1U);
}

TEST_F(DeviceReportsTest, KilledBeforeTheAckItIsAppliedOnce) {
  const Message m = report(1, of("revoked"));
  broker.refuse_replies = true;
  arrive(m);
  EXPECT_EQ(disk.devices.size(), 1U);
  start_with_reports();
  broker.refuse_replies = false;
  clock.advance(seconds(30));
  arrive(m);
  EXPECT_THAT(broker.acked, ElementsAre("report.1"));
  EXPECT_EQ(reports().unchanged, 1U);
  EXPECT_EQ(reports().applied, 0U);
  EXPECT_EQ(broker.published_on("sendonce.device."), 1U) << "one event";
}

TEST_F(DeviceReportsTest, AnAckThatCouldNotBeBufferedIsMadeAgain) {
  broker.refuse_replies = true;
  arrive(report(1, of("revoked")));
  EXPECT_THAT(broker.acked, IsEmpty());
  broker.refuse_replies = false;
  step();
  EXPECT_THAT(broker.acked, ElementsAre("report.1"));
  EXPECT_EQ(reports().applied, 1U);
}

TEST_F(DeviceReportsTest, AReplyThatIsNoneIsForgotten) {
  broker.refuse_replies = true;
  broker.refusal = Errc::invalid;
  arrive(report(1, of("revoked")));
  engine->drain();
  step();
  EXPECT_TRUE(engine->drained());
}

TEST_F(DeviceReportsTest, WhatSaysNothingIsDeadLetteredAndTerminated) {
  broker.confirm_at_once = false;
  const std::vector<std::string> bad{"",
                                     "[]",
                                     of("revoked", R"(,"x":1)"),
                                     of("invalid"),
                                     R"({"provider":"nobody","token":"aa","state":"revoked"})",
                                     R"({"kind":"fcm","token":"aa","state":"revoked"})",
                                     R"({"provider":"apns","phone":"aa","state":"revoked"})",
                                     R"({"provider":"apns","token":"bad","state":"revoked"})"};
  for (std::size_t i = 0; i < bad.size(); ++i) {
    const std::string reply = "report." + std::to_string(i);
    arrive(report(i, bad[i]));
    ASSERT_EQ(broker.published.size(), i + 1) << bad[i];
    const auto& [ticket, letter] = broker.published.back();
    EXPECT_EQ(letter.subject, "sendonce.dlq.devices.undecodable");
    EXPECT_THAT(letter.message_id, HasSubstr("DEVICE_REPORTS." + std::to_string(i) + "."));
    EXPECT_EQ(letter.body, bad[i]);
    EXPECT_THAT(broker.terminated, Not(testing::Contains(reply))) << "before the copy is safe";
    broker.confirmations.push_back({ticket, {}});
    step();
    EXPECT_THAT(broker.terminated, testing::Contains(reply));
  }
  EXPECT_THAT(broker.acked, IsEmpty());
  EXPECT_EQ(reports().refused, bad.size());
  EXPECT_TRUE(disk.devices.empty());
  EXPECT_THAT(logged(), HasSubstr("device.report_refused"));
  EXPECT_THAT(logged(), HasSubstr("$.x: unknown member"));
  EXPECT_THAT(logged(), HasSubstr("$.provider: there is no provider of this name"));
  EXPECT_THAT(logged(), Not(HasSubstr("nobody")));
  EXPECT_THAT(logged(), HasSubstr("$.kind: there is no provider of this kind"));
  // And the next one is heard.
  broker.confirm_at_once = true;
  arrive(report(100, of("revoked")));
  EXPECT_THAT(broker.acked, ElementsAre("report.100"));
}

TEST_F(DeviceReportsTest, ACopyIsTriedUntilItIsStored) {
  broker.confirm_at_once = false;
  arrive(report(1, "{}"));
  broker.confirmations.push_back(
      {broker.published.back().first, fail(Errc::unavailable, "no answer")});
  wait(seconds(1));
  ASSERT_EQ(broker.published.size(), 2U);
  EXPECT_EQ(broker.published[1].second.message_id, broker.published[0].second.message_id);
  EXPECT_EQ(broker.published[1].second.body, "{}");
  // Too large for its stream: the reason alone.
  broker.confirmations.push_back({broker.published.back().first, fail(Errc::invalid, "too large")});
  wait(seconds(1));
  ASSERT_EQ(broker.published.size(), 3U);
  EXPECT_EQ(broker.published[2].second.body, "");
  EXPECT_THAT(broker.terminated, IsEmpty());
  broker.confirmations.push_back({broker.published.back().first, {}});
  step();
  EXPECT_THAT(broker.terminated, ElementsAre("report.1"));
}

TEST_F(DeviceReportsTest, ARedeliveryWhileItIsHeldIsTheSame) {
  broker.confirm_at_once = false;
  arrive(report(1, "{}"));
  Message again = report(1, "{}");
  again.reply = "report.1b";
  arrive(again);
  ASSERT_EQ(broker.published.size(), 1U);
  broker.confirmations.push_back({broker.published.back().first, {}});
  step();
  EXPECT_THAT(broker.terminated, ElementsAre("report.1b"));
}

TEST_F(DeviceReportsTest, ByKindIfThereIsOneOfIt) {
  providers = {
      {"apns", ProviderKind::apns}, {"two", ProviderKind::fcm}, {"three", ProviderKind::fcm}};
  start_with_reports();
  arrive(report(1, R"({"kind":"apns","token":"aa","state":"revoked"})"));
  EXPECT_THAT(broker.acked, ElementsAre("report.1"));
  EXPECT_FALSE(is_sent(1, "e1", token("aa")));
  arrive(report(2, R"({"kind":"fcm","token":"aa","state":"revoked"})"));
  EXPECT_THAT(broker.terminated, ElementsAre("report.2"));
  EXPECT_THAT(logged(), HasSubstr("several providers are of this kind"));
}

TEST_F(DeviceReportsTest, ByTheHashThatEventsHave) {
  arrive(report(1, of("revoked")));
  ASSERT_EQ(disk.devices.size(), 1U);
  const std::string hash = hex(disk.devices.begin()->first.view());
  clock.advance(seconds(1));
  arrive(report(2, R"({"provider":"apns","hash":")" + hash + R"(","state":"active"})"));
  EXPECT_EQ(disk.devices.size(), 1U);
  EXPECT_TRUE(is_sent(1, "e1", token("aa")));
  EXPECT_EQ(broker.published_on("sendonce.device.apns.active"), 1U);
}

TEST_F(DeviceReportsTest, ATokenIsNeverLogged) {
  constexpr const char* kToken = "f00dfacef00dfacef00dfacef00dfacef00dfacef00dfacef00dfacef00dface";
  for (const char* state : {"revoked", "active", "nonsense"}) {
    std::string body = R"({"provider":"apns","token":")";
    body += kToken;
    body += R"(","state":")";
    body += state;
    body += "\"}";
    arrive(report(1, body));
    arrive(report(2, body + "}"));
    arrive(report(3, "{\"" + std::string(kToken) + "\":1}"));
  }
  EXPECT_THAT(logged(), HasSubstr("device.reported"));
  EXPECT_THAT(logged(), HasSubstr("device.report_refused"));
  EXPECT_THAT(logged(), Not(HasSubstr(kToken)));
}

TEST_F(DeviceReportsTest, AnEngineThatDrainsAsksForNoMore) {
  step();
  EXPECT_GT(broker.credits[kLane], 0U);
  arrive(report(1, of("revoked")));
  EXPECT_GT(broker.credits[kLane], 0U);
  engine->drain();
  step();
  EXPECT_EQ(broker.credits[kLane], 0U);
  EXPECT_TRUE(engine->drained());
}

// What stops claims stops reports too: they take room in the same map, and leave events.
TEST_F(DeviceReportsTest, ALedgerThatIsNearlyFullIsToldNothing) {
  ASSERT_TRUE(is_sent(1, "e1", token("bb")));
  rows_max = 1;
  start_with_reports();
  step();
  EXPECT_EQ(broker.credits[kLane], 0U);
  EXPECT_THAT(engine->report().device_reports.value().not_ready, HasSubstr("nearly full"));
  EXPECT_THAT(logged(), HasSubstr("device.reports_not_ready"));

  arrive(report(1, of("revoked")));  // it was on its way
  wait(seconds(20));
  EXPECT_THAT(disk.devices, IsEmpty());
  EXPECT_THAT(broker.acked, Not(testing::Contains("report.1")));
  EXPECT_THAT(broker.progressed, testing::Contains("report.1")) << "kept, not redelivered";

  rows_max = 0;
  start_with_reports();
  arrive(report(1, of("revoked")));
  EXPECT_THAT(broker.acked, testing::Contains("report.1"));
  EXPECT_GT(broker.credits[kLane], 0U);
  EXPECT_THAT(engine->report().device_reports.value().not_ready, IsEmpty());
}

TEST_F(DeviceReportsTest, ADrainEndsWhatIsInHandAlsoWithoutRoom) {
  ASSERT_TRUE(is_sent(1, "e1", token("bb")));
  rows_max = 1;
  start_with_reports();
  arrive(report(1, of("revoked")));
  EXPECT_FALSE(engine->drained());
  engine->drain();
  step();
  EXPECT_THAT(broker.acked, testing::Contains("report.1"));
  EXPECT_TRUE(engine->drained());
}

TEST_F(EngineTest, WithoutALaneThereAreNoReports) {
  step();
  EXPECT_FALSE(engine->report().device_reports.has_value());
  EXPECT_EQ(broker.credits.count(kLane), 0U);
}

}  // namespace
}  // namespace sendonce::test
