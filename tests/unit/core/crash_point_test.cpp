#include "plugin/core/crash_point.hpp"

#include <csignal>
#include <cstdlib>
#include <set>

#include <gtest/gtest.h>
#include <unistd.h>

namespace sendonce {
namespace {

TEST(CrashPoint, TheNamesDiffer) {
  const std::set<std::string_view> names(kCrashPoints.begin(), kCrashPoints.end());
  EXPECT_EQ(names.size(), kCrashPoints.size());
}

#ifdef SENDONCE_CRASH_POINTS

// In a process of its own, which has not passed a point yet.
[[noreturn]] void pass(const char* plan, CrashPoint point, int times) {
  if (plan != nullptr) ::setenv("SENDONCE_CRASH_AT", plan, 1);
  for (int i = 0; i < times; ++i) {
    crash_point(CrashPoint::ack_due);
    crash_point(point);
  }
  ::_exit(0);
}

TEST(CrashPointDeathTest, KillsAtTheNamedPointAlone) {
  EXPECT_EXIT(pass("commit-done", CrashPoint::commit_done, 1), testing::KilledBySignal(SIGKILL),
              "");
  EXPECT_EXIT(pass("commit-done", CrashPoint::commit_begun, 3), testing::ExitedWithCode(0), "");
}

TEST(CrashPointDeathTest, CountsThePasses) {
  EXPECT_EXIT(pass("commit-done:3", CrashPoint::commit_done, 2), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(pass("commit-done:3", CrashPoint::commit_done, 3), testing::KilledBySignal(SIGKILL),
              "");
}

TEST(CrashPointDeathTest, WithoutAPlanNothingHappens) {
  EXPECT_EXIT(pass(nullptr, CrashPoint::commit_done, 3), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(pass("", CrashPoint::commit_done, 3), testing::ExitedWithCode(0), "");
}

TEST(CrashPointDeathTest, APlanThatIsNotUnderstoodIsRefused) {
  for (const char* plan : {"no-such-point", "commit-done:", "commit-done:0", "commit-done:2x"})
    EXPECT_EXIT(pass(plan, CrashPoint::commit_begun, 1), testing::KilledBySignal(SIGABRT),
                "SENDONCE_CRASH_AT")
        << plan;
}

#endif

}  // namespace
}  // namespace sendonce
