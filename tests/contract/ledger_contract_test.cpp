// One suite, every ledger. Each law that concerns the ledger has its tests here
// (docs/guarantees.md), and so has each way in which a commit can fail.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ledger/ledger.hpp"
#include "ledger/rules.hpp"
#include "tests/contract/ledger_rig.hpp"

namespace sendonce::test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class LedgerContract : public testing::TestWithParam<MakeRig> {
 protected:
  Ledger& ledger() { return rig_->ledger(); }
  LedgerReply go(LedgerRequest request) {
    return run(ledger(), Ticket(++ticket_), std::move(request), now_);
  }
  Claimed claim(std::uint64_t number) { return reply_as<Claimed>(go(claim_of(number))); }
  Settled settle(std::uint64_t number, Fence fence, State state, Effect effect) {
    return reply_as<Settled>(go(settle_of(number, fence, state, effect)));
  }
  Settled wait(std::uint64_t number, Fence fence, Effect effect, Duration delay) {
    Settlement settlement = settle_of(number, fence, State::waiting, effect);
    settlement.next_at = now_ + delay;
    return reply_as<Settled>(go(settlement));
  }
  std::optional<Row> find(std::uint64_t number) {
    return reply_as<Found>(go(Find{.scope = {}, .key = key_of(number)})).row;
  }
  Row row(std::uint64_t number) {
    const auto found = find(number);
    EXPECT_TRUE(found.has_value());
    return found.value_or(Row{});
  }
  std::vector<OutboxEntry> outbox() {
    return reply_as<OutboxPage>(go(OutboxRead{.after = {}, .max_entries = 1000})).entries;
  }
  std::string outbox_text() {
    std::string text;
    for (const OutboxEntry& entry : outbox()) text += entry.subject + " " + entry.body + "\n";
    return text;
  }
  Swept sweep() { return reply_as<Swept>(go(Sweep{})); }

  std::unique_ptr<LedgerRig> rig_ = GetParam()();
  WallTime now_ = kNoon;
  std::uint64_t ticket_ = 100;
};

// ---- claims ----------------------------------------------------------------------------------

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

// ---- settlements -----------------------------------------------------------------------------

TEST_P(LedgerContract, ClaimAndSettleInOneBatch) {
  const Claimed claimed = claim(1);
  const std::vector<TicketedRequest> batch{
      {.ticket = Ticket(1), .request = settle_of(1, claimed.fence, State::accepted, Effect::sent)},
      {.ticket = Ticket(2), .request = claim_of(1)},
      {.ticket = Ticket(3), .request = claim_of(2)}};
  const auto replies = ledger().commit(batch, now_);
  ASSERT_TRUE(replies.has_value());
  EXPECT_EQ(reply_as<Settled>(replies->at(0).reply).state, State::accepted);
  EXPECT_EQ(reply_as<Done>(replies->at(1).reply).state, State::accepted);
  static_cast<void>(reply_as<Claimed>(replies->at(2).reply));
}

TEST_P(LedgerContract, ASettlementMayBeRepeated) {
  const Fence fence = claim(1).fence;
  const Settled first = settle(1, fence, State::accepted, Effect::sent);
  const Row stored = row(1);
  const std::size_t events = outbox().size();
  now_ += seconds(5);
  const Settled second = settle(1, fence, State::accepted, Effect::sent);
  EXPECT_EQ(second.fenced, first.fenced);
  EXPECT_EQ(second.state, first.state);
  EXPECT_EQ(row(1), stored);
  EXPECT_EQ(outbox().size(), events);
}

TEST_P(LedgerContract, AnOldFenceEndsNothing) {
  const Claimed first = claim(1);
  rig_->restart();
  const Claimed second = claim(1);
  const Settled late = settle(1, first.fence, State::failed, Effect::not_sent);
  EXPECT_TRUE(late.fenced);
  EXPECT_EQ(late.state, State::claimed);
  EXPECT_EQ(late.effect, Effect::maybe_sent);
  EXPECT_THAT(outbox(), IsEmpty());
  EXPECT_FALSE(settle(1, second.fence, State::waiting, Effect::not_sent).fenced);
}

