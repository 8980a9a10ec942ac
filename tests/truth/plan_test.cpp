#include "tests/truth/plan.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>

#include "tests/support/script.hpp"

namespace sendonce::truth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Options everything() {
  return {.kills = 20, .messages = 3'001, .faults = parse_faults("all").value(), .seed = 7};
}

TEST(TruthPlan, FaultsByName) {
  EXPECT_THAT(parse_faults("kill,5xx").value(), ElementsAre(Fault::kill, Fault::status_5xx));
  EXPECT_EQ(parse_faults("all").value().size(), kFaults.size());
  for (const char* bad : {"", "kil", "kill,", "kill,,5xx", "kill 5xx"}) {
    const auto parsed = parse_faults(bad);
    ASSERT_FALSE(parsed.has_value()) << bad;
    EXPECT_THAT(parsed.error().text, HasSubstr("crash-points"));
  }
}

TEST(TruthPlan, EachCrashPointOnceAndSoManyKills) {
  std::map<Fault, int> times;
  std::set<CrashPoint> points;
  std::uint32_t messages = 0;
  for (const Step& s : make_plan(everything())) {
    ++times[s.fault];
    messages += s.messages;
    EXPECT_LE(s.requests, s.messages);
    EXPECT_GE(s.passes, 1U);
    if (s.fault == Fault::crash_points) points.insert(s.point);
  }
  EXPECT_EQ(times[Fault::kill], 20);
  EXPECT_EQ(points.size(), kCrashPoints.size());
  EXPECT_EQ(times[Fault::crash_points], static_cast<int>(kCrashPoints.size()));
  for (const Fault f : {Fault::stop, Fault::nats, Fault::disk_full, Fault::clock})
    EXPECT_GE(times[f], 1) << name(f);
  EXPECT_EQ(messages, 3'001U);
}

TEST(TruthPlan, TheSeedDecidesTheOrder) {
  const auto order = [](std::uint64_t seed) {
    Options options = everything();
    options.seed = seed;
    std::vector<Fault> out;
    for (const Step& s : make_plan(options)) out.push_back(s.fault);
    return out;
  };
  EXPECT_EQ(order(7), order(7));
  EXPECT_NE(order(7), order(8));
}

TEST(TruthPlan, TheScriptsAreUnderstood) {
  for (const Fault fault : everything().faults) {
    const auto script = test::Script::parse(script_of({.faults = {fault}}), "script");
    EXPECT_TRUE(script.has_value()) << name(fault) << ": " << script.error().text;
  }
  const auto all = test::Script::parse(script_of(everything()), "script");
  EXPECT_TRUE(all.has_value());
}

TEST(TruthPlan, APolicyIsAClass) {
  EXPECT_THAT(classes_of({.policy = "give-up"}), testing::Not(HasSubstr("resend")));
  EXPECT_THAT(classes_of({.policy = "resend"}), testing::Not(HasSubstr("give-up")));
  EXPECT_THAT(classes_of({.policy = "both"}),
              testing::AllOf(HasSubstr("resend"), HasSubstr("give-up")));
}

}  // namespace
}  // namespace sendonce::truth
