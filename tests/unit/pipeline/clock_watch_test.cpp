// The clock alarm: raised by answers that agree, and over by answers that agree.
#include "plugin/pipeline/clock_watch.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "classifiers/http_date.hpp"
#include "tests/support/line_log.hpp"

namespace sendonce::test {
namespace {

using std::chrono::hours, std::chrono::milliseconds, std::chrono::minutes, std::chrono::seconds;
using State = ClockWatch::State;

bool observe(ClockWatch& watch, Duration lead, int times) {
  bool changed = false;
  for (int i = 0; i < times; ++i) changed = watch.observe(lead) || changed;
  return changed;
}

TEST(ClockWatch, SaysNothingBeforeTenAnswersAgree) {
  ClockWatch watch;
  EXPECT_FALSE(watch.lead());
  EXPECT_FALSE(observe(watch, seconds(40), 9));
  EXPECT_EQ(watch.state(), State::agreed);
  EXPECT_EQ(watch.lead(), seconds(40));
  EXPECT_TRUE(watch.observe(seconds(31)));
  EXPECT_EQ(watch.state(), State::provider_ahead);
  EXPECT_FALSE(observe(watch, seconds(40), 100)) << "once";
}

TEST(ClockWatch, ThirtySecondsAreBorne) {
  ClockWatch watch;
  EXPECT_FALSE(observe(watch, seconds(30), 50));
  EXPECT_FALSE(observe(watch, -seconds(30), 50));
  EXPECT_EQ(watch.state(), State::agreed);
}

TEST(ClockWatch, OneOddServerOfSeveralRaisesNothing) {
  ClockWatch watch;
  for (int i = 0; i < 1000; ++i)
    EXPECT_FALSE(watch.observe(i % 3 == 0 ? hours(1) : milliseconds(100)));
  EXPECT_EQ(watch.lead(), milliseconds(100));
  // Nor two that are odd each in his own way.
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(watch.observe(i % 2 == 0 ? hours(1) : -hours(1)));
}

TEST(ClockWatch, IsOverWhenTenAgreeAgain) {
  ClockWatch watch;
  ASSERT_TRUE(observe(watch, -minutes(5), 10));
  EXPECT_EQ(watch.state(), State::provider_behind);
  EXPECT_FALSE(observe(watch, seconds(1), 9));
  EXPECT_TRUE(watch.observe(seconds(1)));
  EXPECT_EQ(watch.state(), State::agreed);
  EXPECT_TRUE(observe(watch, -minutes(5), 10)) << "and may come again";
  EXPECT_TRUE(observe(watch, minutes(5), 10)) << "or turn round";
  EXPECT_EQ(watch.state(), State::provider_ahead);
}

constexpr std::string_view kDate = "Sun, 29 Nov 2026 12:00:00 GMT";

Completion answered(std::string_view date, Duration elapsed = {}) {
  HttpAnswer answer;
  answer.status = 200;
  if (!date.empty()) answer.headers.add("date", date);
  return {.result = std::move(answer), .elapsed = elapsed};
}

class ClockLook : public ::testing::Test {
 protected:
  // One answer a second from a clock that is so far ahead of ours.
  void look(const Completion& completion, Duration provider_ahead, int times) {
    for (int i = 0; i < times; ++i) {
      watch.look(completion, "apns", *parse_http_date(kDate) - provider_ahead, mono, log);
      mono += seconds(1);
    }
  }
  ClockWatch watch{};
  LineLog log{};
  MonoTime mono{seconds(100)};
};

TEST_F(ClockLook, TellsOnceWhoIsAheadAndOnceThatItIsOver) {
  look(answered(kDate), minutes(5), 30);
  ASSERT_EQ(log.lines.size(), 1U);
  EXPECT_EQ(log.lines[0], "error provider.clock_skew provider=apns seconds=300 ahead=provider");
  look(answered(kDate), seconds(2), 30);
  ASSERT_EQ(log.lines.size(), 2U);
  EXPECT_EQ(log.lines[1], "info provider.clock_agreed provider=apns");
  look(answered(kDate), -hours(1), 10);
  ASSERT_EQ(log.lines.size(), 3U);
  EXPECT_EQ(log.lines[2], "error provider.clock_skew provider=apns seconds=3600 ahead=we");
}

TEST_F(ClockLook, OneAnswerASecondIsLookedAt) {
  for (int i = 0; i < 999; ++i) {
    watch.look(answered(kDate), "apns", *parse_http_date(kDate) + hours(1), mono, log);
    mono += milliseconds(5);
  }
  EXPECT_TRUE(log.lines.empty()) << "five seconds are five answers";
  EXPECT_EQ(watch.lead(), milliseconds(500) - hours(1));
}

TEST_F(ClockLook, HalfOfTheWayIsTakenOff) {
  look(answered(kDate, seconds(20)), -seconds(35), 20);
  EXPECT_EQ(watch.lead(), milliseconds(-24'500));
  EXPECT_TRUE(log.lines.empty());
}

TEST_F(ClockLook, NoDateSaysNothing) {
  look(answered(""), hours(1), 20);
  look(answered("yesterday"), hours(1), 20);
  look({.result = CallFailure{.effect = Effect::not_sent, .cause = Cause::connect}}, hours(1), 20);
  EXPECT_FALSE(watch.lead());
  EXPECT_TRUE(log.lines.empty());
}

}  // namespace
}  // namespace sendonce::test