TEST_P(LedgerContract, AnOldFencesReceiptIsKept) {
  const Claimed first = claim(1);
  rig_->restart();
  claim(1);
  EXPECT_EQ(settle(1, first.fence, State::accepted, Effect::sent).effect, Effect::sent);
  const Row now = row(1);
  EXPECT_EQ(now.state, State::claimed);  // nothing ends by it
  ASSERT_THAT(now.receipts, SizeIs(1));
  EXPECT_EQ(now.receipts[0].message_id, "receipt-1");
  EXPECT_EQ(now.receipts[0].fence, first.fence);
}

TEST_P(LedgerContract, AfterALateReceiptTheRunningAttemptEndsAccepted) {
  const Claimed first = claim(1);
  rig_->restart();
  const Claimed second = claim(1);
  settle(1, first.fence, State::accepted, Effect::sent);
  EXPECT_EQ(settle(1, second.fence, State::failed, Effect::not_sent).state, State::accepted);
}

TEST_P(LedgerContract, AfterALateReceiptNoFurtherAttemptStarts) {
  const Claimed first = claim(1);
  rig_->restart();
  const Claimed second = claim(1);
  wait(1, second.fence, Effect::not_sent, seconds(60));
  settle(1, first.fence, State::accepted, Effect::sent);
  EXPECT_EQ(row(1).state, State::waiting);
  const Done done = reply_as<Done>(go(claim_of(1)));
  EXPECT_EQ(done.state, State::accepted);
  EXPECT_THAT(outbox_text(), HasSubstr("sendonce.outcome.orders.accepted"));
}

TEST_P(LedgerContract, ALateReceiptTurnsUnknownIntoAccepted) {
  const Claimed first = claim(1);
  rig_->restart();
  const Claimed second = claim(1);
  settle(1, second.fence, State::unknown, Effect::maybe_sent);
  const Row unknown = row(1);
  EXPECT_EQ(unknown.state, State::unknown);
  now_ += hours(1);
  settle(1, first.fence, State::accepted, Effect::sent);
  const Row accepted = row(1);
  EXPECT_EQ(accepted.state, State::accepted);
  EXPECT_EQ(accepted.revision, unknown.revision + 1);
  EXPECT_EQ(accepted.keep_until, unknown.keep_until);  // retention does not slide
  const auto text = outbox_text();
  EXPECT_THAT(text, HasSubstr("sendonce.outcome.orders.unknown"));
  EXPECT_THAT(text, HasSubstr("sendonce.outcome.orders.accepted"));
  const std::size_t events = outbox().size();
  settle(1, first.fence, State::accepted, Effect::sent);
  EXPECT_EQ(outbox().size(), events);  // once
}

TEST_P(LedgerContract, WhatMayBeSentNeverEndsFailedOrSuppressed) {
  for (const State wanted : {State::failed, State::suppressed}) {
    const auto number = static_cast<std::uint64_t>(wanted);
    wait(number, claim(number).fence, Effect::maybe_sent, seconds(0));
    EXPECT_EQ(settle(number, claim(number).fence, wanted, Effect::not_sent).state, State::unknown);
    EXPECT_EQ(row(number).effect, Effect::maybe_sent);
  }
}

TEST_P(LedgerContract, NothingIsAcceptedWithoutAReceipt) {
  EXPECT_EQ(settle(1, claim(1).fence, State::accepted, Effect::maybe_sent).state, State::unknown);
}

TEST_P(LedgerContract, AMissingReceiptIsRemembered) {
  Settlement settlement = settle_of(1, claim(1).fence, State::waiting, Effect::maybe_sent);
  settlement.verdict.receipt_missing = true;
  static_cast<void>(go(settlement));
  rig_->restart();
  EXPECT_TRUE(claim(1).receipt_missing);
  wait(2, claim(2).fence, Effect::maybe_sent, seconds(0));
  EXPECT_FALSE(claim(2).receipt_missing);
}

