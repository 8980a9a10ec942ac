// What the engine tells about itself: the numbers behind metrics and health, and the trace of a
// message in what is told of its delivery.
#include <algorithm>
#include <numeric>

#include "plugin/pipeline/engine.hpp"
#include "tests/unit/pipeline/engine_fixture.hpp"

namespace sendonce::test {
namespace {

std::uint64_t observed(const DurationHistogram& h) {
  return std::accumulate(h.counts().begin(), h.counts().end(), std::uint64_t{0});
}

TEST_F(EngineTest, EachAnswerOfTheLedgerToAClaimIsCounted) {
  arrive(message(1, token("aa")));
  arrive(message(2, token("aa")));  // busy
  transport.answer_status(200);
  wait(seconds(1));
  arrive(message(3, token("aa"), "e1", "other content"));
  const auto& answers = counters().claim_answers;
  EXPECT_EQ(answers[0], 1U) << "claimed";
  EXPECT_GE(answers[1], 1U) << "busy";
  EXPECT_EQ(answers[3], 1U) << "done";
  EXPECT_EQ(answers[4], 1U) << "conflict";
}

TEST_F(EngineTest, CallsAreCountedByWhatCameBefore) {
  start(AmbiguityPolicy::resend);
  arrive(message(1, token("aa")));
  transport.answer_status(503);  // nothing was sent
  wait(seconds(12));
  transport.answer_status(500);  // in doubt
  wait(seconds(12));
  transport.answer_status(200);
  step();
  EXPECT_EQ(counters().calls, 3U);
  EXPECT_EQ(counters().repeats, 1U);
  EXPECT_EQ(counters().repeats_in_doubt, 1U);
  EXPECT_EQ(counters().accepted, 1U);
}

TEST_F(EngineTest, LatencyIsFromTheStreamToTheReceipt) {
  Message m = message(1, token("aa"));
  m.stored_at = WallTime(clock.wall() - seconds(20));
  arrive(std::move(m));
  transport.answer_status(200);
  step();
  const DurationHistogram& h = counters().accepted_after;
  EXPECT_EQ(observed(h), 1U);
  EXPECT_GE(h.sum_seconds(), 20.0);
  EXPECT_LT(h.sum_seconds(), 21.0);
  EXPECT_EQ(observed(engine->report().providers[0].counters.calls), 1U);
}

TEST_F(EngineTest, TheOldestMessageInHandIsKnown) {
  wait(seconds(2));
  EXPECT_FALSE(engine->report().classes[0].oldest_held);
  Message old = message(1, token("aa"));
  old.stored_at = WallTime(clock.wall() - minutes(1));
  const WallTime stored = old.stored_at;
  arrive(message(2, token("bb"), "e2"));
  arrive(std::move(old));
  wait(seconds(2));
  EXPECT_EQ(engine->report().classes[0].oldest_held, stored);
  transport.answer_status(200);
  transport.answer_status(200);
  wait(seconds(2));
  EXPECT_FALSE(engine->report().classes[0].oldest_held);
}

// ---- attempts, as they settle -------------------------------------------------------------------

struct Watch final : AttemptWatch {
  struct Seen {
    std::string provider{};
    VerdictClass verdict{};
    State state{};
    std::uint16_t attempts = 0;
    WallTime next_at{};
  };
  bool is_wanted = true;
  std::vector<Seen> seen{};

