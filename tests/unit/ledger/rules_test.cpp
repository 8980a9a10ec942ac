// The corners of the rules that the contract suite does not reach through a ledger.
#include "ledger/rules.hpp"

#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include "tests/contract/ledger_rig.hpp"

namespace sendonce::test {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr RuleContext kContext{.now = kNoon, .incarnation = Incarnation(2), .next_fence = Fence(9)};

Row claimed_row() {
  const ClaimDecision decision =
      decide_claim(std::nullopt, claim_of(1), Ticket(5), ClaimFacts{}, kContext);
  return decision.write.value_or(Row{});
}

TEST(DecideClaim, TakesTheNextFenceAndNothingElse) {
  const ClaimDecision decision =
      decide_claim(std::nullopt, claim_of(1), Ticket(5), ClaimFacts{}, kContext);
  ASSERT_TRUE(decision.write.has_value());
  EXPECT_TRUE(decision.fence_used);
  EXPECT_FALSE(decision.event);
  EXPECT_EQ(decision.write->fence, Fence(9));
  EXPECT_EQ(decision.write->lease_end, kNoon + seconds(30));
  EXPECT_EQ(decision.write->created, kNoon);
}

TEST(DecideClaim, TheSameTicketGetsTheSameFence) {
  const ClaimDecision again =
      decide_claim(claimed_row(), claim_of(1), Ticket(5), ClaimFacts{}, kContext);
  EXPECT_FALSE(again.write.has_value());
  EXPECT_FALSE(again.fence_used);
  EXPECT_EQ(std::get<Claimed>(again.reply).fence, Fence(9));
}

TEST(DecideClaim, TheSameTicketOfAnotherIncarnationIsStale) {
  RuleContext later = kContext;
  later.incarnation = Incarnation(3);
  later.next_fence = Fence(10);
  const ClaimDecision taken =
      decide_claim(claimed_row(), claim_of(1), Ticket(5), ClaimFacts{}, later);
  EXPECT_TRUE(std::get<Claimed>(taken.reply).taken_over);
  EXPECT_EQ(std::get<Claimed>(taken.reply).fence, Fence(10));
}

TEST(DecideClaim, BusyUntilTheLeaseEndsOrASecondFromNow) {
  RuleContext later = kContext;
  later.now = kNoon + seconds(29) + std::chrono::milliseconds(900);
  auto decision = decide_claim(claimed_row(), claim_of(1), Ticket(6), ClaimFacts{}, later);
  EXPECT_EQ(std::get<Busy>(decision.reply).until, kNoon + seconds(30));
  later.now = kNoon + seconds(30);
  decision = decide_claim(claimed_row(), claim_of(1), Ticket(6), ClaimFacts{}, later);
  EXPECT_EQ(std::get<Busy>(decision.reply).until, kNoon + seconds(31));
}

TEST(DecideClaim, StoppedClaimsStillAnswerWhatIsKnown) {
  const ClaimFacts stopped{
      .device = std::nullopt, .adopted_at = std::nullopt, .claims_stopped = true};
  auto decision = decide_claim(std::nullopt, claim_of(1), Ticket(5), stopped, kContext);
  EXPECT_TRUE(std::holds_alternative<Stopped>(decision.reply));
  EXPECT_FALSE(decision.write.has_value());

  decision = decide_claim(claimed_row(), claim_of(1), Ticket(5), stopped, kContext);
  EXPECT_TRUE(std::holds_alternative<Claimed>(decision.reply));  // it has that claim already
  decision = decide_claim(claimed_row(), claim_of(1), Ticket(6), stopped, kContext);
  EXPECT_TRUE(std::holds_alternative<Busy>(decision.reply));

  Row waiting = claimed_row();
  waiting.state = State::waiting;
  decision = decide_claim(waiting, claim_of(1), Ticket(6), stopped, kContext);
  EXPECT_TRUE(std::holds_alternative<Stopped>(decision.reply));
  waiting.effect = Effect::sent;
  decision = decide_claim(waiting, claim_of(1), Ticket(6), stopped, kContext);
  EXPECT_EQ(std::get<Done>(decision.reply).state, State::accepted);
  waiting.state = State::accepted;
  decision = decide_claim(waiting, claim_of(1), Ticket(6), stopped, kContext);
  EXPECT_TRUE(std::holds_alternative<Done>(decision.reply));
}

TEST(DecideClaim, ADeadDeviceOfAnAdoptedScopeIsUnknown) {
  ClaimRequest request = claim_of(1);
  request.device = DeviceClaim{};
  const ClaimFacts facts{
      .device =
          DeviceRow{.state = DeviceState::invalid, .since = kNoon, .registered_at = std::nullopt},
      .adopted_at = kNoon + seconds(1),
      .claims_stopped = false};
  const auto decision = decide_claim(std::nullopt, request, Ticket(5), facts, kContext);
  EXPECT_EQ(std::get<Done>(decision.reply).state, State::unknown);
  EXPECT_TRUE(decision.event);
}

TEST(DecideSettle, ProofsOfASendAreNeverDropped) {
  Row row = claimed_row();
  row.state = State::waiting;
  row.fence = Fence(100);
  for (std::uint64_t i = 1; i <= kReceiptsKept; ++i) {
    row.receipts.push_back({.at = kNoon,
                            .fence = Fence(i),
                            .verdict = VerdictClass::retryable,
                            .effect = Effect::not_sent,
                            .message_id = ""});
  }
  row.receipts[2].effect = Effect::sent;
  row.receipts[3].effect = Effect::maybe_sent;
  row.receipts[3].verdict = VerdictClass::accepted;  // a 2xx without its receipt
  row.effect = Effect::sent;
  for (std::uint64_t i = 50; i < 90; ++i) {
    const auto decision =
        decide_settle(row, settle_of(1, Fence(i), State::waiting, Effect::not_sent), kContext);
    ASSERT_TRUE(decision.write.has_value());
    row = *decision.write;
    ASSERT_LE(row.receipts.size(), kReceiptsKept);
  }
  EXPECT_EQ(std::ranges::count(row.receipts, Effect::sent, &Receipt::effect), 1);
  EXPECT_EQ(std::ranges::count(row.receipts, Effect::maybe_sent, &Receipt::effect), 1);
  EXPECT_EQ(row.receipts.back().fence, Fence(89));
}

TEST(DecideSettle, ALateProofForARowTheReaperEndedIsTaken) {
  Row row = claimed_row();
  RuleContext later = kContext;
  later.incarnation = Incarnation(3);
  later.now = row.deadline;
  const SweepDecision swept = decide_sweep(row, later.now, later);
  ASSERT_TRUE(swept.write.has_value());
  EXPECT_EQ(swept.write->state, State::unknown);
  const auto decision = decide_settle(std::optional(swept.write),
                                      settle_of(1, Fence(9), State::accepted, Effect::sent), later);
  EXPECT_TRUE(decision.reply.fenced);
  EXPECT_EQ(decision.reply.state, State::accepted);
  EXPECT_TRUE(decision.event);
}

// In doubt after the deadline the class may still ask, and the reaper leaves it the time.
TEST(DecideClaim, ADoubtMayBeAskedAboutAfterItsDeadline) {
  ClaimRequest request = claim_of(1);
  request.look_for = seconds(300);
  Row row =
      decide_claim(std::nullopt, request, Ticket(5), ClaimFacts{}, kContext).write.value_or(Row{});
  EXPECT_EQ(row.look_until, row.deadline + seconds(300));
  row.state = State::waiting;
  RuleContext late = kContext;
  late.now = row.deadline;
  EXPECT_EQ(due_time(row, late.incarnation), row.deadline);
  auto reply = decide_claim(row, request, Ticket(6), ClaimFacts{}, late).reply;
  EXPECT_TRUE(std::holds_alternative<Done>(reply)) << "nothing was sent: there is nothing to ask";
  row.effect = Effect::maybe_sent;
  EXPECT_EQ(due_time(row, late.incarnation), row.look_until);
  EXPECT_FALSE(decide_sweep(row, late.now, late).write.has_value());
  reply = decide_claim(row, request, Ticket(6), ClaimFacts{}, late).reply;
  EXPECT_TRUE(std::holds_alternative<Claimed>(reply));
  reply = decide_claim(row, claim_of(1), Ticket(6), ClaimFacts{}, late).reply;
  EXPECT_TRUE(std::holds_alternative<Done>(reply)) << "nobody can be asked";
  late.now = row.look_until;
  reply = decide_claim(row, request, Ticket(6), ClaimFacts{}, late).reply;
  EXPECT_EQ(std::get<Done>(reply).state, State::unknown);
  const SweepDecision swept = decide_sweep(row, late.now, late);
  ASSERT_TRUE(swept.write.has_value());
  EXPECT_EQ(swept.write->state, State::unknown);
  EXPECT_EQ(swept.write->look_until, WallTime{});
}

TEST(DecideSweep, AClaimLeftBehindMayBeAskedAboutFirst) {
  ClaimRequest request = claim_of(1);
  request.look_for = seconds(300);
  const Row row =
      decide_claim(std::nullopt, request, Ticket(5), ClaimFacts{}, kContext).write.value_or(Row{});
  EXPECT_EQ(due_time(row, Incarnation(3)), row.look_until);
}

// What is in doubt stays with the provider that may have it, whoever claims it for another.
TEST(DecideClaim, ADoubtKeepsItsProvider) {
  Row row = claimed_row();
  const std::string first = row.provider;
  ClaimRequest other = claim_of(1);
  other.provider = "other";
  row.state = State::waiting;
  auto decision = decide_claim(row, other, Ticket(6), ClaimFacts{}, kContext);
  EXPECT_EQ(decision.write->provider, "other");
  EXPECT_EQ(std::get<Claimed>(decision.reply).provider, "");
  row.effect = Effect::maybe_sent;
  decision = decide_claim(row, other, Ticket(6), ClaimFacts{}, kContext);
  EXPECT_EQ(std::get<Claimed>(decision.reply).provider, "") << "no attempt of ours: an adopted one";
  row.attempts = 1;
  decision = decide_claim(row, other, Ticket(6), ClaimFacts{}, kContext);
  EXPECT_EQ(decision.write->provider, first);
  EXPECT_EQ(std::get<Claimed>(decision.reply).provider, first);
}

TEST(DecideSweep, LeavesAClaimOfThisIncarnationAlone) {
  RuleContext later = kContext;
  later.now = kNoon + hours(1000);
  EXPECT_FALSE(decide_sweep(claimed_row(), later.now, later).write.has_value());
  EXPECT_FALSE(due_time(claimed_row(), Incarnation(2)).has_value());
  EXPECT_TRUE(due_time(claimed_row(), Incarnation(3)).has_value());
}

TEST(DecideSweep, EveryOpenRowButOurOwnClaimsHasATime) {
  for (const State state : {State::claimed, State::waiting}) {
    Row row = claimed_row();
    row.state = state;
    EXPECT_TRUE(due_time(row, Incarnation(7)).has_value());
  }
}

// Law 13: our clock is twelve days behind while the row ends, and is then put right.
TEST(DecideSettle, AClockThatIsBehindCannotEndTheMemory) {
  Row row = claimed_row();
  RuleContext behind = kContext;
  behind.now = kNoon - hours(12 * 24);
  Settlement settlement = settle_of(1, Fence(9), State::accepted, Effect::sent);
  settlement.retention = hours(48);
  const SettleDecision decision = decide_settle(std::move(row), settlement, behind);
  ASSERT_TRUE(decision.write.has_value());
  EXPECT_FALSE(may_forget(decision.write->state, decision.write->dead_letter,
                          decision.write->keep_until, kNoon + hours(47)));
}

TEST(DecideSweep, DeadLettersFollowTheSlowerClock) {
  Row row = claimed_row();
  row.state = State::failed;
  row.dead_letter = DeadLetter::due;
  row.ended = kNoon;
  row.keep_until = kNoon + hours(48);
  RuleContext later = kContext;
  later.now = kNoon + hours(100);
  EXPECT_FALSE(decide_sweep(row, kNoon + hours(1), later).write.has_value());
  EXPECT_TRUE(decide_sweep(row, kNoon + hours(24), later).lost_dead_letter);
}

TEST(DecideDevice, AMismatchDoesNotRaiseTheDead) {
  Settlement settlement = settle_of(1, Fence(1), State::failed, Effect::not_sent);
  settlement.device = Settlement::DeviceChange{
      .hash = {}, .kind = "apns", .change = "mismatch", .registered_at = std::nullopt};
  const DeviceRow dead{
      .state = DeviceState::invalid, .since = kNoon, .registered_at = std::nullopt};
  EXPECT_FALSE(decide_device(dead, settlement).write.has_value());
  settlement.device->registered_at = kNoon + seconds(1);  // another registration
  EXPECT_TRUE(decide_device(dead, settlement).write.has_value());
  EXPECT_TRUE(decide_device(std::nullopt, settlement).write.has_value());
}

TEST(DecideDevice, AMismatchDoesNotTakeBackARevocation) {
  Settlement settlement = settle_of(1, Fence(1), State::failed, Effect::not_sent);
  settlement.device = Settlement::DeviceChange{.hash = {},
                                               .kind = "apns",
                                               .change = "mismatch",
                                               .registered_at = std::nullopt,
                                               .called = kNoon + seconds(5)};
  const DeviceRow revoked{
      .state = DeviceState::revoked, .since = kNoon, .registered_at = std::nullopt};
  EXPECT_FALSE(decide_device(revoked, settlement).write.has_value());
  // Nor does the answer to a call of before move it back.
  settlement.device->change = "invalid";
  settlement.device->called = kNoon - seconds(1);
  EXPECT_FALSE(decide_device(revoked, settlement).write.has_value());
}

// Who registers while the answer is under way is not who was refused.
TEST(DecideDevice, WithoutAProvidersTimeItCountsFromTheCall) {
  Settlement settlement = settle_of(1, Fence(1), State::failed, Effect::not_sent);
  settlement.verdict.fault = Fault::device;
  settlement.device = Settlement::DeviceChange{.hash = {},
                                               .kind = "apns",
                                               .change = "invalid",
                                               .registered_at = std::nullopt,
                                               .called = kNoon};
  EXPECT_EQ(decide_device(std::nullopt, settlement).write->since, kNoon);
  settlement.verdict.invalid_since = kNoon - hours(1);
  EXPECT_EQ(decide_device(std::nullopt, settlement).write->since, kNoon - hours(1));
}

TEST(DeadLetterDone, OnlyWhatWasOwed) {
  Row row = claimed_row();
  EXPECT_FALSE(decide_dead_letter_done(row).has_value());
  EXPECT_FALSE(decide_dead_letter_done(std::nullopt).has_value());
  row.dead_letter = DeadLetter::due;
  EXPECT_EQ(decide_dead_letter_done(row)->dead_letter, DeadLetter::done);
}

}  // namespace
}  // namespace sendonce::test
