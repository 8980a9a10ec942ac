#include "plugin/pipeline/holds.hpp"

#include <numeric>

#include <gtest/gtest.h>

#include "plugin/pipeline/dispatcher.hpp"
#include "plugin/pipeline/hygiene.hpp"
#include "plugin/pipeline/limiter.hpp"

namespace sendonce::test {
namespace {

using std::chrono::milliseconds, std::chrono::minutes, std::chrono::seconds;

constexpr MonoTime kStart{std::chrono::hours(1)};
constexpr LookupHash kUser{7};

Verdict of(Fault fault, FaultScope scope = FaultScope::provider) {
  return {.effect = Effect::not_sent, .fault = fault, .scope = scope, .reason = "r"};
}
Verdict fine() {
  return {.effect = Effect::sent, .fault = Fault::none};
}

TEST(Holds, AuthFaultHoldsAndIsProbedOnceWithGrowingPauses) {
  Holds h;
  EXPECT_TRUE(h.may_start("", kStart));
  EXPECT_TRUE(h.report(of(Fault::auth), "", kUser, kStart));
  EXPECT_FALSE(h.may_start("", kStart + seconds(4)));
  const auto probe = h.may_start("", kStart + seconds(5));
  ASSERT_TRUE(probe);
  EXPECT_FALSE(h.may_start("", kStart + seconds(5))) << "one probe at a time";
  EXPECT_FALSE(h.report(of(Fault::auth), "", kUser, kStart + seconds(6), *probe));
  EXPECT_FALSE(h.may_start("", kStart + seconds(15)));
  EXPECT_TRUE(h.may_start("", kStart + seconds(16)));
}

// It was too late for the probe to start: that proves nothing about the provider.
TEST(Holds, WhatWeDidOurselvesClosesNoHold) {
  Holds h;
  h.report(of(Fault::auth), "", kUser, kStart);
  const auto probe = h.may_start("", kStart + seconds(5));
  ASSERT_TRUE(probe);
  h.report(of(Fault::none), "", kUser, kStart + seconds(6), *probe);
  EXPECT_TRUE(h.held(kStart + seconds(6)));
  EXPECT_TRUE(h.may_start("", kStart + seconds(30))) << "the probe is given back";
}

TEST(Holds, ALateVerdictOfTheSameFaultDoesNotStretchTheHold) {
  Holds h;
  h.report(of(Fault::auth), "", kUser, kStart);
  h.report(of(Fault::auth), "", kUser, kStart + seconds(3));
  EXPECT_TRUE(h.may_start("", kStart + seconds(5)));
}

// ---- a provider that names a time is not asked before it --------------------------------------

Verdict asked_to_wait(Fault fault, Duration wait) {
  Verdict v = of(fault);
  v.retry_after = wait;
  return v;
}

TEST(Holds, ATimeThatAFaultNamesIsWaitedFor) {
  Holds h;
  h.report(asked_to_wait(Fault::auth, minutes(20)), "", kUser, kStart);
  EXPECT_FALSE(h.may_start("", kStart + minutes(19)));
  const auto probe = h.may_start("", kStart + minutes(20));
  ASSERT_TRUE(probe);
  h.report(asked_to_wait(Fault::auth, minutes(10)), "", kUser, kStart + minutes(20), *probe);
  EXPECT_FALSE(h.may_start("", kStart + minutes(29)));
  h.renewed(kStart + minutes(29));
  EXPECT_TRUE(h.may_start("", kStart + minutes(29))) << "it was said of another credential";
}

TEST(Holds, AnOutageThatIsToLastForHoursIsAHold) {
  Holds h;
  EXPECT_TRUE(h.report(asked_to_wait(Fault::provider, minutes(90)), "", kUser, kStart));
  EXPECT_FALSE(h.may_start("", kStart + minutes(89)));
  EXPECT_TRUE(h.may_start("", kStart + minutes(90)));
}

TEST(Holds, AFaultDoesNotEndAThrottle) {
  Holds h;
  h.report(asked_to_wait(Fault::throttle, minutes(60)), "", kUser, kStart);
  h.report(of(Fault::auth), "", kUser, kStart + seconds(1));  // it was under way
  EXPECT_FALSE(h.may_start("", kStart + minutes(59)));
  h.renewed(kStart + minutes(59));
  EXPECT_FALSE(h.may_start("", kStart + minutes(59))) << "whose credential it is does not matter";
  EXPECT_TRUE(h.may_start("", kStart + minutes(60)));
}

TEST(Holds, AProbeThatIsThrottledIsTheLastForAsLong) {
  Holds h;
  h.report(of(Fault::auth), "", kUser, kStart);
  const auto probe = h.may_start("", kStart + seconds(5));
  ASSERT_TRUE(probe);
  h.report(asked_to_wait(Fault::throttle, minutes(60)), "", kUser, kStart + seconds(5), *probe);
  EXPECT_FALSE(h.may_start("", kStart + minutes(59)));
  EXPECT_TRUE(h.may_start("", kStart + minutes(61)));
}

TEST(Holds, WhatEndsTheFaultLeavesTheThrottle) {
  Holds h;
  h.report(asked_to_wait(Fault::throttle, minutes(60)), "", kUser, kStart);
  h.report(of(Fault::auth), "", kUser, kStart + seconds(1));
  h.report(fine(), "", kUser, kStart + seconds(2));  // it was under way, too
  EXPECT_FALSE(h.may_start("", kStart + minutes(59)));
  EXPECT_TRUE(h.may_start("", kStart + minutes(60)));
  EXPECT_FALSE(h.held(kStart + minutes(60)));
}

TEST(Holds, ANewConfigurationEndsALongThrottleUnderAFault) {
  Holds h;
  h.report(asked_to_wait(Fault::throttle, minutes(90)), "", kUser, kStart);
  h.report(of(Fault::auth), "", kUser, kStart + seconds(1));
  h.reloaded(kStart + seconds(2));
  EXPECT_TRUE(h.may_start("", kStart + seconds(2)));
}

// A module may make a name of each answer, a browser one of each subscription.
TEST(Holds, PartsAreBounded) {
  Holds h;
  const auto part_of = [](Fault fault, int i) {
    Verdict v = of(fault, FaultScope::part);
    v.part = "p" + std::to_string(i);
    v.retry_after = seconds(1);
    return v;
  };
  for (int i = 0; i < 1'000; ++i) h.report(part_of(Fault::config, i), "", kUser, kStart);
  EXPECT_EQ(h.all().size(), 256U);
  h.report(of(Fault::auth), "", kUser, kStart);
  EXPECT_TRUE(h.held(kStart)) << "the provider itself always has room";
  Holds slow;
  for (int i = 0; i < 1'000; ++i)
    slow.report(part_of(Fault::throttle, i), "", kUser, kStart + minutes(i));
  EXPECT_LE(slow.all().size(), 256U);
}

TEST(Holds, AGoodAnswerReleases) {
  Holds h;
  h.report(of(Fault::auth), "", kUser, kStart);
  EXPECT_TRUE(h.may_start("", kStart + seconds(5)));
  h.report(fine(), "", kUser, kStart + seconds(5));
  EXPECT_TRUE(h.all().empty());
  EXPECT_TRUE(h.may_start("", kStart + seconds(5)));
}

TEST(Holds, RenewedProbesAtOnce) {
  Holds h;
  h.report(of(Fault::auth), "", kUser, kStart);
  h.renewed(kStart + milliseconds(1));
  EXPECT_TRUE(h.may_start("", kStart + milliseconds(1)));
}

TEST(Holds, AProbeThatCameToNothingIsRepeated) {
  Holds h;
  h.report(of(Fault::auth), "", kUser, kStart);
  const auto probe = h.may_start("", kStart + seconds(5));
  ASSERT_TRUE(probe);
  h.probe_lost(*probe, kStart + seconds(5));
  EXPECT_FALSE(h.may_start("", kStart + seconds(9)));
  EXPECT_TRUE(h.may_start("", kStart + seconds(10)));
}

// Whoever reloads may know better than a Retry-After of a week; one of seconds is left alone.
TEST(Holds, AReloadEndsLongThrottles) {
  const auto throttled = [](Duration retry_after) {
    Verdict verdict = of(Fault::throttle);
    verdict.retry_after = retry_after;
    Holds h;
    h.report(verdict, "", kUser, kStart);
    h.renewed(kStart + seconds(1));
    EXPECT_FALSE(h.may_start("", kStart + seconds(1))) << "a new credential changes no rate";
    h.reloaded(kStart + seconds(1));
    return !h.may_start("", kStart + seconds(1));
  };
  EXPECT_TRUE(throttled(seconds(30)));
  EXPECT_FALSE(throttled(std::chrono::hours(24 * 7)));
}

TEST(Holds, AProbeThatWasNotUsedIsStillDue) {
  Holds h;
  h.report(of(Fault::auth), "", kUser, kStart);
  const auto probe = h.may_start("", kStart + seconds(5));
  ASSERT_TRUE(probe);
  EXPECT_FALSE(h.may_start("", kStart + seconds(5)));
  h.probe_unused(*probe);
  EXPECT_EQ(h.next_change(), kStart + seconds(5));
  EXPECT_TRUE(h.may_start("", kStart + seconds(5)));
}

TEST(Holds, WhatIsNoProbeDoesNotEndOne) {
  Holds h;
  const auto early = h.may_start("", kStart);
  ASSERT_TRUE(early);
  h.report(of(Fault::auth), "", kUser, kStart);
  const auto probe = h.may_start("", kStart + seconds(5));
  ASSERT_TRUE(probe);
  // A call that began before the hold, and one that ended before its call.
  h.report(of(Fault::auth), "", kUser, kStart + seconds(6), *early);
  h.report(of(Fault::provider, FaultScope::delivery), "", kUser, kStart + seconds(6), *early);
  h.probe_lost(*early, kStart + seconds(6));
  EXPECT_FALSE(h.may_start("", kStart + seconds(30))) << "the probe is still out";
  h.report(of(Fault::auth), "", kUser, kStart + seconds(30), *probe);
  EXPECT_FALSE(h.may_start("", kStart + seconds(39)));
  EXPECT_TRUE(h.may_start("", kStart + seconds(40))) << "doubled once, by the probe";
}

TEST(Holds, AProbeFromBeforeARenewalSaysNothingAboutTheNew) {
  Holds h;
  h.report(of(Fault::auth), "", kUser, kStart);
  const auto old = h.may_start("", kStart + seconds(5));
  h.renewed(kStart + seconds(6));
  const auto fresh = h.may_start("", kStart + seconds(6));
  ASSERT_TRUE(old && fresh);
  h.report(of(Fault::auth), "", kUser, kStart + seconds(7), *old);
  EXPECT_FALSE(h.may_start("", kStart + seconds(30))) << "the new credential's probe is out";
  h.report(fine(), "", kUser, kStart + seconds(30), *fresh);
  EXPECT_TRUE(h.all().empty());
}

TEST(Holds, APartHoldsOnlyItself) {
  Holds h;
  Verdict v = of(Fault::config, FaultScope::part);
  v.part = "apns";
  h.report(v, "apns", kUser, kStart);
  EXPECT_TRUE(h.may_start("", kStart));
  EXPECT_FALSE(h.may_start("apns", kStart));
  EXPECT_FALSE(h.held(kStart));
  h.report(fine(), "", kUser, kStart);
  EXPECT_FALSE(h.may_start("apns", kStart)) << "another delivery's success proves nothing here";
}

TEST(Holds, ConfigFaultOfThreeRecipientsWithinAMinuteHolds) {
  Holds h;
  const Verdict v = of(Fault::config, FaultScope::delivery);
  EXPECT_FALSE(h.report(v, "", LookupHash(1), kStart));
  EXPECT_FALSE(h.report(v, "", LookupHash(1), kStart));
  EXPECT_FALSE(h.report(v, "", LookupHash(2), kStart + seconds(1)));
  EXPECT_TRUE(h.report(v, "", LookupHash(3), kStart + seconds(2)));
  Holds slow;
  EXPECT_FALSE(slow.report(v, "", LookupHash(1), kStart));
  EXPECT_FALSE(slow.report(v, "", LookupHash(2), kStart + minutes(2)));
  EXPECT_FALSE(slow.report(v, "", LookupHash(3), kStart + minutes(4)));
}

// Of a provider with many receivers: what one of them answers holds nobody else.
TEST(Holds, ANarrowFaultHoldsNoMoreThanItsOwnPart) {
  Holds h;
  const Verdict config = of(Fault::config, FaultScope::delivery);
  for (const std::uint64_t user : {1U, 2U, 3U}) h.report(config, "a", LookupHash(user), kStart);
  EXPECT_FALSE(h.may_start("a", kStart));
  EXPECT_TRUE(h.may_start("b", kStart));
  Holds spread;
  EXPECT_FALSE(spread.report(config, "a", LookupHash(1), kStart));
  EXPECT_FALSE(spread.report(config, "b", LookupHash(2), kStart));
  EXPECT_FALSE(spread.report(config, "c", LookupHash(3), kStart)) << "one each";
  Holds auth;
  auth.report(of(Fault::auth, FaultScope::delivery), "a", kUser, kStart);
  EXPECT_FALSE(auth.may_start("a", kStart));
  EXPECT_TRUE(auth.may_start("b", kStart));
}

TEST(Holds, ThrottleEndsByItself) {
  Holds h;
  Verdict v = of(Fault::throttle);
  v.retry_after = seconds(30);
  h.report(v, "", kUser, kStart);
  EXPECT_FALSE(h.may_start("", kStart + seconds(29)));
  EXPECT_TRUE(h.may_start("", kStart + seconds(30)));
  EXPECT_TRUE(h.may_start("", kStart + seconds(30)));
}

TEST(Holds, ThrottleOfOneDeviceSlowsNobodyElse) {
  Holds h;
  h.report(of(Fault::throttle, FaultScope::device), "", kUser, kStart);
  EXPECT_TRUE(h.may_start("", kStart));
}

TEST(Holds, BreakerOpensAfterFaultsInARow) {
  Holds h({.breaker_open_after = 3});
  const Verdict v = of(Fault::provider, FaultScope::delivery);
  EXPECT_FALSE(h.report(v, "", kUser, kStart));
  EXPECT_FALSE(h.report(v, "", kUser, kStart + milliseconds(1)));
  h.report(fine(), "", kUser, kStart + milliseconds(1));
  EXPECT_FALSE(h.report(v, "", kUser, kStart + milliseconds(2)));
  EXPECT_FALSE(h.report(v, "", kUser, kStart + milliseconds(3)));
  EXPECT_TRUE(h.report(v, "", kUser, kStart + milliseconds(4)));
  EXPECT_FALSE(h.may_start("", kStart + milliseconds(4)));
}

// One push service of several that is down: the others go on, and their answers mend nothing there.
TEST(Holds, ABreakerOpensForThePartThatItsFaultsName) {
  Holds h({.breaker_open_after = 3});
  Verdict down = of(Fault::provider, FaultScope::delivery);
  down.part = "a";
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(h.may_start("a", kStart + milliseconds(i)));
    h.report(down, "a", kUser, kStart + milliseconds(i));
    h.report(fine(), "b", kUser, kStart + milliseconds(i));
  }
  EXPECT_FALSE(h.may_start("a", kStart + seconds(1)));
  EXPECT_TRUE(h.may_start("b", kStart + seconds(1)));
  EXPECT_FALSE(h.held(kStart + seconds(1)));
  const auto probe = h.may_start("a", kStart + seconds(6));
  ASSERT_TRUE(probe);
  h.report(fine(), "a", kUser, kStart + seconds(6), *probe);
  EXPECT_TRUE(h.may_start("a", kStart + seconds(7)));
}

TEST(Holds, CallsLostWithOneConnectionAreOneFault) {
  Holds h({.breaker_open_after = 3});
  const Verdict lost = of(Fault::provider, FaultScope::delivery);
  for (int call = 0; call < 100; ++call) h.report(lost, "", kUser, kStart);
  EXPECT_TRUE(h.may_start("", kStart));
  for (int call = 0; call < 100; ++call) h.report(lost, "", kUser, kStart + seconds(1));
  EXPECT_TRUE(h.may_start("", kStart + seconds(1)));
  h.report(lost, "", kUser, kStart + seconds(2));
  EXPECT_FALSE(h.may_start("", kStart + seconds(2)));
}

TEST(Limiter, GivesOneSecondsBurstAndThenItsRate) {
  Limiter l(10);
  int taken = 0;
  for (; l.allows(kStart); ++taken) l.take();
  EXPECT_EQ(taken, 10);
  EXPECT_EQ(l.next(kStart), kStart + milliseconds(100));
  EXPECT_TRUE(l.allows(kStart + milliseconds(100)));
  EXPECT_TRUE(Limiter(0).allows(kStart));
}

TEST(Hygiene, UnprovenBadTokenIsAMismatch) {
  Hygiene h;
  Verdict v{
      .name = VerdictClass::token_terminal, .effect = Effect::not_sent, .fault = Fault::device};
  v.needs_proof = true;
  EXPECT_EQ(h.weigh(v).fault, Fault::mismatch);
  EXPECT_EQ(h.weigh(v).name, VerdictClass::token_mismatch);
  EXPECT_FALSE(h.believes(fine(), Target{}));
  EXPECT_EQ(h.weigh(v).fault, Fault::device);
  EXPECT_TRUE(h.believes(v, Target{}));
}

TEST(Hygiene, AFaultOlderThanTheRegistrationIsIgnored) {
  Hygiene h;
  Verdict v{.effect = Effect::not_sent, .fault = Fault::device};
  v.invalid_since = WallTime(seconds(100));
  Target t;
  t.registered_at = WallTime(seconds(101));
  EXPECT_FALSE(h.believes(v, t));
  t.registered_at = WallTime(seconds(99));
  EXPECT_TRUE(h.believes(v, t));
}

// docs/guarantees.md has the numbers.
TEST(Hygiene, NoMoreThanFortyOfTwoHundredAnswersEndADevice) {
  const Verdict dead{.effect = Effect::not_sent, .fault = Fault::device};
  const auto believed = [&](Hygiene& h, int answers) {
    int n = 0;
    for (int i = 0; i < answers; ++i) n += h.believes(dead, Target{}) ? 1 : 0;
    return n;
  };
  Hygiene fresh;
  EXPECT_EQ(believed(fresh, 10'000), 19);
  for (const int accepted : {200, 201, 5'000}) {
    Hygiene h;
    for (int i = 0; i < accepted; ++i) EXPECT_FALSE(h.believes(fine(), Target{}));
    EXPECT_EQ(believed(h, 10'000), 40) << accepted;
  }
  // However they are mixed.
  for (int share = 2; share < 200; ++share) {
    Hygiene h;
    std::vector<int> news;
    for (int i = 0; i < 2'000; ++i)
      news.push_back(h.believes(i % 200 < share ? dead : fine(), Target{}) ? 1 : 0);
    for (std::size_t from = 0; from + 200 <= news.size(); ++from)
      EXPECT_LE(std::accumulate(news.begin() + static_cast<std::ptrdiff_t>(from),
                                news.begin() + static_cast<std::ptrdiff_t>(from + 200), 0),
                40)
          << share;
  }
}

TEST(Hygiene, AMassOfMismatchesIsAnAlarmAndMarksNobody) {
  Hygiene h;
  const Verdict other{.effect = Effect::not_sent, .fault = Fault::mismatch};
  int marked = 0;
  for (int i = 0; i < 300; ++i) marked += h.believes(other, Target{}) ? 1 : 0;
  EXPECT_EQ(marked, 19);
  EXPECT_TRUE(h.mismatches());
  EXPECT_FALSE(h.breaker_open()) << "no device is ended, and none kept from it";
  for (int i = 0; i < 200; ++i) EXPECT_FALSE(h.believes(fine(), Target{}));
  EXPECT_FALSE(h.mismatches());
  EXPECT_TRUE(h.believes(other, Target{}));
}

TEST(Hygiene, OfOnePartProvesNothingOfAnother) {
  HygieneOfParts parts;
  Verdict v{
      .name = VerdictClass::token_terminal, .effect = Effect::not_sent, .fault = Fault::device};
  v.needs_proof = true;
  for (int i = 0; i < 200; ++i) EXPECT_FALSE(parts.of("a").believes(fine(), Target{}));
  EXPECT_EQ(parts.of("a").weigh(v).fault, Fault::device);
  EXPECT_EQ(parts.of("b").weigh(v).fault, Fault::mismatch);
  v.needs_proof = false;
  int believed = 0;
  for (int i = 0; i < 30; ++i) believed += parts.of("b").believes(v, Target{}) ? 1 : 0;
  EXPECT_EQ(believed, 19);
  EXPECT_TRUE(parts.breaker_open());
  EXPECT_FALSE(parts.of("a").breaker_open());
  v.needs_proof = true;
  parts.forget_proof();
  EXPECT_EQ(parts.of("a").weigh(v).fault, Fault::mismatch);
  for (std::size_t i = 0; i < 2 * HygieneOfParts::kPartsMax; ++i)
    static_cast<void>(parts.of("p" + std::to_string(i)));
  EXPECT_EQ(parts.size(), HygieneOfParts::kPartsMax);
}

TEST(Hygiene, BreakerHoldsMassInvalidation) {
  Hygiene h;
  const Verdict dead{.effect = Effect::not_sent, .fault = Fault::device};
  for (int i = 0; i < 200; ++i) EXPECT_FALSE(h.believes(fine(), Target{}));
  int published = 0;
  for (int i = 0; i < 100; ++i) published += h.believes(dead, Target{}) ? 1 : 0;
  EXPECT_TRUE(h.breaker_open());
  EXPECT_LE(published, 41);
  for (int i = 0; i < 200; ++i) EXPECT_FALSE(h.believes(fine(), Target{}));
  EXPECT_FALSE(h.breaker_open());
}

std::vector<ClassPolicy> two_classes() {
  std::vector<ClassPolicy> c(2);
  c[1].config.priority = Priority::high;
  return c;
}

TEST(Dispatcher, HighPriorityGoesFirstButStarvesNobody) {
  Dispatcher d(two_classes());
  for (std::uint64_t i = 0; i < 8; ++i) d.push(ClassIndex(0), Ticket(i));
  for (std::uint64_t i = 100; i < 108; ++i) d.push(ClassIndex(1), Ticket(i));
  int high = 0;
  for (int i = 0; i < 8; ++i) high += d.pop(false)->get() >= 100 ? 1 : 0;
  EXPECT_EQ(high, 6);
}

TEST(Dispatcher, TheLastQuarterIsForHighPriority) {
  Dispatcher d(two_classes());
  d.push(ClassIndex(0), Ticket(1));
  EXPECT_FALSE(d.pop(true).has_value());
  d.push(ClassIndex(1), Ticket(2));
  EXPECT_EQ(d.pop(true)->get(), 2U);
  EXPECT_EQ(d.size(), 1U);
}

}  // namespace
}  // namespace sendonce::test
