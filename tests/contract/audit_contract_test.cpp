// What people do is kept with what came of it, by every ledger alike.
#include "tests/contract/ledger_contract.hpp"

namespace sendonce::test {
namespace {

class AuditContract : public LedgerContract {
 protected:
  AuditEntry deed(const std::string& verb, const std::string& object = "o") {
    at_ += seconds(1);
    return {.at = at_,
            .uid = 1000,
            .user = "alice",
            .by = "al",
            .verb = verb,
            .object = object,
            .detail = "d",
            .reason = "why",
            .result = "done"};
  }
  void note(const AuditEntry& entry) {
    static_cast<void>(reply_as<AuditNoted>(go(NoteAudit{entry})));
  }
  std::vector<AuditEntry> audit(std::size_t most = 1000, AuditSeq before = AuditRead{}.before) {
    return reply_as<AuditPage>(go(AuditRead{.before = before, .max_entries = most})).entries;
  }
  Resolve resolve(std::uint64_t number, Resolve::As as, bool force = false) {
    Resolve r;
    r.key = key_of(number);
    r.as = as;
    r.force = force;
    r.expires = hours(1);
    r.retention = hours(48);
    r.text = "by alice: why";
    r.audit = deed("resolve", "key");
    return r;
  }
  void unknown_row(std::uint64_t number) {
    const Claimed claimed = claim(number);
    static_cast<void>(settle(number, claimed.fence, State::unknown, Effect::maybe_sent));
  }
  WallTime at_ = kNoon;
};

TEST_P(AuditContract, EntriesAreReadFromTheNewest) {
  EXPECT_THAT(audit(), IsEmpty());
  const AuditEntry first = deed("pause");
  note(first);
  note(deed("resume"));
  note(deed("reload"));
  const auto all = audit();
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[0].verb, "reload");
  EXPECT_EQ(all[2].verb, "pause");
  EXPECT_GT(all[0].seq, all[1].seq);
  AuditEntry stored = all[2];
  stored.seq = {};
  EXPECT_EQ(stored, first);
  EXPECT_THAT(audit(2), SizeIs(2));
  const auto rest = audit(1000, all[1].seq);
  ASSERT_THAT(rest, SizeIs(1));
  EXPECT_EQ(rest[0].verb, "pause");
  EXPECT_THAT(audit(1000, all[2].seq), IsEmpty());
}

TEST_P(AuditContract, TheyOutliveARestart) {
  AuditEntry nobody = deed("reload");
  nobody.uid.reset();
  note(nobody);
  rig_->restart();
  const auto all = audit();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_FALSE(all[0].uid.has_value());
  note(deed("pause"));
  EXPECT_GT(audit()[0].seq, all[0].seq) << "a sequence is used once";
}

TEST_P(AuditContract, ADecisionIsKeptWithWhatCameOfIt) {
  unknown_row(1);
  EXPECT_TRUE(reply_as<Resolved>(go(resolve(1, Resolve::As::accepted))).refused.empty());
  EXPECT_FALSE(reply_as<Resolved>(go(resolve(1, Resolve::As::failed))).refused.empty());
  EXPECT_FALSE(reply_as<Resolved>(go(resolve(2, Resolve::As::failed))).refused.empty());
  const auto all = audit();
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[2].result, "done, unknown -> accepted");
  EXPECT_THAT(all[1].result, HasSubstr("refused: only an unknown row is open"));
  EXPECT_THAT(all[0].result, HasSubstr("refused: the ledger has no such row"));
  EXPECT_EQ(all[0].reason, "why");
}

TEST_P(AuditContract, ADeviceIsKeptWithWhatItWas) {
  SetDevice set{.kind = "apns", .provider = "apns", .state = DeviceState::revoked, .text = "t"};
  set.audit = deed("device_set");
  static_cast<void>(go(set));
  set.state = DeviceState::active;
  set.audit = deed("device_set");
  static_cast<void>(go(set));
  const auto all = audit();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[1].result, "done, was active");
  EXPECT_EQ(all[0].result, "done, was revoked");
}

