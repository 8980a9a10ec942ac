#include "plugin/cli/demo/tally.hpp"

#include <fstream>

#include <gmock/gmock.h>

#include "tests/support/temp_dir.hpp"

namespace sendonce::cli {
namespace {

// One delivery under a policy, how it ended, and the requests that the provider saw of it.
ClassTally count(const char* policy, State state, const std::vector<Seen>& seen) {
  Tally tally;
  tally.of("otp").policy = policy;
  tally.add_published("otp", {.token = "t", .ref = "r", .copies = 2});
  Row row;
  row.ref = "r";
  row.state = state;
  tally.add_row(row);
  for (const Seen& s : seen) tally.add_request("t", s);
  return tally.finish().front();
}

constexpr Seen kTaken{.status = 200, .accepted = true, .answered = true};
constexpr Seen kRefused{.status = 400, .refused = true, .answered = true};
constexpr Seen kFailed{.status = 503, .answered = true};

TEST(Tally, CountsWhatWasPublishedAndTaken) {
  const ClassTally c = count("resend", State::accepted, {kFailed, kTaken, kTaken});
  EXPECT_EQ(c.published, 2U);
  EXPECT_EQ(c.deliveries, 1U);
  EXPECT_EQ(c.suppressed_duplicates(), 1U);
  EXPECT_EQ(c.received, 3U);
  EXPECT_EQ(c.delivered, 1U);
  EXPECT_EQ(c.extra_copies, 1U);
  EXPECT_EQ(c.count(State::accepted), 1U);
}

TEST(Tally, MissingIsWhatTheLedgerPromisesAndTheProviderNeverTook) {
  for (const char* policy : {"give-up", "resend"}) {
    EXPECT_EQ(count(policy, State::accepted, {kTaken}).missing, 0U);
    EXPECT_EQ(count(policy, State::accepted, {}).missing, 1U);
    EXPECT_EQ(count(policy, State::accepted, {kRefused}).missing, 1U);
  }
  EXPECT_EQ(count("resend", State::unknown, {kFailed}).missing, 1U);
  EXPECT_EQ(count("resend", State::unknown, {}).missing, 1U);
  EXPECT_EQ(count("resend", State::unknown, {kRefused}).missing, 0U);
  EXPECT_EQ(count("give-up", State::unknown, {}).missing, 0U);
}

TEST(Tally, UnaccountedIsWhatHasNotEnded) {
  EXPECT_EQ(count("resend", State::waiting, {}).unaccounted, 1U);
  EXPECT_EQ(count("resend", State::failed, {kRefused}).unaccounted, 0U);
}

TEST(Tally, ReadsTheRecord) {
  const test::TempDir dir;
  const auto file = dir.write(
      "record.jsonl",
      R"({"time_ns":1000,"connection":3,"provider":"apns","destination":"t","ending":"answer","status":200,"delay_ms":0,"ends_connection":false,"accepted":true})"
      "\n"
      R"({"time_ns":2000,"connection":4,"provider":"apns","destination":"t","ending":"close","status":200,"delay_ms":0,"ends_connection":true,"accepted":true})"
      "\n"
      R"({"time_ns":3000,"connection":5,"provider":"fcm","destination":"t","ending":"answer","status":200,"delay_ms":1500,"ends_connection":false,"accepted":true})"
      "\n"
      R"({"time_ns":4000,"connection":5,"provider":"fcm","destination":"t","ending":"answer","status":404,"delay_ms":0,"ends_connection":false,"accepted":false})"
      "\n"
      R"({"time_ns":5000,"connection":5,"provider":"oauth","destination":"x","ending":"answer","status":200})"
      "\nno JSON\n");
  Tally tally;
  tally.add_published("otp", {.token = "t", .ref = "r"});
  read_record(file.string(), std::chrono::seconds(1), tally);
  const auto& seen = tally.deliveries().at("r").seen;
  ASSERT_EQ(seen.size(), 4U);
  EXPECT_TRUE(seen[0].answered);
  EXPECT_FALSE(seen[1].answered);
  EXPECT_FALSE(seen[2].answered) << "later than anybody waited for";
  EXPECT_TRUE(seen[3].refused);
  EXPECT_EQ(tally.ended_connections().size(), 1U);
  EXPECT_TRUE(tally.strangers().empty());
}

}  // namespace
}  // namespace sendonce::cli