  [[nodiscard]] bool wanted() const noexcept override { return is_wanted; }
  void settled(const SettledAttempt& a) override {
    seen.push_back({std::string(a.provider), a.verdict.name, a.state, a.attempts, a.next_at});
  }
};

TEST_F(EngineTest, EachAttemptIsShownOnceItIsDurable) {
  Watch eye;
  watch = &eye;
  start(AmbiguityPolicy::give_up);
  arrive(message(1, token("aa")));
  EXPECT_TRUE(eye.seen.empty()) << "claimed, and not settled";
  transport.answer_status(503);
  step();
  ASSERT_EQ(eye.seen.size(), 1U);
  EXPECT_EQ(eye.seen[0].provider, "apns");
  EXPECT_EQ(eye.seen[0].verdict, VerdictClass::retryable);
  EXPECT_EQ(eye.seen[0].state, State::waiting);
  EXPECT_GT(eye.seen[0].next_at, clock.wall());
  wait(seconds(12));
  transport.answer_status(200);
  step();
  ASSERT_EQ(eye.seen.size(), 2U);
  EXPECT_EQ(eye.seen[1].state, State::accepted);
  EXPECT_EQ(eye.seen[1].attempts, 1U) << "counted before it";
  arrive(message(2, token("aa")));
  EXPECT_EQ(eye.seen.size(), 2U) << "a duplicate is no attempt";
}

TEST_F(EngineTest, NobodyIsShownWhatNobodyWants) {
  Watch eye;
  eye.is_wanted = false;
  watch = &eye;
  start(AmbiguityPolicy::give_up);
  arrive(message(1, token("aa")));
  transport.answer_status(200);
  step();
  EXPECT_TRUE(eye.seen.empty());
}

constexpr const char* kTrace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

class RecordingLog final : public Log {
 public:
  void write(Level /*level*/, std::string_view event, std::span<const Field> fields) override {
    std::string line(event);
    for (const Field& f : fields) line.append(" ").append(f.name).append("=").append(f.value);
    lines.push_back(std::move(line));
  }
  [[nodiscard]] bool enabled(Level /*level*/) const override { return true; }
  std::vector<std::string> lines{};
};

class EngineTraceTest : public EngineTest {
 protected:
  EngineTraceTest() { log = std::make_unique<RecordingLog>(); }
  const std::vector<std::string>& lines() const {
    return static_cast<const RecordingLog&>(*log).lines;
  }
  std::size_t with_trace(std::string_view event) const {
    std::size_t n = 0;
    for (const std::string& line : lines())
      if (line.starts_with(event) && line.ends_with(" trace_id=0af7651916cd43dd8448eb211c80319c"))
        ++n;
    return n;
  }
};

TEST_F(EngineTraceTest, GoesToTheEventAndTheLog) {
  Message m = message(1, token("aa"));
  m.headers = {{"traceparent", kTrace}};
  arrive(m);
  transport.answer_status(500);
  step();
  EXPECT_EQ(with_trace("delivery.ended class=otp key="), 1U);
  ASSERT_EQ(broker.published_on("sendonce.outcome.otp.unknown"), 1U);
  for (const auto& [ticket, publication] : broker.published)
    EXPECT_NE(publication.body.find(std::string("\"traceparent\":\"") + kTrace), std::string::npos);
  m.seq = StreamSeq(2);
  arrive(m);
  EXPECT_EQ(with_trace("claim.duplicate"), 1U);
  m.seq = StreamSeq(3);
  m.body = "{";
  arrive(m);
  EXPECT_EQ(with_trace("message.undecodable class=otp sequence=3"), 1U);
}

TEST_F(EngineTraceTest, AClockThatIsAnHourOffIsSaidOnce) {
  for (std::uint64_t i = 1; i <= 20; ++i) {
    arrive(message(i, token("aa"), "e" + std::to_string(i)));
    HttpAnswer answer;
    answer.status = 200;
    answer.headers.add("date", "Thu, 18 Dec 2025 01:00:00 GMT");  // an hour and some seconds later
    transport.answer(std::move(answer));
    wait(seconds(1));
    EXPECT_EQ(engine->report().providers[0].clock_lead.has_value(), true);
  }
  EXPECT_EQ(
      std::ranges::count_if(
          lines(), [](const std::string& l) { return l.starts_with("provider.clock_skew "); }),
      1);
  const auto lead = engine->report().providers[0].clock_lead.value_or(Duration{});
  EXPECT_NEAR(std::chrono::duration<double>(lead).count(), 3600, 60);
}

TEST_F(EngineTraceTest, WithoutOneNothingIsSaid) {
  arrive(message(1, token("aa")));
  transport.answer_status(500);
  step();
  for (const std::string& line : lines()) EXPECT_EQ(line.find("trace"), std::string::npos) << line;
  for (const auto& [ticket, publication] : broker.published)
    EXPECT_EQ(publication.body.find("traceparent"), std::string::npos);
}

}  // namespace
}  // namespace sendonce::test
