// The policy `lookup`, call by call.
#include "tests/unit/pipeline/engine_fixture.hpp"

namespace sendonce::test {
namespace {

class EngineLookup : public EngineTest {
 protected:
  void SetUp() override {
    provider.caps.lookup = true;
    provider.caps.lookup_lag = seconds(5);
    provider.caps.lookup_window = hours(1);
    start(AmbiguityPolicy::lookup);
  }
  // A call that may have been sent.
  void doubt() {
    arrive(message(1, token("aa")));
    ASSERT_EQ(transport.open.size(), 1U);
    EXPECT_EQ(transport.open.front().request.method, "POST");
    transport.answer_status(500);
    step();
    EXPECT_TRUE(transport.open.empty());
  }
  void expect_open(const char* method) {
    ASSERT_EQ(transport.open.size(), 1U);
    EXPECT_EQ(transport.open.front().request.method, method);
  }
  void answer_look(int status) {
    expect_open("GET");
    transport.answer_status(status);
    step();
  }
};

TEST_F(EngineLookup, WaitsTheLagAndAcceptsWhatIsFound) {
  doubt();
  wait(seconds(4));
  EXPECT_TRUE(transport.open.empty()) << "its provider cannot know yet";
  wait(seconds(2));
  answer_look(200);
  EXPECT_EQ(counters().accepted, 1U);
  EXPECT_EQ(counters().calls, 1U);
  EXPECT_EQ(broker.acked.size(), 1U);
}

TEST_F(EngineLookup, IsSentAgainAfterTwoLooksALagApart) {
  doubt();
  wait(seconds(6));
  answer_look(404);
  wait(seconds(4));
  EXPECT_TRUE(transport.open.empty());
  wait(seconds(2));
  answer_look(404);
  step();
  expect_open("POST");
  EXPECT_EQ(counters().repeats_in_doubt, 1U);
  transport.answer_status(200);
  step();
  EXPECT_EQ(counters().accepted, 1U);
}

TEST_F(EngineLookup, LooksOfBeforeACallSayNothingAboutIt) {
  doubt();
  for (int i = 0; i < 2; ++i) {
    wait(seconds(6));
    answer_look(404);
  }
  step();
  expect_open("POST");
  transport.answer_status(500);
  step();
  EXPECT_TRUE(transport.open.empty());
  for (int i = 0; i < 2; ++i) {
    wait(seconds(6));
    answer_look(404);
  }
  step();
  expect_open("POST");
  transport.answer_status(500);  // the third and last attempt
  step();
  wait(seconds(6));
  answer_look(404);
  wait(seconds(6));
  answer_look(404);
  wait(seconds(2));
  EXPECT_TRUE(transport.open.empty());
  EXPECT_EQ(counters().unknown, 1U);
}

TEST_F(EngineLookup, AnAnswerThatSaysNothingIsAskedForAgain) {
  doubt();
  wait(seconds(6));
  answer_look(503);
  wait(seconds(12));
  answer_look(403);
  wait(seconds(12));
  expect_open("GET");
  transport.answer(CallFailure{.effect = Effect::maybe_sent, .cause = Cause::timed_out});
  wait(seconds(12));
  answer_look(200);
  EXPECT_EQ(counters().accepted, 1U);
  EXPECT_EQ(counters().calls, 1U);
  EXPECT_TRUE(engine->report().providers[0].holds.empty()) << "a question holds nobody";
}

TEST_F(EngineLookup, AClaimThatWasLeftBehindIsLookedForFirst) {
  arrive(message(1, token("aa")));
  transport.open.clear();
  restart(AmbiguityPolicy::lookup);
  arrive(message(1, token("aa")));
  EXPECT_TRUE(transport.open.empty());
  wait(seconds(6));
  answer_look(200);
  EXPECT_EQ(counters().accepted, 1U);
  EXPECT_EQ(transport.submitted, 2U);
}

// Design: in doubt after the deadline lookup still runs, and nothing is sent.
TEST_F(EngineLookup, LooksAfterTheDeadlineAndSendsNothingThen) {
  doubt();
  clock.advance(minutes(10));
  wait(seconds(6));
  answer_look(404);
  wait(seconds(6));
  answer_look(404);
  wait(seconds(2));
  EXPECT_TRUE(transport.open.empty());
  EXPECT_EQ(counters().unknown, 1U);
  EXPECT_EQ(counters().calls, 1U);
}

TEST_F(EngineLookup, WhatIsFoundAfterTheDeadlineIsAccepted) {
  doubt();
  clock.advance(minutes(10));
  wait(seconds(6));
  answer_look(200);
  EXPECT_EQ(counters().accepted, 1U);
}

// Law 9: nobody is asked for ever.
TEST_F(EngineLookup, AProviderThatNeverAnswersLeavesItUnknown) {
  doubt();
  for (int i = 0; i < 2000 && counters().unknown == 0; ++i) {
    wait(seconds(1));
    if (!transport.open.empty()) transport.answer_status(503);
  }
  EXPECT_EQ(counters().unknown, 1U);
  EXPECT_EQ(counters().calls, 1U);
  EXPECT_EQ(broker.acked.size(), 1U);
}

// Two looks that a step of the wall clock has brought together would be one.
TEST_F(EngineLookup, AStepOfTheWallClockBringsNoLookForward) {
  doubt();
  clock.step_wall(minutes(2));
  wait(seconds(1));
  EXPECT_TRUE(transport.open.empty());
  wait(seconds(5));
  expect_open("GET");
}

TEST_F(EngineLookup, ASuccessWithoutReceiptIsLookedForAndNeverSentAgain) {
  arrive(message(1, token("aa")));
  transport.answer_status(202);
  step();
  for (int i = 0; i < 2; ++i) {
    wait(seconds(6));
    answer_look(404);
  }
  wait(seconds(2));
  EXPECT_TRUE(transport.open.empty());
  EXPECT_EQ(counters().unknown, 1U);
}

TEST_F(EngineLookup, AProviderThatCannotBeAskedIsNotSentToAgain) {
  provider.caps.lookup = false;
  arrive(message(1, token("aa")));
  transport.answer_status(500);
  step();
  EXPECT_EQ(counters().unknown, 1U);
}

// What is provably not sent needs no question.
TEST_F(EngineLookup, ARefusalIsNoDoubt) {
  arrive(message(1, token("aa")));
  transport.answer_status(503);
  wait(seconds(3));
  expect_open("POST");
}

TEST_F(EngineLookup, NoStreamForALookMeansLater) {
  doubt();
  transport.refuse = true;
  wait(seconds(8));
  EXPECT_TRUE(transport.open.empty());
  transport.refuse = false;
  wait(seconds(2));
  answer_look(200);
  EXPECT_EQ(counters().accepted, 1U);
}

}  // namespace
}  // namespace sendonce::test
