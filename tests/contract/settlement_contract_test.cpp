#include "tests/contract/ledger_contract.hpp"

namespace sendonce::test {
namespace {

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

// Whatever becomes of a claim, the next one knows what it may have sent.
TEST_P(LedgerContract, TheFirstCallThatMayHaveBeenSentIsRemembered) {
  const auto claim_for = [&](std::uint8_t call) {
    ClaimRequest request = claim_of(1);
    request.request.bytes[0] = call;
    return reply_as<Claimed>(go(request));
  };
  const auto is = [](std::uint8_t call) {
    RequestHash hash;
    hash.bytes[0] = call;
    return hash;
  };
  wait(1, claim_for(6).fence, Effect::not_sent, seconds(0));
  EXPECT_EQ(claim_for(7).request, is(7)) << "the first was surely not sent";
  rig_->restart();
  const Claimed after_crash = claim_for(8);
  EXPECT_EQ(after_crash.carried, Effect::maybe_sent);
  EXPECT_EQ(after_crash.request, is(7));
  wait(1, after_crash.fence, Effect::not_sent, seconds(0));
  EXPECT_EQ(claim_for(9).request, is(7));
}

// Under another policy nobody kept what the first call was: no later one is known to be the same.
TEST_P(LedgerContract, ACallThatNobodyKnowsIsNeverTheSame) {
  static_cast<void>(claim(1));
  rig_->restart();
  ClaimRequest repeat = claim_of(1);
  repeat.request.bytes[0] = 5;
  const Claimed again = reply_as<Claimed>(go(repeat));
  EXPECT_EQ(again.carried, Effect::maybe_sent);
  EXPECT_EQ(again.request, RequestHash{});
  EXPECT_EQ(again.created, claim_of(1).stored_at);
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

// Found by the simulator: a clock that was ahead for a moment kept a row open for as long.
TEST_P(LedgerContract, NothingWaitsForLongerThanItMayBeSent) {
  wait(1, claim(1).fence, Effect::not_sent, std::chrono::hours(1000));
  EXPECT_EQ(row(1).next_at, row(1).deadline);
  ClaimRequest looking = claim_of(2);
  looking.look_for = seconds(90);
  wait(2, reply_as<Claimed>(go(looking)).fence, Effect::maybe_sent, std::chrono::hours(1000));
  EXPECT_EQ(row(2).next_at, row(2).deadline + seconds(90));
}

}  // namespace
}  // namespace sendonce::test
