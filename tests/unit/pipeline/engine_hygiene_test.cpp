// What becomes of devices by the word of their provider.
#include <string>
#include <vector>

#include "plugin/core/text.hpp"
#include "tests/unit/pipeline/engine_fixture.hpp"

namespace sendonce::test {
namespace {

class NotedLog final : public Log {
 public:
  explicit NotedLog(std::vector<std::string>& events) : events_(&events) {}
  [[nodiscard]] bool enabled(Level) const override { return true; }
  void write(Level level, std::string_view event, std::span<const Field>) override {
    if (level == Level::error || event.ends_with("_over") || event.ends_with("_resumed"))
      events_->emplace_back(event);
  }

 private:
  std::vector<std::string>* events_;
};

class HygieneTest : public EngineTest {
 protected:
  void SetUp() override {
    log = std::make_unique<NotedLog>(noted);
    transport.room = 1000;
    start(AmbiguityPolicy::give_up);
  }
  // One message to one device, and the answer to it. False: no call was made.
  bool sent(const std::string& device, int status) {
    const std::string n = std::to_string(++sent_);
    transport.rooms = {{"a", 10}, {"b", 10}};
    arrive(message(sent_, token(device), "e" + n));
    if (transport.open.empty()) return false;
    transport.answer_status(status);
    step();
    return true;
  }
  void send_all(const std::string& prefix, int many, int status) {
    for (int i = 0; i < many; ++i) EXPECT_TRUE(sent(prefix + std::to_string(i), status));
  }
  std::size_t told(const std::string& change) const {
    std::size_t n = 0;
    for (const auto& [ticket, p] : broker.published) {
      if (!p.subject.starts_with("sendonce.device.") || !p.subject.ends_with(change)) continue;
      for (std::size_t at = p.body.find("dev.sendonce.device"); at != std::string::npos;
           at = p.body.find("dev.sendonce.device", at + 1))
        ++n;
    }
    return n;
  }
  ProviderReport of_provider() const { return engine->report().providers[0]; }
  void settle_events() { wait(seconds(2)); }

  std::vector<std::string> noted{};

 private:
  std::uint64_t sent_ = 0;
};

TEST_F(HygieneTest, AMismatchMarksItsDeviceAndSuppressesNothing) {
  EXPECT_TRUE(sent("aa", 406));
  settle_events();
  EXPECT_EQ(told("mismatch"), 1U);
  EXPECT_EQ(told("invalid"), 0U);
  EXPECT_TRUE(sent("aa", 406)) << "it is tried again with the next notification";
  settle_events();
  EXPECT_EQ(told("mismatch"), 1U) << "known already";
  EXPECT_TRUE(sent("aa", 410));
  settle_events();
  EXPECT_EQ(told("invalid"), 1U);
  EXPECT_FALSE(sent("aa", 200));
}

TEST_F(HygieneTest, AMassOfMismatchesAlarmsOnce) {
  send_all("t", 60, 451);  // nothing has been accepted yet
  settle_events();
  EXPECT_EQ(noted, std::vector<std::string>{"provider.mismatches"});
  EXPECT_EQ(told("mismatch"), 19U);
  EXPECT_EQ(told("invalid"), 0U);
  EXPECT_TRUE(of_provider().mismatches);
  EXPECT_FALSE(of_provider().invalidations_held);
  EXPECT_EQ(of_provider().counters.mismatches_withheld, 41U);
  send_all("t", 60, 200);  // the right key, and the devices are as good as ever
  send_all("u", 200, 200);
  EXPECT_EQ(noted, (std::vector<std::string>{"provider.mismatches", "provider.mismatches_over"}));
  EXPECT_FALSE(of_provider().mismatches);
}

// The answer is about those who were registered when the question was asked.
TEST_F(HygieneTest, WhoRegistersWhileTheCallIsUnderWayIsNotSuppressed) {
  const WallTime called = clock.wall();
  arrive(message(100, token("aa"), "first"));
  ASSERT_EQ(transport.open.size(), 1U);
  wait(seconds(10));
  transport.answer_status(410);
  step();
  const auto at = [&](WallTime when) {
    return R"({"provider":"apns","token":"aa","registered_at":")" + rfc3339(when) + R"("})";
  };
  arrive(message(101, at(called - seconds(5)), "second"));
  EXPECT_EQ(transport.open.size(), 0U);
  EXPECT_EQ(counters().suppressed, 1U);
  arrive(message(102, at(called + seconds(5)), "third"));
  EXPECT_EQ(transport.open.size(), 1U);
}

// Of push services, which are origins of their own, and of receivers whose URL comes with the
// target.
class HygieneOfOriginsTest : public HygieneTest, public testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    provider.caps.many_origins = GetParam();
    provider.many_receivers = !GetParam();
    HygieneTest::SetUp();
  }
};

INSTANTIATE_TEST_SUITE_P(Both, HygieneOfOriginsTest, testing::Bool());

TEST_P(HygieneOfOriginsTest, WhatOneAcceptsProvesNothingAtAnother) {
  send_all("a/", 100, 200);
  send_all("b/", 5, 451);
  settle_events();
  EXPECT_EQ(told("invalid"), 0U);
  EXPECT_EQ(told("mismatch"), 5U);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(sent("b/" + std::to_string(i), 200)) << "not suppressed";
  EXPECT_TRUE(sent("b/dead", 451));
  settle_events();
  EXPECT_EQ(told("invalid"), 1U) << "proven now";
}

// The good traffic of a large service does not hide that a small one calls everybody dead.
TEST_P(HygieneOfOriginsTest, TheBrakeIsEachOnesOwn) {
  send_all("a/", 200, 200);
  send_all("b/", 40, 410);
  settle_events();
  EXPECT_EQ(told("invalid"), 19U);
  EXPECT_EQ(noted, std::vector<std::string>{"provider.invalidations_held"});
  EXPECT_TRUE(of_provider().invalidations_held);
  EXPECT_TRUE(sent("a/dead", 410));
  settle_events();
  EXPECT_EQ(told("invalid"), 20U) << "those of the other are believed";
}

}  // namespace
}  // namespace sendonce::test