TEST_P(LedgerContract, AClaimGivenBackLeavesNoTrace) {
  Settlement back = settle_of(1, claim(1).fence, State::waiting, Effect::maybe_sent);
  back.attempted = false;
  back.counted = false;
  EXPECT_EQ(reply_as<Settled>(go(back)).effect, Effect::not_sent);
  const Claimed again = claim(1);
  EXPECT_EQ(again.carried, Effect::not_sent);
  EXPECT_EQ(again.attempts, 0);
  EXPECT_THAT(row(1).receipts, IsEmpty());
}

TEST_P(LedgerContract, UncountedVerdictsAreNotCounted) {
  Settlement throttled = settle_of(1, claim(1).fence, State::waiting, Effect::not_sent);
  throttled.counted = false;
  static_cast<void>(go(throttled));
  EXPECT_EQ(claim(1).attempts, 0);
  EXPECT_THAT(row(1).receipts, SizeIs(1));
}

TEST_P(LedgerContract, ManyAttemptsKeepTheLatestReceipts) {
  for (int i = 0; i < 40; ++i) wait(1, claim(1).fence, Effect::not_sent, seconds(0));
  const Row now = row(1);
  ASSERT_THAT(now.receipts, SizeIs(kReceiptsKept));
  EXPECT_EQ(now.attempts, 40);
  EXPECT_EQ(now.receipts.back().fence, now.fence);
  rig_->restart();
  EXPECT_EQ(row(1), now);
}

TEST_P(LedgerContract, TheFirstAttemptsRequestHashStays) {
  Settlement first = settle_of(1, claim(1).fence, State::waiting, Effect::maybe_sent);
  first.request.bytes[0] = 7;
  static_cast<void>(go(first));
  const Claimed again = claim(1);
  EXPECT_EQ(again.request, first.request);
  Settlement second = settle_of(1, again.fence, State::waiting, Effect::maybe_sent);
  second.request.bytes[0] = 8;
  static_cast<void>(go(second));
  EXPECT_EQ(claim(1).request, first.request);
}

TEST_P(LedgerContract, ASettlementOfAnUnknownKeyIsFenced) {
  EXPECT_TRUE(settle(1, Fence(7), State::accepted, Effect::sent).fenced);
  EXPECT_FALSE(find(1).has_value());
}

TEST_P(LedgerContract, TextOfProvidersIsMadeSafeAndShort) {
  Settlement failed = settle_of(1, claim(1).fence, State::failed, Effect::not_sent);
  failed.verdict.reason = std::string("bad\n\xff\"") + std::string(500, 'x');
  failed.verdict.message_id = std::string(1000, 'm');
  static_cast<void>(go(failed));
  const Row now = row(1);
  EXPECT_EQ(now.reason.substr(0, 6), "bad??\"");
  EXPECT_EQ(now.reason.size(), kReasonMax);
  EXPECT_EQ(now.receipts.at(0).message_id.size(), kMessageIdMax);
}

// ---- dead letters ----------------------------------------------------------------------------

TEST_P(LedgerContract, ADeadLetterIsDueUntilItsCopyIsConfirmed) {
  Settlement failed = settle_of(1, claim(1).fence, State::failed, Effect::not_sent);
  failed.dead_letter = true;
  EXPECT_TRUE(reply_as<Settled>(go(failed)).dead_letter_due);
  EXPECT_EQ(reply_as<DeadLetterDue>(go(claim_of(1))).reason, "some reason");
  rig_->restart();
  static_cast<void>(reply_as<DeadLetterDue>(go(claim_of(1))));
  for (int i = 0; i < 2; ++i)
    static_cast<void>(reply_as<Removed>(go(DeadLetterDone{.scope = {}, .key = key_of(1)})));
  EXPECT_EQ(row(1).dead_letter, DeadLetter::done);
  EXPECT_EQ(reply_as<Done>(go(claim_of(1))).state, State::failed);
}

