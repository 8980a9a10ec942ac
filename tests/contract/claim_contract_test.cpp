#include "tests/contract/ledger_contract.hpp"

namespace sendonce::test {
namespace {

TEST_P(LedgerContract, ClaimsAnUnknownKey) {
  const Claimed claimed = claim(1);
  EXPECT_EQ(claimed.carried, Effect::not_sent);
  EXPECT_EQ(claimed.attempts, 0);
  EXPECT_FALSE(claimed.taken_over);
  EXPECT_NE(claimed.fence, Fence{});
  EXPECT_EQ(row(1).state, State::claimed);
  EXPECT_EQ(ledger().stats().open_rows, 1U);
}

TEST_P(LedgerContract, OneKeyTwiceInABatchHasOneClaimant) {
  const std::vector<TicketedRequest> batch{{.ticket = Ticket(1), .request = claim_of(1)},
                                           {.ticket = Ticket(2), .request = claim_of(1)}};
  const auto replies = ledger().commit(batch, now_);
  ASSERT_TRUE(replies.has_value());
  static_cast<void>(reply_as<Claimed>(replies->at(0).reply));
  EXPECT_EQ(reply_as<Busy>(replies->at(1).reply).until, now_ + seconds(30));
}

TEST_P(LedgerContract, OneKeyInTwoScopesIsTwoRows) {
  claim(1);
  ClaimRequest other = claim_of(1);
  other.scope = ScopeIndex(1);
  EXPECT_EQ(reply_as<Claimed>(go(other)).attempts, 0);
  EXPECT_EQ(ledger().stats().rows, 2U);
}

TEST_P(LedgerContract, AClaimOfThisIncarnationIsNeverStale) {
  claim(1);
  now_ += hours(2);  // far past its lease
  EXPECT_EQ(reply_as<Busy>(go(claim_of(1))).until, now_ + seconds(1));
}

TEST_P(LedgerContract, AStaleClaimCountsAsMaybeSent) {
  const Claimed first = claim(1);
  rig_->restart();
  now_ += seconds(1);  // its lease has not even ended: the owner is gone, that is enough
  const Claimed second = claim(1);
  EXPECT_TRUE(second.taken_over);
  EXPECT_EQ(second.carried, Effect::maybe_sent);
  EXPECT_EQ(second.attempts, 1);
  EXPECT_GT(second.fence, first.fence);
}

TEST_P(LedgerContract, FencesGrowOverRestarts) {
  Fence last{};
  for (std::uint64_t i = 0; i < 12; ++i) {
    const Fence fence = claim(i).fence;
    EXPECT_GT(fence, last);
    last = fence;
    if (i % 4 == 3) rig_->restart();
  }
}

TEST_P(LedgerContract, AWaitingRowIsClaimedWhenItsTimeHasCome) {
  const Claimed first = claim(1);
  wait(1, first.fence, Effect::not_sent, seconds(10));
  EXPECT_EQ(reply_as<Waiting>(go(claim_of(1))).until, now_ + seconds(10));
  now_ += seconds(10);
  const Claimed second = claim(1);
  EXPECT_EQ(second.carried, Effect::not_sent);
  EXPECT_EQ(second.attempts, 1);
  EXPECT_FALSE(second.taken_over);
}

TEST_P(LedgerContract, AnEndedRowIsDoneAndStaysSo) {
  settle(1, claim(1).fence, State::accepted, Effect::sent);
  for (int i = 0; i < 2; ++i) {
    const Done done = reply_as<Done>(go(claim_of(1)));
    EXPECT_EQ(done.state, State::accepted);
    EXPECT_EQ(done.effect, Effect::sent);
    EXPECT_FALSE(done.suppressed_now);
    rig_->restart();
  }
  EXPECT_EQ(ledger().stats().open_rows, 0U);
}

TEST_P(LedgerContract, OtherContentUnderTheSameKeyIsRefused) {
  settle(1, claim(1).fence, State::accepted, Effect::sent);
  const Row before = row(1);
  ClaimRequest other = claim_of(1);
  other.fingerprint.bytes[0] = 2;
  static_cast<void>(reply_as<Conflict>(go(other)));
  EXPECT_EQ(row(1), before);
}

TEST_P(LedgerContract, OtherContentIsRefusedWhileTheRowIsOpenToo) {
  claim(1);
  rig_->restart();
  const Row before = row(1);
  ClaimRequest other = claim_of(1);
  other.fingerprint.bytes[0] = 2;
  static_cast<void>(reply_as<Conflict>(go(other)));
  EXPECT_EQ(row(1), before);
}

TEST_P(LedgerContract, PastItsDeadlineAnUnsentRowIsSuppressed) {
  now_ = kNoon + hours(24);
  const Done done = reply_as<Done>(go(claim_of(1)));
  EXPECT_EQ(done.state, State::suppressed);
  EXPECT_TRUE(done.suppressed_now);
  EXPECT_EQ(row(1).reason, "expired");
  EXPECT_THAT(outbox_text(), HasSubstr("sendonce.outcome.orders.suppressed"));
  EXPECT_FALSE(reply_as<Done>(go(claim_of(1))).suppressed_now);
}

TEST_P(LedgerContract, PastItsDeadlineARowThatMayBeSentIsUnknown) {
  wait(1, claim(1).fence, Effect::maybe_sent, seconds(1));
  now_ = kNoon + hours(25);
  EXPECT_EQ(reply_as<Done>(go(claim_of(1))).state, State::unknown);
}

TEST_P(LedgerContract, ALaterDuplicateDoesNotMoveTheDeadline) {
  wait(1, claim(1).fence, Effect::not_sent, seconds(1));
  now_ = kNoon + hours(25);
  ClaimRequest later = claim_of(1);
  later.deadline = kNoon + hours(90);
  EXPECT_EQ(reply_as<Done>(go(later)).state, State::suppressed);
}

TEST_P(LedgerContract, ADeadDeviceIsSuppressedUntilItIsRegisteredAgain) {
  Settlement refused = settle_of(1, claim(1).fence, State::failed, Effect::not_sent);
  refused.verdict.fault = Fault::device;
  refused.verdict.invalid_since = kNoon - hours(1);
  refused.device = Settlement::DeviceChange{
      .hash = {}, .kind = "apns", .change = "invalid", .registered_at = std::nullopt};
  refused.device->hash.bytes[3] = 9;
  static_cast<void>(go(refused));
  EXPECT_THAT(outbox_text(), HasSubstr("sendonce.device.apns.invalid"));

  rig_->restart();
  ClaimRequest next = claim_of(2);
  next.device = DeviceClaim{.hash = refused.device->hash, .registered_at = std::nullopt};
  EXPECT_EQ(reply_as<Done>(go(next)).state, State::suppressed);
  EXPECT_EQ(row(2).reason, "dead device");

  next.key = key_of(3);
  next.device->registered_at = kNoon - hours(1);
  EXPECT_EQ(reply_as<Done>(go(next)).state, State::suppressed);

  next.key = key_of(4);
  next.device->registered_at = kNoon - minutes(59);
  static_cast<void>(reply_as<Claimed>(go(next)));
}

TEST_P(LedgerContract, ADeviceIsReportedOnce) {
  for (std::uint64_t i = 1; i <= 2; ++i) {
    Settlement refused = settle_of(i, claim(i).fence, State::failed, Effect::not_sent);
    refused.device = Settlement::DeviceChange{
        .hash = {}, .kind = "apns", .change = "invalid", .registered_at = std::nullopt};
    static_cast<void>(go(refused));
  }
  const auto entries = outbox();
  EXPECT_EQ(std::ranges::count(entries, "sendonce.device.apns.invalid", &OutboxEntry::subject), 1);
}

TEST_P(LedgerContract, AMismatchDoesNotSuppress) {
  Settlement refused = settle_of(1, claim(1).fence, State::failed, Effect::not_sent);
  refused.device = Settlement::DeviceChange{
      .hash = {}, .kind = "fcm", .change = "mismatch", .registered_at = std::nullopt};
  static_cast<void>(go(refused));
  ClaimRequest next = claim_of(2);
  next.device = DeviceClaim{};
  static_cast<void>(reply_as<Claimed>(go(next)));
}

TEST_P(LedgerContract, BeforeTheAdoptionAnUnknownKeyMayHaveBeenSent) {
  rig_->adopt(ScopeIndex(0), kNoon + seconds(1));
  rig_->restart();
  EXPECT_EQ(claim(1).carried, Effect::maybe_sent);
  ClaimRequest later = claim_of(2);
  later.stored_at = kNoon + seconds(1);
  EXPECT_EQ(reply_as<Claimed>(go(later)).carried, Effect::not_sent);
  ClaimRequest elsewhere = claim_of(3);
  elsewhere.scope = ScopeIndex(1);
  EXPECT_EQ(reply_as<Claimed>(go(elsewhere)).carried, Effect::not_sent);
}

// Found by the simulator: the row named who had asked first, and the next life sent by that one
// what the other might have.
TEST_P(LedgerContract, AnAdoptedDoubtIsAtWhomeverTheFirstCountedAttemptWentTo) {
  rig_->adopt(ScopeIndex(0), kNoon + seconds(1));
  rig_->restart();
  const auto claim_by = [this](const char* provider) {
    ClaimRequest request = claim_of(1);
    request.provider = provider;
    return reply_as<Claimed>(go(request));
  };
  const auto waits = [this](Fence fence, Effect effect, bool counted) {
    Settlement settlement = settle_of(1, fence, State::waiting, effect);
    settlement.next_at = now_;
    settlement.counted = counted;
    static_cast<void>(go(settlement));
  };
  const Claimed first = claim_by("one");
  EXPECT_EQ(first.provider, "");
  waits(first.fence, Effect::not_sent, false);  // its credential was refused
  const Claimed second = claim_by("two");
  EXPECT_EQ(second.provider, "") << "still nobody knows";
  waits(second.fence, Effect::maybe_sent, true);
  rig_->restart();
  EXPECT_EQ(claim_by("one").provider, "two");
}

TEST_P(LedgerContract, AHitUnderThePreviousKeyAnswers) {
  settle(1, claim(1).fence, State::accepted, Effect::sent);
  ClaimRequest renamed = claim_of(2);
  renamed.previous_key = key_of(1);
  EXPECT_EQ(reply_as<Done>(go(renamed)).state, State::accepted);
}

TEST_P(LedgerContract, ARowUnderThePreviousKeyGoesOnUnderThePresentOne) {
  wait(1, claim(1).fence, Effect::maybe_sent, seconds(0));
  ClaimRequest renamed = claim_of(2);
  renamed.previous_key = key_of(1);
  const Claimed claimed = reply_as<Claimed>(go(renamed));
  EXPECT_EQ(claimed.carried, Effect::maybe_sent);
  EXPECT_EQ(ledger().stats().rows, 1U);
  EXPECT_FALSE(find(1).has_value());
  EXPECT_FALSE(settle(2, claimed.fence, State::accepted, Effect::sent).fenced);
  rig_->restart();
  EXPECT_EQ(reply_as<Done>(go(renamed)).state, State::accepted);
  EXPECT_EQ(row(2).state, State::accepted);
}

}  // namespace
}  // namespace sendonce::test
