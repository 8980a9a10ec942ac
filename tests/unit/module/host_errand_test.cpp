#include "plugin/module/host_errand.hpp"

#include <future>
#include <new>
#include <thread>

#include <gtest/gtest.h>

namespace sendonce::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Serves until somebody has asked, as a host's loop does.
void serve_once(HostErrand& errand, const Result<void>& outcome) {
  while (!errand.serve([&] { return outcome; })) std::this_thread::yield();
}

TEST(HostErrand, WhoAsksLearnsWhatCameOfIt) {
  HostErrand errand;
  errand.open();
  for (const Result<void>& outcome :
       {Result<void>{}, Result<void>(fail(Errc::invalid, "line 7"))}) {
    auto asked = std::async(std::launch::async, [&] { return errand.ask(seconds(30)); });
    serve_once(errand, outcome);
    const Result<void> got = asked.get();
    ASSERT_EQ(got.has_value(), outcome.has_value());
    if (!got) {
      EXPECT_EQ(got.error().text, "line 7");
    }
  }
  EXPECT_FALSE(errand.serve([]() -> Result<void> {
    ADD_FAILURE() << "nobody asked";
    return {};
  }));
}

TEST(HostErrand, AnExceptionIsAnEndToo) {
  HostErrand errand;
  errand.open();
  auto asked = std::async(std::launch::async, [&] { return errand.ask(seconds(30)); });
  const auto serve = [&] {
    while (!errand.serve([]() -> Result<void> { throw std::bad_alloc(); }))
      std::this_thread::yield();
  };
  EXPECT_THROW(serve(), std::bad_alloc);
  EXPECT_FALSE(asked.get().has_value());
}

TEST(HostErrand, WithoutAHostNothingIsDone) {
  HostErrand errand;
  errand.open();
  const Result<void> got = errand.ask(milliseconds(1));
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().code, Errc::unavailable);
  EXPECT_FALSE(errand.serve([] { return Result<void>{}; })) << "it was withdrawn";
}

TEST(HostErrand, AStopLetsGoOfWhoWaits) {
  HostErrand errand;
  EXPECT_FALSE(errand.ask(seconds(30)).has_value()) << "not open yet";
  errand.open();
  std::promise<void> begun;
  auto asked = std::async(std::launch::async, [&] {
    begun.set_value();
    return errand.ask(std::chrono::hours(1));
  });
  begun.get_future().wait();
  errand.close();
  EXPECT_FALSE(asked.get().has_value());
  EXPECT_FALSE(errand.ask(std::chrono::hours(1)).has_value());
}

// An errand under way is waited for, whatever the patience and however the instance ends.
TEST(HostErrand, WhatHasBegunIsWaitedFor) {
  HostErrand errand;
  errand.open();
  auto asked = std::async(std::launch::async, [&] { return errand.ask(seconds(30)); });
  const auto work = [&]() -> Result<void> {
    errand.close();
    EXPECT_EQ(asked.wait_for(milliseconds(20)), std::future_status::timeout);
    return {};
  };
  while (!errand.serve(work)) std::this_thread::yield();
  EXPECT_TRUE(asked.get().has_value());
}

}  // namespace
}  // namespace sendonce::test