TEST_P(LedgerContract, WhatMayBeSentIsNoDeadLetter) {
  Settlement failed = settle_of(1, claim(1).fence, State::failed, Effect::maybe_sent);
  failed.dead_letter = true;
  const Settled settled = reply_as<Settled>(go(failed));
  EXPECT_EQ(settled.state, State::unknown);
  EXPECT_FALSE(settled.dead_letter_due);
}

TEST_P(LedgerContract, ADeadLetterThatNeverComesBackIsLostAndCounted) {
  Settlement failed = settle_of(1, claim(1).fence, State::failed, Effect::not_sent);
  failed.dead_letter = true;
  static_cast<void>(go(failed));
  now_ += hours(25);  // past half of its retention
  ClaimRequest newer = claim_of(2);
  newer.stored_at = now_;
  newer.deadline = now_ + hours(1);
  static_cast<void>(go(newer));
  EXPECT_EQ(sweep().lost_dead_letters, 1U);
  EXPECT_EQ(sweep().lost_dead_letters, 0U);
  EXPECT_EQ(row(1).dead_letter, DeadLetter::lost);
  EXPECT_THAT(outbox_text(), HasSubstr(R"("dead_letter":"lost")"));
  // It did come back after all.
  static_cast<void>(reply_as<DeadLetterDue>(go(claim_of(1))));
  static_cast<void>(go(DeadLetterDone{.scope = {}, .key = key_of(1)}));
  EXPECT_EQ(row(1).dead_letter, DeadLetter::done);
}

// ---- outbox ----------------------------------------------------------------------------------

TEST_P(LedgerContract, OutcomesOfACommitTravelTogether) {
  std::vector<TicketedRequest> batch;
  for (std::uint64_t i = 0; i < 70; ++i)
    batch.push_back({.ticket = Ticket(i),
                     .request = settle_of(i, claim(i).fence, State::accepted, Effect::sent)});
  ASSERT_TRUE(ledger().commit(batch, now_).has_value());
  const auto entries = outbox();
  ASSERT_THAT(entries, SizeIs(2));  // 64 and 6
  EXPECT_LT(entries[0].seq, entries[1].seq);
  EXPECT_EQ(entries[0].subject, "sendonce.outcome.orders.accepted");
  EXPECT_EQ(entries[0].created, now_);
  EXPECT_EQ(entries[0].body.front(), '[');
  EXPECT_EQ(entries[0].body.back(), ']');
  const LedgerStats& stats = ledger().stats();
  EXPECT_EQ(stats.outbox_entries, 2U);
  EXPECT_EQ(stats.outbox_oldest, now_);
  EXPECT_EQ(stats.outbox_last, entries[1].seq);
}

TEST_P(LedgerContract, TheOutboxIsReadInOrderAndSurvives) {
  for (std::uint64_t i = 0; i < 5; ++i) {
    settle(i, claim(i).fence, State::accepted, Effect::sent);
    if (i == 2) rig_->restart();
  }
  const auto all = outbox();
  ASSERT_THAT(all, SizeIs(5));
  const auto rest =
      reply_as<OutboxPage>(go(OutboxRead{.after = all[1].seq, .max_entries = 2})).entries;
  ASSERT_THAT(rest, SizeIs(2));
  EXPECT_EQ(rest[0].seq, all[2].seq);
  static_cast<void>(
      reply_as<Removed>(go(OutboxRemove{.entries = {all[0].seq, all[3].seq, all[0].seq}})));
  EXPECT_THAT(outbox(), SizeIs(3));
}

TEST_P(LedgerContract, OutboxSequencesAreNotUsedTwice) {
  settle(1, claim(1).fence, State::accepted, Effect::sent);
  const OutboxSeq first = outbox().at(0).seq;
  static_cast<void>(go(OutboxRemove{.entries = {first}}));
  rig_->restart();
  settle(2, claim(2).fence, State::accepted, Effect::sent);
  EXPECT_GT(outbox().at(0).seq, first);
}

