// A message that names some of its targets is for those alone.
#include <algorithm>

#include "plugin/core/text.hpp"
#include "plugin/message/replay.hpp"
#include "tests/unit/pipeline/engine_fixture.hpp"

namespace sendonce::test {
namespace {

class EngineReplayTest : public EngineTest {
 protected:
  // The keys that a message's targets have: those of the rows that it makes.
  std::vector<std::string> keys() const {
    std::vector<std::string> out;
    for (const auto& [sequence, row] : disk.tables.at(0).rows) out.push_back(hex(row.key.view()));
    return out;
  }
  std::string key_of_target(const std::string& name) {
    start(AmbiguityPolicy::give_up);
    arrive(message(99, token(name)));
    const std::string key = keys().at(0);
    transport.open.clear();
    transport.submitted = 0;
    start(AmbiguityPolicy::give_up);
    return key;
  }
  Message replay(std::uint64_t seq, const std::string& targets,
                 const std::vector<std::string>& of) {
    Message m = message(seq, targets);
    for (const std::string& key : of) m.headers.emplace_back(kReplayHeader, key);
    return m;
  }
};

TEST_F(EngineReplayTest, TheOthersAreNeitherClaimedNorCalled) {
  const std::string wanted = key_of_target("b");
  arrive(replay(1, token("a") + "," + token("b") + "," + token("c"), {wanted}));
  EXPECT_EQ(transport.submitted, 1U);
  EXPECT_EQ(keys(), std::vector{wanted});
  EXPECT_EQ(counters().targets, 1U);
}

TEST_F(EngineReplayTest, SeveralMayBeNamed) {
  const std::string a = key_of_target("a");
  const std::string c = key_of_target("c");
  arrive(replay(1, token("a") + "," + token("b") + "," + token("c"), {c, a}));
  EXPECT_EQ(transport.submitted, 2U);
  EXPECT_EQ(keys().size(), 2U);
}

TEST_F(EngineReplayTest, ItIsAckedWhenTheNamedOnesHaveEnded) {
  const std::string wanted = key_of_target("b");
  broker.acked.clear();
  arrive(replay(1, token("a") + "," + token("b"), {wanted}));
  EXPECT_TRUE(broker.acked.empty());
  transport.answer_status(200);
  step();
  EXPECT_EQ(broker.acked, std::vector<std::string>{"reply.1"});
}

// Acked in silence it would be lost; for every target it would be the opposite of what was meant.
TEST_F(EngineReplayTest, WithNoneOfItsTargetsItIsDeadLettered) {
  const std::string other = key_of_target("x");
  broker.published.clear();
  broker.terminated.clear();
  arrive(replay(1, token("a"), {other}));
  EXPECT_EQ(transport.submitted, 0U);
  EXPECT_TRUE(keys().empty());
  EXPECT_EQ(broker.published_on("sendonce.dlq.otp.undecodable"), 1U);
  EXPECT_EQ(broker.terminated.size(), 1U);
  EXPECT_EQ(counters().undecodable, 1U);
}

TEST_F(EngineReplayTest, ABrokenNameIsForNobody) {
  arrive(replay(1, token("a"), {"all"}));
  EXPECT_EQ(transport.submitted, 0U);
  EXPECT_EQ(broker.published_on("sendonce.dlq.otp.undecodable"), 1U);
}

TEST_F(EngineReplayTest, TheNextMessageIsForAllAgain) {
  const std::string wanted = key_of_target("b");
  arrive(replay(1, token("a") + "," + token("b"), {wanted}));
  arrive(message(2, token("c") + "," + token("d"), "e2"));
  EXPECT_EQ(transport.submitted, 3U);
}

// The letter was written under the recipe of before: its key names the target still.
TEST_F(EngineReplayTest, AKeyOfThePreviousRecipeNamesItsTarget) {
  const std::string old_key = key_of_target("b");
  ClassPolicy policy = make_class(AmbiguityPolicy::give_up);
  policy.previous = policy.recipe;
  const std::vector<std::string> fields{"event_id", "recipient"};
  policy.recipe = *make_recipe("otp", fields);
  ProviderSlot slot;
  slot.config.name = "apns";
  slot.provider = &provider;
  engine = std::make_unique<Engine>(
      EngineDeps{clock, *log, broker, *lane, transport},
      EngineOptions{.ledger_id = "L", .secret = std::string(32, 's'), .seed = 1},
      std::vector<ClassPolicy>{policy}, std::vector<ProviderSlot>{slot});
  arrive(replay(1, token("a") + "," + token("b"), {old_key}));
  EXPECT_EQ(transport.submitted, 1U);
  ASSERT_EQ(keys().size(), 1U);
  EXPECT_NE(keys()[0], old_key) << "its row has a key of the present one";
}

// The other target has been forgotten, or was never seen: nobody asks.
TEST_F(EngineReplayTest, WhatTheLedgerHasForgottenIsNotSentAgain) {
  const std::string targets = token("a") + "," + token("b");
  const std::string wanted = key_of_target("b");
  arrive(message(1, targets));
  transport.answer_status(200);
  transport.answer_status(200);
  step();
  std::erase_if(disk.tables.at(0).rows, [&](const auto& entry) {
    const bool gone = hex(entry.second.key.view()) != wanted;
    if (gone) disk.tables.at(0).by_key.erase(entry.second.key);
    return gone;
  });
  transport.submitted = 0;
  arrive(replay(2, targets, {wanted}));
  EXPECT_EQ(transport.submitted, 0U) << "b was sent, and a is not asked for";
  EXPECT_EQ(counters().duplicates_suppressed, 1U);
}

}  // namespace
}  // namespace sendonce::test
