// What a person decides about rows: an open one is nobody's, and nothing that may have been sent is
// sent again unasked.
#include "tests/contract/ledger_contract.hpp"

namespace sendonce::test {
namespace {

class ResolveContract : public LedgerContract {
 protected:
  Resolved resolve(std::uint64_t number, Resolve::As as, bool force = false) {
    Resolve r;
    r.key = key_of(number);
    r.as = as;
    r.force = force;
    r.expires = hours(1);
    r.retention = hours(24 * 10);
    r.text = "by alice: told so";
    return reply_as<Resolved>(go(r));
  }
  // A row that has ended.
  Fence end(std::uint64_t number, State state, Effect effect) {
    const Fence fence = claim(number).fence;
    settle(number, fence, state, effect);
    return fence;
  }
  Done again(std::uint64_t number) { return reply_as<Done>(go(claim_of(number))); }
};

TEST_P(ResolveContract, AFailedRowIsSentOnceMore) {
  end(1, State::failed, Effect::not_sent);
  EXPECT_EQ(again(1).state, State::failed);
  const std::uint32_t before = row(1).revision;
  now_ += hours(24 * 3);  // long after its deadline, and remembered
  const Resolved done = resolve(1, Resolve::As::replay);
  EXPECT_EQ(done.refused, "");
  EXPECT_EQ(done.revision, before + 1);
  EXPECT_EQ(done.deadline, now_ + hours(1));
  EXPECT_THAT(outbox_text(), HasSubstr("sendonce.outcome.orders.waiting"));
  EXPECT_THAT(outbox_text(), HasSubstr("by alice: told so"));
  const Claimed claimed = claim(1);
  EXPECT_EQ(claimed.carried, Effect::not_sent);
  EXPECT_EQ(claimed.attempts, 0);
  settle(1, claimed.fence, State::accepted, Effect::sent);
  EXPECT_EQ(again(1).state, State::accepted);
}

TEST_P(ResolveContract, WhatWasOrMayHaveBeenSentIsNot) {
  end(1, State::accepted, Effect::sent);
  end(2, State::unknown, Effect::maybe_sent);
  for (const std::uint64_t number : {1U, 2U}) {
    const Row before = row(number);
    EXPECT_THAT(resolve(number, Resolve::As::replay).refused, HasSubstr("sent"));
    EXPECT_EQ(row(number), before);
    EXPECT_EQ(again(number).state, before.state);
  }
}

TEST_P(ResolveContract, AnOpenRowIsNobodysToDecideEvenByForce) {
  claim(1);
  const Fence fence = claim(2).fence;
  wait(2, fence, Effect::not_sent, seconds(60));
  for (const std::uint64_t number : {1U, 2U})
    for (const Resolve::As as :
         {Resolve::As::replay, Resolve::As::accepted, Resolve::As::failed, Resolve::As::resend}) {
      const Row before = row(number);
      EXPECT_THAT(resolve(number, as, true).refused, HasSubstr("has not ended"));
      EXPECT_EQ(row(number), before);
    }
}

TEST_P(ResolveContract, WhatIsUnknownToTheLedgerIsRefused) {
  EXPECT_THAT(resolve(7, Resolve::As::replay, true).refused, HasSubstr("no such row"));
}

TEST_P(ResolveContract, ForceSendsOnceMoreAndTheProofComesBackAtTheEnd) {
  const Fence old = end(1, State::accepted, Effect::sent);
  EXPECT_EQ(resolve(1, Resolve::As::replay, true).refused, "");
  const Claimed claimed = claim(1);
  EXPECT_EQ(claimed.carried, Effect::not_sent);
  // The second one fails for good, the first one was sent all the same.
  const Settled settled = settle(1, claimed.fence, State::failed, Effect::not_sent);
  EXPECT_EQ(settled.state, State::accepted);
  EXPECT_EQ(settled.effect, Effect::sent);
  EXPECT_FALSE(settled.dead_letter_due);
  EXPECT_EQ(row(1).receipts.at(0).fence, old);
}

TEST_P(ResolveContract, ADoubtComesBackAtTheEnd) {
  end(1, State::unknown, Effect::maybe_sent);
  EXPECT_EQ(resolve(1, Resolve::As::resend).refused, "");
  const Claimed claimed = claim(1);
  EXPECT_EQ(settle(1, claimed.fence, State::failed, Effect::not_sent).state, State::unknown);
}

TEST_P(ResolveContract, AStaleClaimsDoubtHasNoReceiptAndComesBackToo) {
  claim(1);
  rig_->restart();
  const Claimed second = claim(1);
  Settlement s = settle_of(1, second.fence, State::unknown, Effect::not_sent);
  s.attempted = false;
  ASSERT_EQ(reply_as<Settled>(go(s)).state, State::unknown);
  ASSERT_EQ(resolve(1, Resolve::As::resend).refused, "");
  // Nobody publishes it again: its deadline ends it, in doubt as it was.
  now_ += hours(2);
  static_cast<void>(go(Sweep{}));
  EXPECT_EQ(row(1).state, State::unknown);
  EXPECT_EQ(row(1).effect, Effect::maybe_sent);
}

TEST_P(ResolveContract, AReplayThatNobodyPublishesEndsByItself) {
  end(1, State::failed, Effect::not_sent);
  ASSERT_EQ(resolve(1, Resolve::As::replay).refused, "");
  now_ += hours(2);
  static_cast<void>(go(Sweep{}));
  EXPECT_EQ(row(1).state, State::suppressed);
  EXPECT_EQ(again(1).state, State::suppressed);
}

TEST_P(ResolveContract, TheSameDecisionAgainIsTaken) {
  end(1, State::failed, Effect::not_sent);
  const Resolved first = resolve(1, Resolve::As::replay);
  const Resolved second = resolve(1, Resolve::As::replay);
  EXPECT_EQ(second.refused, "");
  EXPECT_EQ(second.revision, first.revision);
  const Claimed claimed = claim(1);
  EXPECT_THAT(resolve(1, Resolve::As::replay).refused, HasSubstr("has not ended"));
  settle(1, claimed.fence, State::accepted, Effect::sent);
  EXPECT_THAT(resolve(1, Resolve::As::replay).refused, HasSubstr("it was sent"));
}

TEST_P(ResolveContract, ALateReceiptAfterwardsStopsTheRepeat) {
  const Fence first = claim(1).fence;
  rig_->restart();
  const Fence second = claim(1).fence;
  settle(1, second, State::failed, Effect::not_sent);  // ends unknown: the first may have sent
  ASSERT_EQ(resolve(1, Resolve::As::resend).refused, "");
  settle(1, first, State::accepted, Effect::sent);
  EXPECT_EQ(again(1).state, State::accepted);
}

TEST_P(ResolveContract, ASuccessWithoutReceiptDoesNotStopWhatAPersonWants) {
  const Fence fence = claim(1).fence;
  Settlement s = settle_of(1, fence, State::unknown, Effect::maybe_sent);
  s.verdict.receipt_missing = true;
  static_cast<void>(go(s));
  ASSERT_EQ(resolve(1, Resolve::As::resend).refused, "");
  EXPECT_FALSE(claim(1).receipt_missing);
}

TEST_P(ResolveContract, UnknownBecomesWhatAPersonSays) {
  end(1, State::unknown, Effect::maybe_sent);
  end(2, State::unknown, Effect::maybe_sent);
  end(3, State::failed, Effect::not_sent);
  const Row before = row(1);
  EXPECT_EQ(resolve(1, Resolve::As::accepted).state, State::accepted);
  EXPECT_EQ(row(1).effect, Effect::sent);
  EXPECT_EQ(row(1).revision, before.revision + 1);
  EXPECT_EQ(row(1).keep_until, before.keep_until);  // retention does not slide
  EXPECT_EQ(resolve(2, Resolve::As::failed).state, State::failed);
  EXPECT_EQ(row(2).effect, Effect::maybe_sent) << "an effect only ever rises";
  EXPECT_EQ(row(2).dead_letter, DeadLetter::none);
  EXPECT_THAT(resolve(2, Resolve::As::replay).refused, HasSubstr("may have been sent"));
  EXPECT_THAT(resolve(3, Resolve::As::accepted).refused, HasSubstr("only an unknown row"));
  EXPECT_THAT(resolve(3, Resolve::As::resend).refused, HasSubstr("only an unknown row"));
  for (const std::uint64_t number : {1U, 2U}) EXPECT_EQ(again(number).state, row(number).state);
}

TEST_P(ResolveContract, NeverLate) {
  end(1, State::failed, Effect::not_sent);
  Resolve r;
  r.key = key_of(1);
  r.as = Resolve::As::replay;
  r.expires = hours(1);
  r.retention = hours(24 * 10);
  r.not_after = now_ - seconds(1);
  r.text = "t";
  EXPECT_THAT(reply_as<Resolved>(go(r)).refused, HasSubstr("expired"));
  r.not_after = now_ + seconds(60);
  EXPECT_EQ(reply_as<Resolved>(go(r)).deadline, r.not_after);
}

// Its message may hold other targets, whose rows are forgotten by then.
TEST_P(ResolveContract, NotBeyondTheMemoryOfItsMessage) {
  end(1, State::failed, Effect::not_sent);
  end(2, State::failed, Effect::not_sent);
  const WallTime created = row(1).created;
  now_ = created + hours(24 * 10) - minutes(10);
  EXPECT_EQ(resolve(1, Resolve::As::replay).deadline, created + hours(24 * 10));
  now_ = row(2).created + hours(24 * 10) + seconds(1);
  EXPECT_THAT(resolve(2, Resolve::As::replay).refused, HasSubstr("remembers"));
}

TEST_P(ResolveContract, ADroppedLetterIsNotedInItsRow) {
  end(1, State::failed, Effect::not_sent);
  const Row before = row(1);
  EXPECT_EQ(resolve(1, Resolve::As::drop).state, State::failed);
  EXPECT_EQ(row(1).reason, "by alice: told so");
  EXPECT_EQ(row(1).revision, before.revision + 1);
  claim(2);
  EXPECT_THAT(resolve(2, Resolve::As::drop).refused, HasSubstr("has not ended"));
}

TEST_P(ResolveContract, ALetterThatIsOwedIsWaitedFor) {
  const Fence fence = claim(1).fence;
  Settlement s = settle_of(1, fence, State::failed, Effect::not_sent);
  s.dead_letter = true;
  static_cast<void>(go(s));
  EXPECT_THAT(resolve(1, Resolve::As::replay, true).refused, HasSubstr("not stored yet"));
  static_cast<void>(go(DeadLetterDone{.scope = {}, .key = key_of(1)}));
  EXPECT_EQ(resolve(1, Resolve::As::replay).refused, "");
  // It fails again, and owes a letter again.
  const Fence next = claim(1).fence;
  s.fence = next;
  EXPECT_TRUE(reply_as<Settled>(go(s)).dead_letter_due);
}

TEST_P(ResolveContract, ADecisionSurvivesARestart) {
  end(1, State::failed, Effect::not_sent);
  resolve(1, Resolve::As::replay);
  const Row before = row(1);
  rig_->restart();
  EXPECT_EQ(row(1), before);
  static_cast<void>(claim(1));
}

// ---- devices ----------------------------------------------------------------------------------

DeviceHash device_of(std::uint8_t number) {
  DeviceHash hash;
  hash.bytes.fill(number);
  return hash;
}

TEST_P(ResolveContract, ADeviceIsWhatAPersonSays) {
  const auto set = [&](DeviceState state) {
    return reply_as<FoundDevice>(go(SetDevice{.hash = device_of(1),
                                              .kind = "apns",
                                              .provider = "apns",
                                              .state = state,
                                              .text = "called so by alice: stolen"}));
  };
  const auto known = [&] {
    return reply_as<FoundDevice>(go(FindDevice{.hash = device_of(1)})).row;
  };
  EXPECT_FALSE(known().has_value());
  EXPECT_FALSE(set(DeviceState::revoked).row.has_value());
  ASSERT_TRUE(known().has_value());
  EXPECT_EQ(known()->state, DeviceState::revoked);
  EXPECT_EQ(known()->since, now_);
  ClaimRequest request = claim_of(1);
  request.device = DeviceClaim{.hash = device_of(1), .registered_at = now_ - hours(1)};
  EXPECT_EQ(reply_as<Done>(go(request)).state, State::suppressed)
      << "a revoked device gets nothing";
  rig_->restart();
  EXPECT_EQ(known()->state, DeviceState::revoked);
  EXPECT_EQ(set(DeviceState::active).row->state, DeviceState::revoked);
  ASSERT_TRUE(known().has_value());
  EXPECT_EQ(known()->state, DeviceState::active);
  request = claim_of(2);
  request.device = DeviceClaim{.hash = device_of(1), .registered_at = now_ - hours(1)};
  static_cast<void>(reply_as<Claimed>(go(request)));
  const std::string events = outbox_text();
  EXPECT_THAT(events, HasSubstr("sendonce.device.apns.revoked"));
  EXPECT_THAT(events, HasSubstr("sendonce.device.apns.active"));
  EXPECT_THAT(events, HasSubstr("by alice: stolen"));
}

TEST_P(ResolveContract, ASuspectDeviceStillGetsIt) {
  static_cast<void>(go(SetDevice{.hash = device_of(1),
                                 .kind = "apns",
                                 .provider = "apns",
                                 .state = DeviceState::suspect,
                                 .text = "t"}));
  ClaimRequest request = claim_of(1);
  request.device = DeviceClaim{.hash = device_of(1), .registered_at = std::nullopt};
  static_cast<void>(reply_as<Claimed>(go(request)));
}

INSTANTIATE_TEST_SUITE_P(Every, ResolveContract, testing::Values(&make_memory_rig, &make_lmdb_rig),
                         [](const auto& of) { return of.index == 0 ? "memory" : "lmdb"; });

}  // namespace
}  // namespace sendonce::test