TEST_P(LedgerContract, WithExceptionsOnlyAnAcceptanceMakesNoEvent) {
  Settlement accepted = settle_of(1, claim(1).fence, State::accepted, Effect::sent);
  accepted.exceptional_only = true;
  static_cast<void>(go(accepted));
  EXPECT_THAT(outbox(), IsEmpty());
  Settlement unknown = settle_of(2, claim(2).fence, State::unknown, Effect::maybe_sent);
  unknown.exceptional_only = true;
  static_cast<void>(go(unknown));
  EXPECT_THAT(outbox(), SizeIs(1));
}

// ---- time ------------------------------------------------------------------------------------

TEST_P(LedgerContract, TheReaperEndsWhatNeverCameBack) {
  wait(1, claim(1).fence, Effect::not_sent, seconds(5));
  wait(2, claim(2).fence, Effect::maybe_sent, seconds(5));
  claim(3);
  rig_->restart();  // leaves a stale claim
  claim(4);         // and a claim of this incarnation
  EXPECT_EQ(sweep().ended, 0U);
  now_ = kNoon + hours(24);
  EXPECT_EQ(sweep().ended, 3U);
  EXPECT_EQ(row(1).state, State::suppressed);
  EXPECT_EQ(row(2).state, State::unknown);
  EXPECT_EQ(row(3).state, State::unknown);
  EXPECT_EQ(row(3).attempts, 1);
  EXPECT_EQ(row(4).state, State::claimed);
  EXPECT_EQ(row(1).keep_until, now_ + hours(48));
  EXPECT_EQ(sweep().ended, 0U);
  EXPECT_EQ(ledger().stats().open_rows, 1U);
  EXPECT_THAT(outbox_text(), HasSubstr("sendonce.outcome.orders.suppressed"));
}

TEST_P(LedgerContract, TheReaperSaysWhenToComeAgain) {
  wait(1, claim(1).fence, Effect::not_sent, seconds(5));
  const auto due = sweep().next_due;
  ASSERT_TRUE(due.has_value());
  EXPECT_GT(*due, now_);
  EXPECT_LE(*due, kNoon + hours(24));
}

TEST_P(LedgerContract, ARowClaimedAndReleasedAgainIsStillReaped) {
  wait(1, claim(1).fence, Effect::not_sent, seconds(0));
  const Claimed running = claim(1);
  now_ = kNoon + hours(24);
  EXPECT_EQ(sweep().ended, 0U);  // an attempt is running: it has its whole call timeout
  wait(1, running.fence, Effect::maybe_sent, seconds(0));
  EXPECT_EQ(sweep().ended, 1U);
  EXPECT_EQ(row(1).state, State::unknown);
}

TEST_P(LedgerContract, RowsAreForgottenAfterTheirRetention) {
  settle(1, claim(1).fence, State::accepted, Effect::sent);
  wait(2, claim(2).fence, Effect::not_sent, seconds(1));
  settle(3, claim(3).fence, State::accepted, Effect::sent);
  ClaimRequest newer = claim_of(4);
  newer.stored_at = kNoon + hours(48);
  newer.deadline = kNoon + hours(90);
  now_ = kNoon + hours(47);
  static_cast<void>(go(newer));
  EXPECT_EQ(sweep().expired, 0U);
  now_ = kNoon + hours(48);
  EXPECT_EQ(sweep().expired, 2U);
  EXPECT_FALSE(find(1).has_value());
  EXPECT_FALSE(find(3).has_value());
  EXPECT_EQ(row(2).state, State::suppressed);  // reaped at its deadline, kept from then on
  EXPECT_EQ(row(4).state, State::claimed);
  rig_->restart();
  EXPECT_EQ(row(2).state, State::suppressed);
  EXPECT_EQ(ledger().stats().rows, 2U);
}

TEST_P(LedgerContract, OneWrongClockForgetsNothing) {
  settle(1, claim(1).fence, State::accepted, Effect::sent);
  now_ = kNoon + hours(24 * 365 * 50);
  EXPECT_EQ(sweep().expired, 0U);
  rig_->restart();
  EXPECT_EQ(sweep().expired, 0U);
  const auto again = sweep().next_due;
  EXPECT_TRUE(!again || *again > now_);  // no reason to ask without pause
}

