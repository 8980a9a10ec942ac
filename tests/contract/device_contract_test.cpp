// What the application reports about devices: it comes at least once and late, and the newest word
// holds.
#include "tests/contract/ledger_contract.hpp"

namespace sendonce::test {
namespace {

DeviceHash device_of(std::uint8_t number) {
  DeviceHash hash;
  hash.bytes.fill(number);
  return hash;
}

class DeviceContract : public LedgerContract {
 protected:
  FoundDevice report(DeviceState state, WallTime at, std::string text = "reported") {
    return reply_as<FoundDevice>(go(SetDevice{.hash = device_of(1),
                                              .kind = "apns",
                                              .provider = "apns",
                                              .state = state,
                                              .text = std::move(text),
                                              .reported = at}));
  }
  FoundDevice person(DeviceState state) {
    return reply_as<FoundDevice>(go(SetDevice{.hash = device_of(1),
                                              .kind = "apns",
                                              .provider = "apns",
                                              .state = state,
                                              .text = "by alice"}));
  }
  // What its provider says of a device: that it is dead, since then.
  void provider_says_dead(std::uint64_t number, WallTime since) {
    const Fence fence = claim(number).fence;
    Settlement s = settle_of(number, fence, State::failed, Effect::not_sent);
    s.verdict.fault = Fault::device;
    s.verdict.invalid_since = since;
    s.device = Settlement::DeviceChange{.hash = device_of(1), .kind = "apns", .change = "invalid"};
    static_cast<void>(go(s));
  }
  std::optional<DeviceRow> known() {
    return reply_as<FoundDevice>(go(FindDevice{.hash = device_of(1)})).row;
  }
  DeviceState state() {
    const auto row = known();
    EXPECT_TRUE(row.has_value());
    return row ? row->state : DeviceState::active;
  }
  // Whether a new delivery to the device would be claimed.
  bool is_sent(std::uint64_t number, std::optional<WallTime> registered) {
    ClaimRequest request = claim_of(number);
    request.device = DeviceClaim{.hash = device_of(1), .registered_at = registered};
    const LedgerReply reply = go(request);
    return std::holds_alternative<Claimed>(std::get<ClaimReply>(reply));
  }
  std::size_t events() {
    const std::string all = outbox_text();
    std::size_t n = 0;
    for (std::size_t at = all.find(kDeviceEvent); at != std::string::npos;
         at = all.find(kDeviceEvent, at + 1))
      ++n;
    return n;
  }

