#include "tests/contract/ledger_contract.hpp"

namespace sendonce::test {
namespace {

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
  ClaimRequest lasting = claim_of(1);
  lasting.deadline = kNoon + hours(300);
  const Claimed blocked = reply_as<Claimed>(go(lasting));
  for (std::uint64_t i = 2; i < 50; ++i) settle(i, claim(i).fence, State::accepted, Effect::sent);
  wait(1, blocked.fence, Effect::not_sent, hours(300));
  now_ = kNoon + hours(49);
  ClaimRequest newer = claim_of(99);
  newer.stored_at = now_;
  newer.deadline = now_ + hours(1);
  static_cast<void>(go(newer));
  EXPECT_EQ(sweep().expired, 48U);
  EXPECT_EQ(row(1).state, State::waiting);
  EXPECT_EQ(reply_as<Waiting>(go(claim_of(1))).until, kNoon + hours(300));  // found by its key
}

TEST_P(LedgerContract, AMovedRowIsStillReaped) {
  ClaimRequest lasting = claim_of(1);
  lasting.deadline = kNoon + hours(60);
  Settlement waiting =
      settle_of(1, reply_as<Claimed>(go(lasting)).fence, State::waiting, Effect::not_sent);
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