TEST_P(AuditContract, WhatIsNotAskedForByAPersonIsNotKept) {
  unknown_row(1);
  Resolve silent = resolve(1, Resolve::As::accepted);
  silent.audit.reset();
  static_cast<void>(go(silent));
  EXPECT_THAT(audit(), IsEmpty());
}

// With the change or not at all.
TEST_P(AuditContract, AFailedCommitKeepsNeither) {
  unknown_row(1);
  rig_->fail_next(CommitStage::before_commit, Errc::exhausted);
  const std::vector<TicketedRequest> batch{
      {.ticket = Ticket(1), .request = resolve(1, Resolve::As::accepted)}};
  EXPECT_FALSE(ledger().commit(batch, now_).has_value());
  EXPECT_EQ(row(1).state, State::unknown);
  EXPECT_THAT(audit(), IsEmpty());
}

// The disk has it, and nobody was told: the same batch again changes nothing and adds nothing.
TEST_P(AuditContract, ARepeatedCommitIsKeptOnce) {
  unknown_row(1);
  for (const LedgerRequest& request : {LedgerRequest(resolve(1, Resolve::As::accepted)),
                                       LedgerRequest(NoteAudit{deed("pause")})}) {
    const std::vector<TicketedRequest> batch{{.ticket = Ticket(1), .request = request}};
    rig_->fail_next(CommitStage::after_commit, Errc::unavailable);
    EXPECT_FALSE(ledger().commit(batch, now_).has_value());
    ASSERT_TRUE(ledger().recover().has_value());
    ASSERT_TRUE(ledger().commit(batch, now_).has_value());
  }
  const auto all = audit();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[1].result, "done, unknown -> accepted");
  // A person who says it once more is another matter.
  static_cast<void>(go(resolve(1, Resolve::As::accepted)));
  EXPECT_EQ(audit()[0].result, "done, was so already");
}

TEST_P(AuditContract, TheOldestGoWhenThereAreTooMany) {
  std::vector<TicketedRequest> batch;
  for (std::size_t i = 0; i < kAuditKept + 7; ++i)
    batch.push_back({.ticket = Ticket(i), .request = NoteAudit{deed("v" + std::to_string(i))}});
  ASSERT_TRUE(ledger().commit(batch, now_).has_value());
  const auto all = audit(2 * kAuditKept);
  ASSERT_THAT(all, SizeIs(kAuditKept));
  EXPECT_EQ(all.back().verb, "v7");
  EXPECT_EQ(all.front().verb, "v" + std::to_string(kAuditKept + 6));
  rig_->restart();
  note(deed("last"));
  EXPECT_THAT(audit(2 * kAuditKept), SizeIs(kAuditKept));
}

// Also a batch that is given up leaves the oldest where they were.
TEST_P(AuditContract, AFailedCommitTakesNoneAway) {
  std::vector<TicketedRequest> batch;
  for (std::size_t i = 0; i < kAuditKept; ++i)
    batch.push_back({.ticket = Ticket(i), .request = NoteAudit{deed("v" + std::to_string(i))}});
  ASSERT_TRUE(ledger().commit(batch, now_).has_value());
  rig_->fail_next(CommitStage::before_commit, Errc::exhausted);
  const std::vector<TicketedRequest> more{{.ticket = Ticket(1), .request = NoteAudit{deed("x")}}};
  EXPECT_FALSE(ledger().commit(more, now_).has_value());
  EXPECT_EQ(audit(kAuditKept).back().verb, "v0");
}

INSTANTIATE_TEST_SUITE_P(Every, AuditContract, testing::Values(&make_memory_rig, &make_lmdb_rig),
                         [](const auto& of) { return of.index == 0 ? "memory" : "lmdb"; });

}  // namespace
}  // namespace sendonce::test
