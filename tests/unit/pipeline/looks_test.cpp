#include "plugin/pipeline/looks.hpp"

#include <gtest/gtest.h>

namespace sendonce::test {
namespace {

using std::chrono::hours, std::chrono::minutes, std::chrono::seconds;

constexpr WallTime kStored{std::chrono::seconds(1'800'000'000)};
constexpr MonoTime kNow{hours(7)};
const RetryConfig kRetry{
    .first = seconds(2), .factor = 2.0, .cap = minutes(1), .attempts = 3, .horizon = hours(1)};

Claimed doubted() {
  return {.carried = Effect::maybe_sent,
          .attempts = 1,
          .deadline = kStored + minutes(10),
          .created = kStored};
}
LookContext context(Duration after = seconds(40)) {
  return {.mono = kNow, .wall = kStored + after, .lag = seconds(30), .window = hours(1)};
}
LookState looked(std::uint32_t absent, MonoTime next = kNow) {
  return {.absent = absent, .undecided = 0, .next = next};
}
LookStep step(const Claimed& c, const LookState& s, const LookContext& with = context()) {
  return judge_doubt(c, s, with, kRetry).step;
}

TEST(JudgeDoubt, WaitsThenLooksTwiceThenSends) {
  const LookVerdict early = judge_doubt(doubted(), looked(0, kNow + seconds(5)), context(), kRetry);
  EXPECT_EQ(early.step, LookStep::wait);
  EXPECT_EQ(early.wait, Duration(seconds(5)));
  EXPECT_EQ(step(doubted(), looked(0)), LookStep::look);
  EXPECT_EQ(step(doubted(), looked(1)), LookStep::look);
  EXPECT_EQ(step(doubted(), looked(1, kNow + seconds(1))), LookStep::wait);
  EXPECT_EQ(step(doubted(), looked(2)), LookStep::send);
}

TEST(JudgeDoubt, SendsNothingThatMustNotBeSent) {
  Claimed worn_out = doubted();
  worn_out.attempts = 3;
  EXPECT_EQ(step(worn_out, looked(1)), LookStep::look) << "asking costs no attempt";
  EXPECT_EQ(step(worn_out, looked(2)), LookStep::give_up);
  Claimed no_receipt = doubted();
  no_receipt.receipt_missing = true;
  EXPECT_EQ(step(no_receipt, looked(0)), LookStep::look);
  EXPECT_EQ(step(no_receipt, looked(2)), LookStep::give_up);
}

TEST(JudgeDoubt, LooksAfterTheDeadlineAndSendsNothing) {
  const LookContext late = context(minutes(10));
  EXPECT_EQ(step(doubted(), looked(0), late), LookStep::look);
  EXPECT_EQ(step(doubted(), looked(1), late), LookStep::look);
  EXPECT_EQ(step(doubted(), looked(2), late), LookStep::give_up);
}

// What can no longer be found is absent, and may have been sent.
TEST(JudgeDoubt, BelievesNothingBeyondTheWindow) {
  LookContext old = context(hours(1));
  Claimed open = doubted();
  open.deadline = kStored + hours(9);
  for (const std::uint32_t absent : {0U, 1U, 2U})
    EXPECT_EQ(step(open, looked(absent), old), LookStep::give_up) << absent;
  old.wall -= seconds(1);
  EXPECT_EQ(step(open, looked(2), old), LookStep::send);
}

class DecideLook : public ::testing::Test {
 protected:
  Decision of(LookAnswer answer) { return decide_look(answer, state, context(), kRetry, random); }
  Random random{1};
  LookState state{};
};

TEST_F(DecideLook, FoundIsAccepted) {
  EXPECT_EQ(of({.look = Look::found}).state, State::accepted);
}

TEST_F(DecideLook, TheSecondLookIsALagAfterTheFirst) {
  const Decision first = of({.look = Look::absent});
  EXPECT_EQ(first.state, State::waiting);
  EXPECT_EQ(first.delay, Duration(seconds(30)));
  EXPECT_FALSE(first.counted);
  EXPECT_EQ(state.absent, 1U);
  EXPECT_EQ(state.next, kNow + seconds(30));
  const Decision second = of({.look = Look::absent});
  EXPECT_EQ(second.state, State::waiting);
  EXPECT_EQ(second.delay, Duration(0));
  EXPECT_EQ(state.absent, 2U);
}

TEST_F(DecideLook, AnAnswerThatSaysNothingStaysADoubt) {
  for (int i = 0; i < 100; ++i) {
    const Decision d = of({.look = Look::undecided, .retry_after = seconds(7)});
    EXPECT_EQ(d.state, State::waiting);
    EXPECT_FALSE(d.counted);
    EXPECT_GE(d.delay, Duration(seconds(7)));
    EXPECT_LE(d.delay, Duration(minutes(1)));
  }
  EXPECT_EQ(state.absent, 0U);
  EXPECT_LE(of({.look = Look::undecided, .retry_after = hours(9)}).delay, Duration(hours(1)));
}

TEST(Looks, ANewDoubtForgetsWhatWasAskedBefore) {
  Looks looks;
  const Key key{};
  looks.of(key, kNow, seconds(30)).absent = 2;
  EXPECT_EQ(looks.of(key, kNow + minutes(1), seconds(30)).absent, 2U);
  looks.doubt(key, kNow + minutes(1), seconds(30));
  EXPECT_EQ(looks.of(key, kNow + minutes(2), seconds(30)).absent, 0U);
  EXPECT_EQ(looks.of(key, kNow + minutes(2), seconds(30)).next, kNow + seconds(90));
  looks.forget(key);
  EXPECT_EQ(looks.size(), 0U);
}

TEST(Looks, AreBounded) {
  Looks looks;
  Key key{};
  for (std::size_t i = 0; i < Looks::kMax + 10; ++i) {
    key.bytes[0] = static_cast<std::uint8_t>(i);
    key.bytes[1] = static_cast<std::uint8_t>(i >> 8U);
    key.bytes[2] = static_cast<std::uint8_t>(i >> 16U);
    looks.doubt(key, kNow, seconds(30));
  }
  EXPECT_EQ(looks.size(), Looks::kMax);
  // Nobody has asked for them for hours.
  key.bytes[3] = 1;
  looks.doubt(key, kNow + hours(3), seconds(30));
  EXPECT_EQ(looks.size(), 1U);
}

}  // namespace
}  // namespace sendonce::test
