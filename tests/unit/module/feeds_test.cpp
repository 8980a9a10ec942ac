// Lines for people who follow the daemon: bounded, never waited for, told when some are lost.
#include "plugin/module/feeds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "plugin/core/text.hpp"
#include "plugin/module/host_events.hpp"
#include "tests/support/fake_clock.hpp"

namespace sendonce::test {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::size_t kMuch = 1 << 20;

class LineFeedTest : public testing::Test {
 protected:
  FakeClock clock_{};
  LineFeed feed_{clock_, {.lines = 3, .bytes = 100, .interest = seconds(10)}};
};

TEST_F(LineFeedTest, NothingIsKeptWhileNobodyReads) {
  EXPECT_FALSE(feed_.wanted());
  feed_.add("a");
  const auto first = feed_.read(std::nullopt, kMuch);
  EXPECT_TRUE(feed_.wanted());
  EXPECT_THAT(first.lines, IsEmpty()) << "it begins now";
  EXPECT_EQ(first.lost, 0U);
}

TEST_F(LineFeedTest, EachLineComesOnceAndInOrder) {
  auto page = feed_.read(std::nullopt, kMuch);
  feed_.add("a");
  feed_.add("b");
  page = feed_.read(page.next, kMuch);
  EXPECT_THAT(page.lines, ElementsAre("a", "b"));
  page = feed_.read(page.next, kMuch);
  EXPECT_THAT(page.lines, IsEmpty());
  feed_.add("c");
  page = feed_.read(page.next, kMuch);
  EXPECT_THAT(page.lines, ElementsAre("c"));
  EXPECT_EQ(page.lost, 0U);
}

TEST_F(LineFeedTest, WhoIsSlowIsToldHowManyHeHasLost) {
  const auto begin = feed_.read(std::nullopt, kMuch);
  for (const char* line : {"1", "2", "3", "4", "5"}) feed_.add(line);
  const auto page = feed_.read(begin.next, kMuch);
  EXPECT_EQ(page.lost, 2U);
  EXPECT_THAT(page.lines, ElementsAre("3", "4", "5"));
  EXPECT_EQ(feed_.read(page.next, kMuch).lost, 0U) << "once";
}

TEST_F(LineFeedTest, TwoReadersDoNotTakeEachOthersLines) {
  const auto begin = feed_.read(std::nullopt, kMuch);
  feed_.add("a");
  EXPECT_THAT(feed_.read(begin.next, kMuch).lines, ElementsAre("a"));
  EXPECT_THAT(feed_.read(begin.next, kMuch).lines, ElementsAre("a"));
}

TEST_F(LineFeedTest, ItsBytesAreBounded) {
  const auto begin = feed_.read(std::nullopt, kMuch);
  feed_.add(std::string(60, 'a'));
  feed_.add(std::string(60, 'b'));
  const auto page = feed_.read(begin.next, kMuch);
  EXPECT_EQ(page.lost, 1U);
  EXPECT_THAT(page.lines, ElementsAre(std::string(60, 'b')));
  feed_.add(std::string(500, 'c'));
  EXPECT_EQ(feed_.read(page.next, kMuch).lines.size(), 1U) << "one line in any case";
}

TEST_F(LineFeedTest, AnAnswerIsBoundedAndTheRestComesNext) {
  auto page = feed_.read(std::nullopt, kMuch);
  for (const char* line : {"aaaa", "bbbb", "cccc"}) feed_.add(line);
  page = feed_.read(page.next, 10);
  EXPECT_THAT(page.lines, ElementsAre("aaaa", "bbbb"));
  page = feed_.read(page.next, 1);
  EXPECT_THAT(page.lines, ElementsAre("cccc"));
  EXPECT_EQ(page.lost, 0U);
}

TEST_F(LineFeedTest, ItStopsWhenNobodyHasAskedForLong) {
  const auto begin = feed_.read(std::nullopt, kMuch);
  feed_.add("a");
  clock_.advance(seconds(11));
  feed_.add("b");
  EXPECT_FALSE(feed_.wanted());
  feed_.add("c");
  const auto page = feed_.read(begin.next, kMuch);
  EXPECT_THAT(page.lines, IsEmpty());
  EXPECT_GE(page.lost, 2U);
  EXPECT_TRUE(feed_.wanted());
}

TEST_F(LineFeedTest, ANumberOfAnotherLifeBeginsAnew) {
  const auto page = feed_.read(1'000'000, kMuch);
  EXPECT_EQ(page.lost, 0U);
  feed_.add("a");
  EXPECT_THAT(feed_.read(page.next, kMuch).lines, ElementsAre("a"));
}

// ---- what the lines say -------------------------------------------------------------------------

Json read(LineFeed& feed, const std::string& after) {
  AdminReply reply(std::size_t{1} << 20U);
  AdminRequest request{.verb = "tail_log"};
  if (!after.empty()) request.arguments.emplace_back("after", after);
  const auto done = read_feed(feed, request, reply);
  EXPECT_TRUE(done.has_value());
  return Json::parse(std::move(reply).finish(done).body);
}

TEST(AttemptFeed, TellsOfAnAttemptWithoutItsDestination) {
  const FakeClock clock;
  AttemptFeed feed(clock);
  const Json begin = read(feed.lines(), "");
  Key key;
  key.bytes.fill(0xab);
  const Verdict verdict{.name = VerdictClass::retryable,
                        .effect = Effect::not_sent,
                        .fault = Fault::provider,
                        .reason = "ServiceUnavailable\n\x01"};
  feed.settled({.at = WallTime(seconds(1'800'000'000)),
                .message_class = "orders",
                .provider = "apns",
                .trace_id = "",
                .key = key,
                .verdict = verdict,
                .attempts = 1,
                .state = State::waiting,
                .next_at = WallTime(seconds(1'800'000'005))});
  const Json line = read(feed.lines(), begin["next"].dump())["items"].at(0);
  EXPECT_EQ(line["class"], "orders");
  EXPECT_EQ(line["attempt"], 2);
  EXPECT_EQ(line["verdict"], "retryable");
  EXPECT_EQ(line["state"], "waiting");
  EXPECT_EQ(line["next_at"], "2027-01-15T08:00:05.000Z");
  EXPECT_EQ(line["key"], hex(key.view()));
  EXPECT_EQ(line["reason"].get<std::string>().find('\n'), std::string::npos);
  EXPECT_FALSE(line.contains("fenced"));
  EXPECT_FALSE(line.contains("trace_id"));
}

TEST(LogFeed, HasWhatIsLoggedAndNothingBelowItsLevel) {
  const FakeClock clock;
  sendonce_host host{};
  host.struct_size = sizeof host;
  host.flags = SENDONCE_HOST_LOG_WARN;
  host.log = [](void*, const sendonce_log_event*) {};
  HostEvents events(host, clock);
  const Json begin = read(events.feed(), "");
  events.warn("provider.held", {{"provider", "apns"}, {"reason", "\"x\""}});
  events.info("too.low");
  const Json page = read(events.feed(), begin["next"].dump());
  ASSERT_EQ(page["items"].size(), 1U);
  EXPECT_EQ(page["items"][0]["event"], "provider.held");
  EXPECT_EQ(page["items"][0]["level"], "warn");
  EXPECT_EQ(page["items"][0]["fields"]["reason"], "\"x\"");
}

TEST(ReadFeed, RefusesWhatIsNoNumber) {
  const FakeClock clock;
  LineFeed feed(clock);
  for (const char* after : {"x", "-2", "1.5", ""}) {
    AdminReply reply(std::size_t{1} << 20U);
    const AdminRequest request{.verb = "tail_log", .arguments = {{"after", AdminValue(after)}}};
    EXPECT_FALSE(read_feed(feed, request, reply).has_value()) << after;
  }
}

}  // namespace
}  // namespace sendonce::test
