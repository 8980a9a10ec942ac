// What others want done on the engine's thread: done in time, or not at all.
#include "plugin/module/engine_thread.hpp"

#include <atomic>
#include <future>

#include "tests/unit/pipeline/engine_fixture.hpp"

namespace sendonce::test {
namespace {

class EngineThreadTest : public EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    thread_ = std::make_unique<EngineThread>(*engine, transport, *real_);
    thread_->start();
  }
  void TearDown() override { thread_->stop(); }

  std::unique_ptr<Clock> real_ = make_system_clock();
  std::unique_ptr<EngineThread> thread_{};
};

TEST_F(EngineThreadTest, AJobIsDoneWhenItReturns) {
  int done = 0;
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(thread_->run([&](Engine&) { ++done; }, seconds(30)).has_value());
  EXPECT_EQ(done, 3);
}

// The admin thread must have its answer, and what it wanted must not happen behind its back.
TEST_F(EngineThreadTest, WhatIsNotReachedInTimeIsNeverDone) {
  std::promise<void> begun;
  std::promise<void> go_on;
  auto stuck = std::async(std::launch::async, [&] {
    for (;;) {  // until it is under way: a machine may be busy for longer than any patience
      auto done = thread_->run(
          [&](Engine&) {
            begun.set_value();
            go_on.get_future().wait();
          },
          milliseconds(1));
      if (done) return done;
    }
  });
  begun.get_future().wait();
  std::atomic<bool> ran{false};
  const auto late = thread_->run([&](Engine&) { ran = true; }, milliseconds(20));
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code, Errc::unavailable);
  go_on.set_value();
  EXPECT_TRUE(stuck.get().has_value()) << "it was under way: its end is waited for";
  ASSERT_TRUE(thread_->run([](Engine&) {}, seconds(30)).has_value()) << "it goes on";
  EXPECT_FALSE(ran);
}

TEST_F(EngineThreadTest, AQuestionToTheLedgerIsAnswered) {
  AuditEntry entry;
  entry.verb = "pause";
  const auto noted = thread_->ask(NoteAudit{entry}, seconds(30));
  ASSERT_TRUE(noted.has_value());
  EXPECT_TRUE(std::holds_alternative<AuditNoted>(*noted));
  EXPECT_EQ(disk.audit.size(), 1U);
}

}  // namespace
}  // namespace sendonce::test