TEST_P(LedgerContract, AMessageFromTheFutureForgetsNothing) {
  settle(1, claim(1).fence, State::accepted, Effect::sent);
  ClaimRequest future = claim_of(2);
  future.stored_at = kNoon + hours(24 * 365 * 50);
  future.deadline = future.stored_at + hours(1);
  static_cast<void>(go(future));
  EXPECT_EQ(sweep().expired, 0U);
}

TEST_P(LedgerContract, ADueDeadLetterIsNotForgotten) {
  Settlement failed = settle_of(1, claim(1).fence, State::failed, Effect::not_sent);
  failed.dead_letter = true;
  static_cast<void>(go(failed));
  EXPECT_FALSE(may_forget(State::failed, DeadLetter::due, kNoon, kNoon + hours(100)));
  EXPECT_TRUE(may_forget(State::failed, DeadLetter::lost, kNoon, kNoon));
}

TEST_P(LedgerContract, ExpireAndClaimOfOneKeyInABatch) {
  settle(1, claim(1).fence, State::accepted, Effect::sent);
  now_ = kNoon + hours(48);
  ClaimRequest again = claim_of(1);
  again.stored_at = now_;
  again.deadline = now_ + hours(1);
  const std::vector<TicketedRequest> batch{{.ticket = Ticket(1), .request = claim_of(9)},
                                           {.ticket = Ticket(2), .request = Sweep{}},
                                           {.ticket = Ticket(3), .request = again},
                                           {.ticket = Ticket(4), .request = again}};
  static_cast<void>(go([&] {  // the second clock has to be there as well
    ClaimRequest newer = claim_of(8);
    newer.stored_at = now_;
    newer.deadline = now_ + hours(1);
    return newer;
  }()));
  const auto replies = ledger().commit(batch, now_);
  ASSERT_TRUE(replies.has_value());
  EXPECT_EQ(reply_as<Swept>(replies->at(1).reply).expired, 1U);
  EXPECT_EQ(reply_as<Claimed>(replies->at(2).reply).attempts, 0);
  static_cast<void>(reply_as<Busy>(replies->at(3).reply));
  EXPECT_EQ(row(1).state, State::claimed);
}

TEST_P(LedgerContract, ALiveRowAtTheHeadDoesNotKeepTheRest) {
  const Claimed blocked = claim(1);
  for (std::uint64_t i = 2; i < 50; ++i) settle(i, claim(i).fence, State::accepted, Effect::sent);
  wait(1, blocked.fence, Effect::not_sent, hours(300));
  now_ = kNoon + hours(49);
  ClaimRequest newer = claim_of(99);
  newer.stored_at = now_;
  newer.deadline = now_ + hours(1);
  static_cast<void>(go(newer));
  EXPECT_EQ(sweep().expired, 48U);
  EXPECT_EQ(row(1).state, State::waiting);
  EXPECT_EQ(reply_as<Done>(go(claim_of(1))).state, State::suppressed);  // still found by its key
}

TEST_P(LedgerContract, AMovedRowIsStillReaped) {
  Settlement waiting = settle_of(1, claim(1).fence, State::waiting, Effect::not_sent);
  waiting.next_at = kNoon + hours(60);
  static_cast<void>(go(waiting));
  settle(2, claim(2).fence, State::accepted, Effect::sent);
  now_ = kNoon + hours(49);
  ClaimRequest newer = claim_of(99);
  newer.stored_at = now_;
  newer.deadline = now_ + hours(1);
  static_cast<void>(go(newer));
  EXPECT_EQ(sweep().expired, 1U);
  now_ = kNoon + hours(61);
  EXPECT_EQ(sweep().ended, 1U);
  EXPECT_EQ(row(1).state, State::suppressed);
}

// ---- commits that fail -----------------------------------------------------------------------

