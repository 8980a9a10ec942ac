#include "plugin/pipeline/room.hpp"

#include <gmock/gmock.h>

namespace sendonce::test {
namespace {

using std::chrono::minutes, std::chrono::milliseconds;
using testing::HasSubstr;
using testing::IsEmpty;

const WallTime kNow{std::chrono::hours(1)};

std::string why(const LedgerStats& stats, std::string_view error = {}) {
  return why_no_room(stats, {.entries_max = 10, .age_max = minutes(10)}, error, kNow);
}

TEST(RoomRule, UpToItsLimitsThereIsRoom) {
  EXPECT_THAT(why({}), IsEmpty());
  EXPECT_THAT(why({.outbox_entries = 10, .outbox_oldest = kNow - minutes(10)}, "refused"),
              IsEmpty());
}

TEST(RoomRule, BeyondThemTheReasonHasTheCure) {
  LedgerStats stopped;
  stopped.claims_stopped = true;
  EXPECT_THAT(why(stopped), HasSubstr("nearly full"));
  EXPECT_THAT(why({.outbox_entries = 11}),
              testing::AllOf(HasSubstr("not being confirmed:"), HasSubstr("sendonce setup")));
  const LedgerStats old{.outbox_entries = 1, .outbox_oldest = kNow - minutes(10) - milliseconds(1)};
  EXPECT_THAT(why(old, "no stream"), HasSubstr("longer than 10 minutes (no stream): is the"));
}

}  // namespace
}  // namespace sendonce::test
