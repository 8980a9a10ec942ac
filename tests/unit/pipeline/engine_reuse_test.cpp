// A device that comes with another recipient: told of, or refused, by the provider's `reuse`.
#include <gmock/gmock.h>

#include "tests/unit/pipeline/engine_fixture.hpp"

namespace sendonce::test {
namespace {

using testing::ElementsAre;

class EngineReuseTest : public EngineTest {
 protected:
  void start_with(TokenReuse reuse) {
    engine.reset();
    ledger = std::make_unique<MemoryLedger>(disk, MemoryLedgerOptions{});
    lane = std::make_unique<StepLane>(*ledger, clock);
    engine = std::make_unique<Engine>(
        EngineDeps{clock, *log, broker, *lane, transport},
        EngineOptions{.ledger_id = "L", .secret = std::string(32, 's'), .seed = 1},
        std::vector<ClassPolicy>{make_class(AmbiguityPolicy::give_up)}, slots(reuse));
  }
  std::vector<ProviderSlot> slots(TokenReuse reuse) {
    ProviderSlot slot;
    slot.config.name = "apns";
    slot.config.reuse = reuse;
    slot.provider = &provider;
    return {slot};
  }
  // True: it was sent.
  bool send(std::uint64_t seq, const std::string& recipient, const std::string& registered = "") {
    Message m = message(
        seq,
        R"({"provider":"apns","token":"aa")" +
            (registered.empty() ? registered : R"(,"registered_at":")" + registered + '"') + "}",
        "e" + std::to_string(seq));
    m.body.replace(m.body.find("\"u1\""), 4, "\"" + recipient + "\"");
    const std::size_t before = transport.submitted;
    arrive(std::move(m));
    if (transport.submitted == before) return false;
    transport.answer_status(200);
    step();
    return true;
  }
  std::uint64_t reused() const { return engine->report().providers[0].counters.devices_reused; }
  std::size_t told() const { return broker.published_on("sendonce.device.apns.reused"); }
};

TEST_F(EngineReuseTest, ReportedItIsSentAllTheSame) {
  start_with(TokenReuse::report);
  EXPECT_TRUE(send(1, "ann"));
  EXPECT_TRUE(send(2, "ann"));
  EXPECT_EQ(told(), 0U);
  EXPECT_TRUE(send(3, "bob"));
  EXPECT_TRUE(send(4, "bob"));
  EXPECT_EQ(told(), 1U);
  EXPECT_EQ(reused(), 2U);
  EXPECT_EQ(counters().accepted, 4U);
}

TEST_F(EngineReuseTest, RefusedItIsDeadLetteredAndNeverSent) {
  start_with(TokenReuse::refuse);
  EXPECT_TRUE(send(1, "ann"));
  EXPECT_FALSE(send(2, "bob"));
  EXPECT_EQ(counters().failed, 1U);
  EXPECT_EQ(broker.published_on("sendonce.dlq.otp.token_reused"), 1U);
  EXPECT_EQ(told(), 1U);
  EXPECT_EQ(reused(), 1U);
  EXPECT_THAT(broker.acked, ElementsAre("reply.1", "reply.2"));
  EXPECT_TRUE(send(3, "ann"));
  EXPECT_TRUE(send(4, "bob", "2100-01-01T00:00:00Z")) << "registered anew";
}

TEST_F(EngineReuseTest, AllowedNothingIsKept) {
  start_with(TokenReuse::allow);
  EXPECT_TRUE(send(1, "ann"));
  EXPECT_TRUE(send(2, "bob"));
  EXPECT_EQ(told(), 0U);
  EXPECT_EQ(reused(), 0U);
  EXPECT_TRUE(disk.bindings.empty());
}

TEST_F(EngineReuseTest, AReloadMayChangeIt) {
  start_with(TokenReuse::report);
  EXPECT_TRUE(send(1, "ann"));
  engine->reload({make_class(AmbiguityPolicy::give_up)}, slots(TokenReuse::refuse));
  EXPECT_FALSE(send(2, "bob"));
  engine->reload({make_class(AmbiguityPolicy::give_up)}, slots(TokenReuse::allow));
  EXPECT_TRUE(send(3, "bob"));
}

// The ledger knows people by keyed hashes alone.
TEST_F(EngineReuseTest, NobodyIsNamed) {
  start_with(TokenReuse::report);
  send(1, "ann.smith");
  send(2, "bob.jones");
  for (const auto& [ticket, p] : broker.published) {
    EXPECT_EQ(p.body.find("ann.smith"), std::string::npos);
    EXPECT_EQ(p.body.find("bob.jones"), std::string::npos);
  }
}

}  // namespace
}  // namespace sendonce::test
