// A device belongs to the recipient of its first accepted send; another one is told of, or refused.
#include "tests/contract/ledger_contract.hpp"

namespace sendonce::test {
namespace {

constexpr LookupHash kAnn(0xA11CE);
constexpr LookupHash kBob(0xB0B);
constexpr LookupHash kCem(0xCE4);

DeviceHash device_of(std::uint8_t number) {
  DeviceHash hash;
  hash.bytes.fill(number);
  return hash;
}

class BindingContract : public LedgerContract {
 protected:
  ClaimRequest request(std::uint64_t number, LookupHash recipient,
                       std::optional<WallTime> registered, Reuse reuse = Reuse::report) {
    ClaimRequest r = claim_of(number);
    r.recipient = recipient;
    r.stored_at = now_;
    r.deadline = now_ + hours(24);
    r.device = DeviceClaim{.hash = device_of(1),
                           .registered_at = registered,
                           .reuse = reuse,
                           .kind = reuse == Reuse::allow ? "" : "apns"};
    return r;
  }
  Settlement accepted(const ClaimRequest& r, Fence fence) {
    Settlement s;
    s.key = r.key;
    s.fence = fence;
    s.state = State::accepted;
    s.verdict.name = VerdictClass::accepted;
    s.verdict.effect = Effect::sent;
    s.counted = true;
    s.retention = hours(48);
    s.bind = Bind{r.device->hash, r.recipient, r.device->registered_at};
    return s;
  }
  // A delivery from claim to receipt. Whether the device was another's.
  bool send(LookupHash recipient, std::optional<WallTime> registered) {
    const ClaimRequest r = request(++number_, recipient, registered);
    const auto claimed = reply_as<Claimed>(go(r));
    static_cast<void>(go(accepted(r, claimed.fence)));
    return claimed.reused;
  }
  std::size_t told() {
    const std::string all = outbox_text();
    std::size_t n = 0;
    const std::string_view change = R"("change":"reused")";
    for (std::size_t at = all.find(change); at != std::string::npos; at = all.find(change, at + 1))
      ++n;
    return n;
  }

