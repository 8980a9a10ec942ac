#include "plugin/cli/demo/tally.hpp"

#include <gmock/gmock.h>

namespace sendonce::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

enum class Witness : std::uint8_t { nothing, took_it, took_it_twice, failed, refused };

// One delivery: how it ended in the ledger, and what the provider saw of it.
std::vector<std::string> verdict(const char* policy, State state, Witness witness) {
  Tally tally;
  tally.of("otp").policy = policy;
  tally.add_published("otp", {.token = "t", .ref = "r"});
  Row row;
  row.ref = "r";
  row.state = state;
  tally.add_row(row);
  if (witness == Witness::failed || witness == Witness::refused)
    tally.add_record("t", false, witness == Witness::refused);
  if (witness == Witness::took_it || witness == Witness::took_it_twice)
    tally.add_record("t", true, false);
  if (witness == Witness::took_it_twice) tally.add_record("t", true, false);
  return broken_promises(tally.finish());
}

TEST(Tally, what_is_accepted_must_have_been_taken) {
  for (const char* policy : {"give-up", "resend"}) {
    EXPECT_THAT(verdict(policy, State::accepted, Witness::took_it), IsEmpty());
    EXPECT_THAT(verdict(policy, State::accepted, Witness::nothing),
                ElementsAre(HasSubstr("never arrived")));
    EXPECT_THAT(verdict(policy, State::accepted, Witness::refused),
                ElementsAre(HasSubstr("never arrived")));
  }
}

TEST(Tally, only_resend_may_send_twice) {
  EXPECT_THAT(verdict("give-up", State::accepted, Witness::took_it_twice),
              ElementsAre(HasSubstr("taken twice")));
  EXPECT_THAT(verdict("resend", State::accepted, Witness::took_it_twice), IsEmpty());
}

TEST(Tally, resend_leaves_unknown_only_what_was_taken_or_refused) {
  EXPECT_THAT(verdict("resend", State::unknown, Witness::took_it), IsEmpty());
  EXPECT_THAT(verdict("resend", State::unknown, Witness::refused), IsEmpty());
  EXPECT_THAT(verdict("resend", State::unknown, Witness::failed),
              ElementsAre(HasSubstr("never arrived")));
  EXPECT_THAT(verdict("resend", State::unknown, Witness::nothing),
              ElementsAre(HasSubstr("never arrived")));
  EXPECT_THAT(verdict("give-up", State::unknown, Witness::nothing), IsEmpty());
}

TEST(Tally, everything_ends) {
  EXPECT_THAT(verdict("give-up", State::waiting, Witness::nothing),
              ElementsAre(HasSubstr("not ended")));
}

}  // namespace
}  // namespace sendonce::cli
