// What a reload changes, and what it leaves alone.
#include "tests/unit/pipeline/engine_fixture.hpp"

namespace sendonce::test {
namespace {

class EngineReloadTest : public EngineTest {
 protected:
  void reload(Provider& to, const ProviderConfig& config = {}) {
    engine->reload({make_class(AmbiguityPolicy::give_up)}, {slot_of(to, config)});
  }
};

TEST_F(EngineReloadTest, OfTheSameRenewsNothing) {
  arrive(message(1, token("aa")));
  reload(provider);
  EXPECT_EQ(transport.renewed, 0U);
  transport.answer_status(200);
  step();
  EXPECT_EQ(broker.acked.size(), 1U);
}

TEST_F(EngineReloadTest, OfAnotherProviderRenewsItsConnections) {
  FakeProvider other;
  reload(other);
  EXPECT_EQ(transport.renewed, 1U);
  other.refuse_payload = "asked the new one";
  arrive(message(1, token("aa")));
  EXPECT_EQ(transport.submitted, 0U);
}

TEST_F(EngineReloadTest, EndsABackoff) {
  transport.retry_at = clock.mono() + seconds(30);
  reload(provider);
  EXPECT_EQ(transport.renewed, 1U);
}

TEST_F(EngineReloadTest, ProbesAHoldAtOnce) {
  arrive(message(1, token("aa")));
  transport.answer_status(403);
  step();
  EXPECT_EQ(transport.submitted, 1U);
  reload(provider);
  step();
  EXPECT_EQ(transport.submitted, 2U);
}

TEST_F(EngineReloadTest, ACredentialAskedForBeforeIsNotGivenToAnother) {
  provider.wants_credential = true;
  step();
  ASSERT_EQ(transport.open.size(), 1U);
  FakeProvider other;
  other.wants_credential = true;
  reload(other);
  step();
  EXPECT_EQ(transport.open.size(), 1U) << "one at a time";
  transport.answer_status(200);
  step();
  EXPECT_EQ(other.credentials_taken, 0U);
  ASSERT_EQ(transport.open.size(), 1U) << "it asks for its own";
  transport.answer_status(200);
  step();
  EXPECT_EQ(other.credentials_taken, 1U);
  EXPECT_EQ(provider.credentials_taken, 0U);
}

TEST_F(EngineReloadTest, TakesANewBreaker) {
  reload(provider, {.breaker_open_after = 1, .breaker_probe = seconds(20)});
  arrive(message(1, token("aa")));
  transport.answer_status(503);
  step();
  ASSERT_EQ(engine->report().providers[0].holds.size(), 1U);
  arrive(message(2, token("bb"), "e2"));
  wait(seconds(15));
  EXPECT_EQ(transport.submitted, 1U);
  wait(seconds(6));
  EXPECT_EQ(transport.submitted, 2U);
}

TEST(DispatcherReload, TakesNewPriorities) {
  std::vector<ClassPolicy> classes(2);
  Dispatcher d(classes);
  d.push(ClassIndex(1), Ticket(1));
  EXPECT_FALSE(d.pop(true).has_value());
  classes[1].config.priority = Priority::high;
  d.set_priorities(classes);
  EXPECT_TRUE(d.pop(true).has_value());
}

// The row's deadline rules. A shorter one, by a reload or in a duplicate, must not make a delivery
// that the ledger still wants claim and settle in turns.
TEST_F(EngineTest, AShorterDeadlineThanTheRowsIsTheRows) {
  arrive(message(1, token("aa")));
  transport.answer_status(503);
  step();
  ClassPolicy shorter = make_class(AmbiguityPolicy::give_up);
  shorter.config.expires = seconds(2);
  reload(shorter);
  engine->drain();  // hands it back
  step();
  ASSERT_EQ(broker.naked.size(), 1U);
  const Message again = message(1, token("aa"));
  restart(AmbiguityPolicy::give_up);
  reload(shorter);
  Message back = again;
  back.stored_at = clock.wall() - seconds(4);
  arrive(std::move(back));
  const std::uint64_t before = counters().claimed;
  wait(seconds(5));
  EXPECT_LE(counters().claimed, before + 2) << "claims and settles in turns";
  EXPECT_EQ(transport.submitted, 2U);
  transport.answer_status(200);
  step();
  EXPECT_EQ(broker.acked.size(), 1U);
}

// The same while its provider is held, and the ledger could not take the claim at once.
TEST_F(EngineTest, AShorterDeadlineThanTheRowsIsTheRowsInAHoldToo) {
  arrive(message(1, token("aa")));
  transport.answer_status(503);
  step();
  restart(AmbiguityPolicy::give_up);
  ClassPolicy shorter = make_class(AmbiguityPolicy::give_up);
  shorter.config.expires = seconds(2);
  reload(shorter);
  wait(seconds(30));  // the row has waited long enough
  arrive(message(2, token("bb"), "e2"));
  lane->full = true;
  Message back = message(1, token("aa"));
  back.stored_at = clock.wall() - seconds(4);
  arrive(std::move(back));
  lane->full = false;
  transport.answer_status(403);
  step();
  wait(seconds(4));
  EXPECT_EQ(counters().claimed, 2U) << "claims and settles in turns";
  EXPECT_EQ(transport.submitted, 2U) << "past the hold";
  wait(seconds(2));
  EXPECT_EQ(transport.submitted, 3U) << "the probe";
}

// Law 3: its row is open. Its end is written down before the message goes.
TEST_F(EngineTest, AProviderThatWasTakenOffTheRouteEndsItsDeliveriesOneByOne) {
  arrive(message(1, token("aa")));
  transport.answer_status(503);
  step();
  restart(AmbiguityPolicy::give_up);
  ClassPolicy without = make_class(AmbiguityPolicy::give_up);
  without.routes.clear();
  reload(without);
  arrive(message(1, token("aa")));
  wait(seconds(3));
  EXPECT_TRUE(broker.terminated.empty());
  EXPECT_EQ(broker.acked.size(), 1U);
  EXPECT_EQ(counters().failed, 1U);
  EXPECT_EQ(broker.published_on("sendonce.dlq"), 1U);
  arrive(message(2, R"({"provider":"nobody","token":"aa"})", "e2"));
  EXPECT_EQ(broker.terminated.size(), 1U) << "of a provider that nobody knows there is no row";
}

}  // namespace
}  // namespace sendonce::test