TEST_P(LedgerContract, ARefusedBatchChangedNothing) {
  settle(1, claim(1).fence, State::accepted, Effect::sent);
  wait(2, claim(2).fence, Effect::not_sent, seconds(1));
  const auto entries = outbox().size();
  now_ = kNoon + hours(24);
  for (const CommitStage stage : {CommitStage::write, CommitStage::before_commit}) {
    rig_->fail_next(stage, Errc::exhausted);
    const std::vector<TicketedRequest> batch{{.ticket = Ticket(1), .request = claim_of(3)},
                                             {.ticket = Ticket(2), .request = Sweep{}}};
    const auto refused = ledger().commit(batch, now_);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, Errc::exhausted);
  }
  EXPECT_FALSE(find(3).has_value());
  EXPECT_EQ(row(2).state, State::waiting);
  EXPECT_EQ(outbox().size(), entries);
  EXPECT_EQ(sweep().ended, 1U);  // the agenda has not forgotten it
}

TEST_P(LedgerContract, AfterAFailedCommitTheSameRequestsGoThrough) {
  for (const CommitStage stage :
       {CommitStage::write, CommitStage::before_commit, CommitStage::after_commit}) {
    const auto base = static_cast<std::uint64_t>(stage) * 10;
    const Claimed running = claim(base);
    const std::vector<TicketedRequest> batch{
        {.ticket = Ticket(7),
         .request = settle_of(base, running.fence, State::accepted, Effect::sent)},
        {.ticket = Ticket(8), .request = claim_of(base + 1)}};
    rig_->fail_next(stage, Errc::unavailable);
    const auto failed = ledger().commit(batch, now_);
    ASSERT_FALSE(failed.has_value());
    EXPECT_EQ(failed.error().code, Errc::unavailable);
    EXPECT_FALSE(ledger().commit(batch, now_).has_value());  // not before it has been recovered
    ASSERT_TRUE(ledger().recover().has_value());
    const auto replies = ledger().commit(batch, now_);
    ASSERT_TRUE(replies.has_value());
    const Settled settled = reply_as<Settled>(replies->at(0).reply);
    EXPECT_FALSE(settled.fenced);
    EXPECT_EQ(settled.state, State::accepted);
    const Claimed claimed = reply_as<Claimed>(replies->at(1).reply);
    EXPECT_EQ(claimed.carried, Effect::not_sent);  // no attempt was made in between
    EXPECT_FALSE(claimed.taken_over);
    EXPECT_EQ(row(base + 1).fence, claimed.fence);
  }
  const auto entries = outbox();
  EXPECT_THAT(entries, SizeIs(3));  // each outcome once
}

TEST_P(LedgerContract, RecoveryKeepsTheIncarnation) {
  const Incarnation before = ledger().incarnation();
  claim(1);
  rig_->fail_next(CommitStage::after_commit, Errc::unavailable);
  const std::vector<TicketedRequest> batch{{.ticket = Ticket(1), .request = claim_of(2)}};
  EXPECT_FALSE(ledger().commit(batch, now_).has_value());
  ASSERT_TRUE(ledger().recover().has_value());
  EXPECT_EQ(ledger().incarnation(), before);
  static_cast<void>(reply_as<Busy>(go(claim_of(1))));  // its ticket is open: not stale
  rig_->restart();
  EXPECT_GT(ledger().incarnation(), before);
}

TEST_P(LedgerContract, AnEmptyBatchIsFine) {
  const auto replies = ledger().commit({}, now_);
  ASSERT_TRUE(replies.has_value());
  EXPECT_THAT(*replies, IsEmpty());
}

std::string rig_name(const testing::TestParamInfo<MakeRig>& info) {
  return info.param == &make_memory_rig ? "memory" : "lmdb";
}
INSTANTIATE_TEST_SUITE_P(Every, LedgerContract, testing::Values(&make_memory_rig, &make_lmdb_rig),
                         rig_name);

}  // namespace
}  // namespace sendonce::test