  static constexpr const char* kDeviceEvent = "dev.sendonce.device.v1";
};

TEST_P(DeviceContract, ARevokedDeviceGetsNothingUntilItRegistersAgain) {
  const WallTime at = now_ - minutes(5);
  EXPECT_TRUE(report(DeviceState::revoked, at).changed);
  EXPECT_EQ(known()->since, at);
  EXPECT_FALSE(is_sent(1, std::nullopt));
  EXPECT_FALSE(is_sent(2, at));
  EXPECT_TRUE(is_sent(3, at + seconds(1)));
  EXPECT_EQ(state(), DeviceState::revoked) << "the older registrations stay revoked";
  EXPECT_THAT(outbox_text(), HasSubstr("sendonce.device.apns.revoked"));
  EXPECT_THAT(outbox_text(), HasSubstr("\"reported_at\":"));
}

TEST_P(DeviceContract, ASuspectDeviceGetsEverything) {
  EXPECT_TRUE(report(DeviceState::suspect, now_).changed);
  EXPECT_TRUE(is_sent(1, std::nullopt));
  EXPECT_TRUE(is_sent(2, now_ - hours(1)));
  EXPECT_EQ(state(), DeviceState::suspect);
}

TEST_P(DeviceContract, TheSameReportAgainIsOne) {
  const WallTime at = now_ - minutes(5);
  for (const DeviceState state : {DeviceState::suspect, DeviceState::revoked}) {
    const std::size_t before = events();
    EXPECT_TRUE(report(state, at).changed);
    for (int i = 0; i < 3; ++i) {
      rig_->restart();
      now_ += minutes(1);
      EXPECT_FALSE(report(state, at).changed);
    }
    EXPECT_EQ(events(), before + 1);
  }
}

TEST_P(DeviceContract, AnOlderReportComesTooLate) {
  report(DeviceState::revoked, now_ - minutes(10));
  EXPECT_TRUE(report(DeviceState::active, now_ - minutes(5)).changed);
  rig_->restart();
  EXPECT_FALSE(report(DeviceState::revoked, now_ - minutes(10)).changed);
  EXPECT_FALSE(report(DeviceState::suspect, now_ - minutes(6)).changed);
  EXPECT_EQ(state(), DeviceState::active);
  EXPECT_TRUE(is_sent(1, std::nullopt));
}

TEST_P(DeviceContract, APersonsWordIsNotTakenBackByAnOldReport) {
  report(DeviceState::revoked, now_ - minutes(10));
  person(DeviceState::active);
  EXPECT_FALSE(report(DeviceState::revoked, now_ - minutes(10)).changed);
  EXPECT_TRUE(is_sent(1, std::nullopt));
  now_ += minutes(1);
  EXPECT_TRUE(report(DeviceState::revoked, now_).changed) << "but by a new one";
  EXPECT_FALSE(is_sent(2, std::nullopt));
  person(DeviceState::active);
  EXPECT_TRUE(is_sent(3, std::nullopt));
}

TEST_P(DeviceContract, RevokedOnceMoreAfterARegistration) {
  const WallTime registered = now_ - minutes(5);
  report(DeviceState::revoked, now_ - minutes(10));
  EXPECT_TRUE(is_sent(1, registered));
  EXPECT_TRUE(report(DeviceState::revoked, now_).changed);
  EXPECT_FALSE(is_sent(2, registered));
}

// Each repeat of a report without a time is stored anew: it must not silence who has registered.
TEST_P(DeviceContract, ARepeatWithoutATimeIsNothingNew) {
  const WallTime at = now_;
  const auto repeat = [&] {
    now_ += minutes(10);
    rig_->restart();
    return reply_as<FoundDevice>(go(SetDevice{.hash = device_of(1),
                                              .kind = "apns",
                                              .provider = "apns",
                                              .state = DeviceState::revoked,
                                              .text = "reported",
                                              .reported = now_,
                                              .undated = true}))
        .changed;
  };
  EXPECT_TRUE(report(DeviceState::revoked, at).changed);
  const std::size_t told = events();
  const WallTime registered = at + minutes(5);
  EXPECT_TRUE(is_sent(1, registered));
  EXPECT_FALSE(repeat());
  EXPECT_FALSE(repeat());
  EXPECT_EQ(known()->since, at);
  EXPECT_EQ(events(), told);
  EXPECT_TRUE(is_sent(2, registered));
  EXPECT_FALSE(is_sent(3, at)) << "the older registration stays revoked";
  EXPECT_TRUE(report(DeviceState::active, now_).changed);
  EXPECT_TRUE(repeat()) << "another state is news";
}

TEST_P(DeviceContract, ActiveIsNoRowOfItsOwn) {
  EXPECT_FALSE(report(DeviceState::active, now_).changed);
  EXPECT_FALSE(known().has_value());
  EXPECT_EQ(events(), 0U);
}

TEST_P(DeviceContract, SuspicionDoesNotBringTheDeadBack) {
  provider_says_dead(1, now_ - hours(1));
  EXPECT_FALSE(report(DeviceState::suspect, now_).changed);
  EXPECT_EQ(state(), DeviceState::invalid);
  EXPECT_TRUE(report(DeviceState::revoked, now_).changed);
  EXPECT_FALSE(report(DeviceState::suspect, now_ + minutes(1)).changed);
  EXPECT_FALSE(is_sent(2, std::nullopt));
  EXPECT_TRUE(report(DeviceState::active, now_ + minutes(2)).changed);
  EXPECT_TRUE(is_sent(3, std::nullopt));
}

TEST_P(DeviceContract, AProviderMayEndWhatWasCalledActive) {
  report(DeviceState::suspect, now_ - hours(2));
  report(DeviceState::active, now_ - hours(1));
  provider_says_dead(1, now_);
  EXPECT_EQ(state(), DeviceState::invalid);
  EXPECT_FALSE(is_sent(2, std::nullopt));
}

TEST_P(DeviceContract, OfOneBatchTheOrderHolds) {
  const auto request = [&](DeviceState state) {
    return SetDevice{.hash = device_of(1),
                     .kind = "apns",
                     .provider = "apns",
                     .state = state,
                     .text = "reported",
                     .reported = now_};
  };
  ClaimRequest claim = claim_of(1);
  claim.device = DeviceClaim{.hash = device_of(1), .registered_at = std::nullopt};
  const std::vector<TicketedRequest> batch{{Ticket(1), request(DeviceState::revoked)},
                                           {Ticket(2), claim},
                                           {Ticket(3), request(DeviceState::active)},
                                           {Ticket(4), request(DeviceState::active)}};
  const auto replies = ledger().commit(batch, now_);
  ASSERT_TRUE(replies.has_value());
  EXPECT_TRUE(reply_as<FoundDevice>((*replies)[0].reply).changed);
  EXPECT_EQ(reply_as<Done>((*replies)[1].reply).state, State::suppressed);
  EXPECT_TRUE(reply_as<FoundDevice>((*replies)[2].reply).changed);
  EXPECT_FALSE(reply_as<FoundDevice>((*replies)[3].reply).changed);
  EXPECT_EQ(state(), DeviceState::active);
}

// A commit that is lost at any stage, and the same report again: one event, one state.
TEST_P(DeviceContract, ALostCommitLosesNoReport) {
  std::size_t told = 0;
  for (const auto& [stage, code] : {std::pair(CommitStage::before_commit, Errc::exhausted),
                                    std::pair(CommitStage::before_commit, Errc::unavailable),
                                    std::pair(CommitStage::after_commit, Errc::unavailable)}) {
    now_ += minutes(1);
    const SetDevice request{.hash = device_of(1),
                            .kind = "apns",
                            .provider = "apns",
                            .state = DeviceState::revoked,
                            .text = "reported",
                            .reported = now_};
    const std::vector<TicketedRequest> batch{{Ticket(1), request}};
    rig_->fail_next(stage, code);
    const auto lost = ledger().commit(batch, now_);
    ASSERT_FALSE(lost.has_value());
    if (lost.error().code != Errc::exhausted) {
      ASSERT_TRUE(ledger().recover().has_value());
    }
    ASSERT_TRUE(ledger().commit(batch, now_).has_value());
    EXPECT_EQ(known()->since, now_);
    EXPECT_EQ(events(), ++told);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, DeviceContract, testing::Values(&make_memory_rig, &make_lmdb_rig),
                         [](const auto& of) { return of.index == 0 ? "memory" : "lmdb"; });

}  // namespace
}  // namespace sendonce::test
