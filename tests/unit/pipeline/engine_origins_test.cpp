// A provider whose targets are at many origins, as push services are.
#include <algorithm>

#include "tests/unit/pipeline/engine_fixture.hpp"

namespace sendonce::test {
namespace {

class OriginsTest : public EngineTest {
 protected:
  void SetUp() override {
    provider.caps.many_origins = true;
    transport.room = 1000;
    transport.rooms = {{"a", 0}, {"b", 10}};
    start(AmbiguityPolicy::give_up);
  }
  void arrive_at(const std::string& authority, int event) {
    const std::string n = std::to_string(event);
    arrive(message(static_cast<std::uint64_t>(event), token(authority + "/" + n), "e" + n));
  }
  std::size_t calls_to(const std::string& authority) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        transport.open, [&](const auto& c) { return c.request.authority == authority; }));
  }
};

TEST_F(OriginsTest, OneWithoutRoomKeepsNobodyElseWaiting) {
  for (int i = 1; i <= 3; ++i) arrive_at("a", i);
  for (int i = 4; i <= 6; ++i) arrive_at("b", i);
  EXPECT_EQ(calls_to("a"), 0U);
  EXPECT_EQ(calls_to("b"), 3U);
  EXPECT_EQ(counters().claimed, 3U) << "no claim without room";
  EXPECT_TRUE(std::ranges::count(transport.warmed, "a") > 0) << "a connection is asked for";
  transport.rooms["a"] = 10;
  step();
  EXPECT_EQ(calls_to("a"), 3U);
}

// Thousands may wait for one that is away: a cycle asks the transport once, and not for each.
TEST_F(OriginsTest, AFullOneIsAskedOnceACycle) {
  for (int i = 1; i <= 20; ++i) arrive_at("a", i);
  transport.warmed.clear();
  engine->poll(Duration::zero());
  EXPECT_EQ(std::ranges::count(transport.warmed, "a"), 1);
}

TEST_F(OriginsTest, ClaimsUnderWayCountAgainstTheRoomOfTheirOrigin) {
  transport.rooms = {{"a", 1}, {"b", 10}};
  broker.arriving.push_back(message(1, token("a/1"), "e1"));
  broker.arriving.push_back(message(2, token("a/2"), "e2"));
  broker.arriving.push_back(message(3, token("b/3"), "e3"));
  step();
  EXPECT_EQ(calls_to("a"), 1U);
  EXPECT_EQ(calls_to("b"), 1U);
  EXPECT_EQ(counters().claimed, 2U);
}

TEST_F(OriginsTest, AnAuthFaultOfOneHoldsThatOne) {
  transport.rooms = {{"a", 10}, {"b", 10}};
  arrive_at("a", 1);
  transport.answer_status(403);
  step();
  arrive_at("a", 2);
  arrive_at("b", 3);
  EXPECT_EQ(calls_to("a"), 0U);
  EXPECT_EQ(calls_to("b"), 1U);
  const auto report = engine->report();
  ASSERT_EQ(report.providers[0].holds.size(), 1U);
  EXPECT_EQ(report.providers[0].holds[0].first, "a");
}

// When so many are held that no more are pulled, those of an origin that cannot be reached go back
// to the broker; those of one that is only full are at work.
TEST_F(OriginsTest, WhatWaitsForAnUnreachableOneMakesPlace) {
  for (int i = 1; i <= 60; ++i) arrive_at("a", i);
  wait(seconds(30));
  EXPECT_TRUE(broker.naked.empty());
  transport.unreachable = {"a"};
  wait(seconds(30));
  EXPECT_GT(broker.naked.size(), 10U);
  arrive_at("b", 61);
  EXPECT_EQ(calls_to("b"), 1U);
}

}  // namespace
}  // namespace sendonce::test
