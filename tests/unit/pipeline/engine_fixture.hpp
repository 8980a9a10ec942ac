// The engine over a real rule set and an in-memory ledger, with the outside world stepped by hand.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "ledger/memory/memory_ledger.hpp"
#include "plugin/pipeline/engine.hpp"
#include "tests/support/fakes.hpp"

namespace sendonce::test {

using std::chrono::hours, std::chrono::milliseconds, std::chrono::minutes, std::chrono::seconds;

inline ClassPolicy make_class(AmbiguityPolicy ambiguous) {
  ClassPolicy c;
  c.config.name = "otp";
  c.config.subject = "notify.otp.>";
  c.config.expires = minutes(10);
  c.config.retention = hours(48);
  c.config.in_flight = 64;
  c.config.retry = {
      .first = seconds(1), .factor = 2, .cap = seconds(10), .attempts = 3, .horizon = minutes(5)};
  c.config.ambiguous_default = ambiguous;
  const std::vector<std::string> fields{"event_id", "recipient", "channel", "template"};
  c.recipe = *make_recipe("otp", fields);
  c.routes = {{Channel::push, ProviderIndex(0)}};
  return c;
}

class EngineTest : public ::testing::Test {
 protected:
  void SetUp() override { start(AmbiguityPolicy::give_up); }

  void start(AmbiguityPolicy ambiguous) {
    disk = MemoryDisk{};
    restart(ambiguous);
  }

  // A new incarnation of the process on the same ledger.
  void restart(AmbiguityPolicy ambiguous) { restart(make_class(ambiguous)); }
  void restart(ClassPolicy policy) {
    engine.reset();
    ledger.reset();
    ledger = std::make_unique<MemoryLedger>(disk, MemoryLedgerOptions{});
    lane = std::make_unique<StepLane>(*ledger, clock);
    engine = std::make_unique<Engine>(
        EngineDeps{clock, *log, broker, *lane, transport, watch},
        EngineOptions{.ledger_id = "L", .secret = std::string(32, 's'), .seed = 1},
        std::vector<ClassPolicy>{std::move(policy)}, std::vector<ProviderSlot>{slot_of(provider)});
  }
  void reload(ClassPolicy policy) { engine->reload({std::move(policy)}, {slot_of(provider)}); }
  static ProviderSlot slot_of(Provider& of, ProviderConfig config = {}) {
    config.name = "apns";
    return {.config = std::move(config), .provider = &of};
  }

  void step(int cycles = 4) {
    for (int i = 0; i < cycles; ++i) {
      engine->poll(Duration::zero());
      clock.advance(milliseconds(1));
    }
  }
  void wait(Duration d) {
    for (Duration passed{0}; passed < d; passed += milliseconds(500)) {
      clock.advance(milliseconds(500));
      engine->poll(Duration::zero());
    }
    step();
  }

  Message message(std::uint64_t seq, const std::string& targets, const std::string& event = "e1",
                  const std::string& body = "hello") {
    Message m;
    m.seq = StreamSeq(seq);
    m.stored_at = clock.wall();
    m.incarnation = 1;
    m.subject = "notify.otp.x";
    m.reply = "reply." + std::to_string(seq);
    m.body = R"({"event_id":")" + event + R"(","recipient":"u1","channel":"push","template":"t",)" +
             R"("notification":{"title":"T","body":")" + body + R"("},"targets":[)" + targets +
             "]}";
    return m;
  }
  void arrive(Message m) {
    broker.arriving.push_back(std::move(m));
    step();
  }
  static std::string token(const std::string& t) {
    return R"({"provider":"apns","token":")" + t + R"("})";
  }
  ClassCounters counters() const { return engine->report().classes[0].counters; }

  FakeClock clock{};
  std::unique_ptr<Log> log = make_null_log();
  AttemptWatch* watch = nullptr;
  FakeBroker broker{};
  FakeTransport transport{};
  FakeProvider provider{};
  MemoryDisk disk{};
  std::unique_ptr<MemoryLedger> ledger{};
  std::unique_ptr<StepLane> lane{};
  std::unique_ptr<Engine> engine{};
};

}  // namespace sendonce::test