  std::uint64_t number_ = 0;
};

TEST_P(BindingContract, TheFirstAcceptedSendBinds) {
  EXPECT_FALSE(send(kAnn, now_ - hours(1)));
  EXPECT_FALSE(send(kAnn, now_ - hours(1)));
  rig_->restart();
  EXPECT_TRUE(send(kBob, now_ - hours(2)));
  EXPECT_TRUE(send(kBob, now_ - hours(1))) << "not newer";
  EXPECT_TRUE(send(kBob, std::nullopt)) << "nobody says that it changed hands";
  EXPECT_FALSE(send(kAnn, std::nullopt));
  EXPECT_EQ(told(), 1U) << "once, not with every send";
  const std::string events = outbox_text();
  EXPECT_THAT(events, HasSubstr("sendonce.device.apns.reused"));
  EXPECT_THAT(events, HasSubstr(R"("recipient":"0000000000000b0b")"));
  EXPECT_THAT(events, HasSubstr(R"("bound_to":"00000000000a11ce")"));
  EXPECT_THAT(events, HasSubstr(R"("refused":false)"));
  EXPECT_THAT(events, HasSubstr(R"("ref":"dev-1")"));
}

TEST_P(BindingContract, WhatWasNotAcceptedBindsNobody) {
  for (const auto& [state, effect] :
       {std::pair(State::failed, Effect::not_sent), std::pair(State::unknown, Effect::maybe_sent),
        std::pair(State::waiting, Effect::not_sent)}) {
    const ClaimRequest r = request(++number_, kAnn, now_);
    Settlement s = accepted(r, reply_as<Claimed>(go(r)).fence);
    s.state = state;
    s.verdict.effect = effect;
    s.next_at = now_ + hours(1);
    static_cast<void>(go(s));
  }
  EXPECT_FALSE(send(kBob, std::nullopt));
  EXPECT_TRUE(send(kAnn, std::nullopt)) << "it is Bob's now";
}

// Log out, log in: the phone registers anew.
TEST_P(BindingContract, ANewerRegistrationHandsItOver) {
  const WallTime first = now_ - hours(3);
  send(kAnn, first);
  EXPECT_FALSE(send(kBob, first + hours(1)));
  EXPECT_TRUE(send(kAnn, first)) << "the old registration of its old owner";
  EXPECT_EQ(told(), 1U);
  EXPECT_FALSE(send(kAnn, first + hours(2))) << "she is back";
  EXPECT_TRUE(send(kBob, first + hours(1)));
  EXPECT_EQ(told(), 2U);
}

TEST_P(BindingContract, ALaterRegistrationOfTheSameRecipientCounts) {
  const WallTime first = now_ - hours(3);
  send(kAnn, first);
  send(kAnn, first + hours(2));
  EXPECT_TRUE(send(kBob, first + hours(1)));
  send(kAnn, first) /* an older one takes nothing back */;
  EXPECT_TRUE(send(kBob, first + hours(1)));
}

TEST_P(BindingContract, ARegistrationOfTomorrowDoesNotLockTheDevice) {
  send(kAnn, now_ + hours(24 * 365));
  now_ += hours(1);
  EXPECT_FALSE(send(kBob, now_));
}

TEST_P(BindingContract, EachOtherRecipientInARowIsToldOf) {
  send(kAnn, now_);
  send(kBob, std::nullopt);
  send(kBob, std::nullopt);
  send(kCem, std::nullopt);
  EXPECT_EQ(told(), 2U);
}

TEST_P(BindingContract, RefusedItFailsAndIsDeadLettered) {
  send(kAnn, now_);
  const ClaimRequest r = request(++number_, kBob, now_, Reuse::refuse);
  const auto due = reply_as<DeadLetterDue>(go(r));
  EXPECT_EQ(due.reason, "token_reused");
  EXPECT_TRUE(due.ended_now);
  const auto stored = row_of(go(Find{.scope = {}, .key = r.key}));
  ASSERT_TRUE(stored.has_value());
  EXPECT_EQ(stored->state, State::failed);
  EXPECT_EQ(stored->fault, Fault::mismatch);
  EXPECT_EQ(stored->effect, Effect::not_sent);
  EXPECT_EQ(stored->dead_letter, DeadLetter::due);
  EXPECT_FALSE(reply_as<DeadLetterDue>(go(r)).ended_now) << "the second time it had ended";
  static_cast<void>(go(DeadLetterDone{.scope = {}, .key = r.key}));
  EXPECT_EQ(reply_as<Done>(go(r)).state, State::failed);
  EXPECT_THAT(outbox_text(), HasSubstr(R"("refused":true)"));
  EXPECT_EQ(told(), 1U);
  // With a newer registration it is sent.
  static_cast<void>(
      reply_as<Claimed>(go(request(++number_, kBob, now_ + seconds(1), Reuse::refuse))));
}

// Law 6: what may have been sent does not end as failed.
TEST_P(BindingContract, RefusedInDoubtItEndsUnknown) {
  const ClaimRequest r = request(++number_, kBob, std::nullopt, Reuse::refuse);
  static_cast<void>(reply_as<Claimed>(go(r)));
  rig_->restart();  // its claim is stale
  send(kAnn, now_);
  EXPECT_EQ(reply_as<Done>(go(r)).state, State::unknown);
}

TEST_P(BindingContract, AllowedNothingIsKeptOrTold) {
  ClaimRequest r = request(++number_, kAnn, now_, Reuse::allow);
  Settlement s = accepted(r, reply_as<Claimed>(go(r)).fence);
  s.bind.reset();
  static_cast<void>(go(s));
  EXPECT_FALSE(send(kBob, std::nullopt)) << "nobody had been bound";
  r = request(++number_, kCem, std::nullopt, Reuse::allow);
  EXPECT_FALSE(reply_as<Claimed>(go(r)).reused);
  EXPECT_EQ(told(), 0U);
}

// The two events of one claim are two: readers drop repeats by their ids.
TEST_P(BindingContract, AReuseAndTheDeathOfADeviceAreTwoEvents) {
  send(kAnn, now_);
  const ClaimRequest r = request(++number_, kBob, std::nullopt);
  Settlement s = accepted(r, reply_as<Claimed>(go(r)).fence);
  s.state = State::failed;
  s.verdict.effect = Effect::not_sent;
  s.verdict.fault = Fault::device;
  s.device = Settlement::DeviceChange{.hash = device_of(1), .kind = "apns", .change = "invalid"};
  static_cast<void>(go(s));
  const std::string events = outbox_text();
  const auto id_before = [&](std::string_view text) {
    const std::size_t from = events.rfind(R"("id":")", events.find(text));
    return events.substr(from, events.find(',', from) - from);
  };
  EXPECT_NE(id_before(R"("change":"reused")"), id_before(R"("change":"invalid")"));
}

TEST_P(BindingContract, WithinOneBatch) {
  const ClaimRequest ann = request(1, kAnn, now_);
  const Fence fence = reply_as<Claimed>(go(ann)).fence;
  const ClaimRequest bob = request(2, kBob, now_);
  const std::vector<TicketedRequest> batch{{Ticket(1), accepted(ann, fence)}, {Ticket(2), bob}};
  const auto replies = ledger().commit(batch, now_);
  ASSERT_TRUE(replies.has_value());
  EXPECT_TRUE(reply_as<Claimed>((*replies)[1].reply).reused);
}

TEST_P(BindingContract, ALostCommitTellsOnce) {
  send(kAnn, now_);
  const std::vector<TicketedRequest> batch{{Ticket(9), request(++number_, kBob, std::nullopt)}};
  for (const auto& [stage, code] : {std::pair(CommitStage::before_commit, Errc::exhausted),
                                    std::pair(CommitStage::before_commit, Errc::unavailable),
                                    std::pair(CommitStage::after_commit, Errc::unavailable)}) {
    rig_->fail_next(stage, code);
    ASSERT_FALSE(ledger().commit(batch, now_).has_value());
    if (code == Errc::unavailable) {
      ASSERT_TRUE(ledger().recover().has_value());
    }
  }
  ASSERT_TRUE(ledger().commit(batch, now_).has_value());
  EXPECT_EQ(told(), 1U);
}

TEST_P(BindingContract, WhatIsNotUsedIsForgotten) {
  send(kAnn, now_);
  const auto later = [&](Duration by) {
    now_ += by;
    // The clock of memory follows the messages.
    ClaimRequest other = claim_of(900 + ++number_);
    other.stored_at = now_;
    other.deadline = now_ + hours(1);
    static_cast<void>(go(other));
    static_cast<void>(sweep());
  };
  later(kBindingKept - hours(24));
  EXPECT_TRUE(send(kBob, std::nullopt)) << "not yet";
  EXPECT_FALSE(send(kAnn, std::nullopt)) << "used again, kept for longer";
  later(kBindingKept - hours(24));
  EXPECT_TRUE(send(kBob, std::nullopt));
  later(hours(48));
  EXPECT_FALSE(send(kBob, std::nullopt));
}

// One wrong clock forgets nothing (law 13).
TEST_P(BindingContract, AClockThatJumpsAheadForgetsNothing) {
  send(kAnn, now_);
  const WallTime then = now_;
  now_ += kBindingKept * 2;
  for (int i = 0; i < 3; ++i) static_cast<void>(sweep());
  now_ = then;
  EXPECT_TRUE(send(kBob, std::nullopt));
}

INSTANTIATE_TEST_SUITE_P(Every, BindingContract, testing::Values(&make_memory_rig, &make_lmdb_rig),
                         [](const auto& of) { return of.index == 0 ? "memory" : "lmdb"; });

}  // namespace
}  // namespace sendonce::test
