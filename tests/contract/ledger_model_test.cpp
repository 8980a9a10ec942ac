// Random histories against a naive model of the laws: what each key's claims may be answered, and
// that effects and fences only rise, whatever restarts, late settlements and failing commits do.
#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plugin/core/random.hpp"
#include "tests/contract/ledger_rig.hpp"

namespace sendonce::test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::uint64_t kKeys = 6;
constexpr int kSteps = 400;

// What is known of one key, written down without looking at the ledger's rules.
struct Known {
  bool exists = false;
  bool open = false;
  bool held = false;        // claimed, not settled
  bool held_by_us = false;  // by this incarnation
  Fence fence{};            // of the latest claim
  Effect effect = Effect::not_sent;
  WallTime next_at{};
  WallTime deadline{};
  State ended = State::claimed;
};

struct Issued {
  std::uint64_t number = 0;
  Fence fence{};
  bool settled = false;
};

class History {
 public:
  History(LedgerRig& rig, std::uint64_t seed) : rig_(rig), random_(seed) {}

  void run_all() {
    for (int step = 0; step < kSteps && !testing::Test::HasFailure(); ++step) {
      now_ += seconds(random_.below(40));
      if (random_.chance(0.03)) restart();
      maybe_fail_next();
      const std::uint64_t dice = random_.below(100);
      if (dice < 50) {
        claim(random_.below(kKeys));
      } else if (dice < 90 && !issued_.empty()) {
        settle(issued_[random_.below(issued_.size())]);
      } else if (dice < 95) {
        sweep();
      } else {
        now_ += minutes(random_.below(10));
      }
      check_rows();
    }
  }

 private:
  void restart() {
    rig_.restart();
    for (Known& known : known_) known.held_by_us = false;
  }

  void maybe_fail_next() {
    if (!random_.chance(0.15)) return;
    const auto stage = static_cast<CommitStage>(random_.below(3));
    const bool clean = stage != CommitStage::after_commit && random_.chance(0.5);
    rig_.fail_next(stage, clean ? Errc::exhausted : Errc::unavailable);
  }

  // As the ledger thread does it.
  LedgerReply go(LedgerRequest request) {
    const std::vector<TicketedRequest> batch{
        {.ticket = Ticket(++ticket_), .request = std::move(request)}};
    for (int attempt = 0; attempt < 4; ++attempt) {
      auto replies = rig_.ledger().commit(batch, now_);
      if (replies) {
        // After a refused batch claims are stopped until a commit has gone through.
        const auto* claim = std::get_if<ClaimReply>(&replies->at(0).reply);
        if (claim == nullptr || !std::holds_alternative<Stopped>(*claim))
          return std::move(replies->at(0).reply);
      } else if (replies.error().code == Errc::unavailable) {
        EXPECT_TRUE(rig_.ledger().recover().has_value());
      }
    }
    ADD_FAILURE() << "the ledger does not recover";
    return {};
  }

  void claim(std::uint64_t number) {
    Known& known = known_[number];
    ClaimRequest request = claim_of(number);
    request.lease = seconds(30);
    request.stored_at = now_;
    request.deadline = now_ + minutes(20);
    const auto reply = std::get<ClaimReply>(go(request));
    if (!known.exists) {
      known.exists = true;
      known.deadline = request.deadline;
      take(number, reply, Effect::not_sent);
    } else if (!known.open) {
      const auto* done = std::get_if<Done>(&reply);
      ASSERT_NE(done, nullptr);
      EXPECT_EQ(done->state, known.ended);
    } else if (known.held && known.held_by_us) {
      EXPECT_TRUE(std::holds_alternative<Busy>(reply));
    } else {
      claim_open(number, reply);
    }
  }

  void claim_open(std::uint64_t number, const ClaimReply& reply) {
    Known& known = known_[number];
    if (known.held) known.effect = std::max(known.effect, Effect::maybe_sent);
    if (known.effect == Effect::sent || known.deadline <= now_) {
      ASSERT_TRUE(std::holds_alternative<Done>(reply));
      end(known, ending(known.effect));
    } else if (!known.held && known.next_at > now_) {
      ASSERT_TRUE(std::holds_alternative<Waiting>(reply));
    } else {
      take(number, reply, known.effect);
    }
  }

  void take(std::uint64_t number, const ClaimReply& reply, Effect carried) {
    Known& known = known_[number];
    const auto* claimed = std::get_if<Claimed>(&reply);
    ASSERT_NE(claimed, nullptr) << "reply " << reply.index();
    EXPECT_EQ(claimed->carried, carried);
    EXPECT_GT(claimed->fence, highest_fence_);
    highest_fence_ = claimed->fence;
    known.open = known.held = known.held_by_us = true;
    known.fence = claimed->fence;
    issued_.push_back({.number = number, .fence = claimed->fence, .settled = false});
  }

  static State ending(Effect effect) {
    if (effect == Effect::sent) return State::accepted;
    return effect == Effect::maybe_sent ? State::unknown : State::suppressed;
  }

  static void end(Known& known, State state) {
    known.open = known.held = false;
    known.ended = state;
  }

  void settle(Issued& issued) {
    Known& known = known_[issued.number];
    constexpr std::array kStates{State::waiting, State::waiting, State::failed, State::unknown,
                                 State::suppressed};
    const auto effect = static_cast<Effect>(random_.below(3));
    const State state =
        effect == Effect::sent ? State::accepted : kStates.at(random_.below(kStates.size()));
    Settlement settlement = settle_of(issued.number, issued.fence, state, effect);
    settlement.next_at = now_ + seconds(random_.below(60));
    const auto reply = std::get<Settled>(go(settlement));
    const bool current = known.open && known.held && known.fence == issued.fence;
    if (known.fence != issued.fence) {
      EXPECT_TRUE(reply.fenced);
    }
    if (current) {
      EXPECT_FALSE(reply.fenced);
    }
    if (!issued.settled) apply(known, issued.fence, settlement);
    issued.settled = true;
    EXPECT_EQ(reply.effect, known.effect);
  }

  static void apply(Known& known, Fence fence, const Settlement& settlement) {
    known.effect = std::max(known.effect, settlement.verdict.effect);
    if (!known.open) {
      if (known.effect == Effect::sent) known.ended = State::accepted;
      return;
    }
    if (!known.held || known.fence != fence) return;  // late: nothing ends by it
    if (known.effect == Effect::sent) return end(known, State::accepted);
    if (settlement.state == State::waiting) {
      known.held = false;
      known.next_at = std::min(settlement.next_at, known.deadline);
      return;
    }
    end(known, known.effect == Effect::maybe_sent ? State::unknown : settlement.state);
  }

  void sweep() {
    static_cast<void>(go(Sweep{}));
    for (Known& known : known_) {
      if (!known.open) continue;
      const bool stale = known.held && !known.held_by_us;
      if (known.held && !stale) continue;
      // A stale claim is left alone until its lease has ended; the model does not follow leases.
      if (std::max(known.deadline, known.next_at) + seconds(stale ? 30 : 0) > now_) continue;
      if (stale) known.effect = std::max(known.effect, Effect::maybe_sent);
      end(known, ending(known.effect));
    }
  }

  void check_rows() {
    for (std::uint64_t number = 0; number < kKeys; ++number) {
      Known& known = known_[number];
      if (!known.exists) continue;
      const auto found = std::get<Found>(go(Find{.scope = {}, .key = key_of(number)}));
      ASSERT_NE(found.row, nullptr);
      const Row& row = *found.row;
      EXPECT_GE(row.effect, last_effect_[number]) << "an effect fell";
      last_effect_[number] = row.effect;
      if (row.state == State::accepted) {
        EXPECT_EQ(row.effect, Effect::sent);
      }
      if (row.state == State::failed || row.state == State::suppressed) {
        EXPECT_EQ(row.effect, Effect::not_sent);
      }
      // The reaper may be ahead of the model with a stale claim, see sweep().
      if (known.open && has_ended(row.state) && known.held && !known.held_by_us &&
          known.deadline <= now_) {
        known.effect = std::max(known.effect, Effect::maybe_sent);
        end(known, ending(known.effect));
      }
      EXPECT_EQ(has_ended(row.state), !known.open) << "key " << number;
      EXPECT_EQ(row.effect, known.effect) << "key " << number;
      if (!known.open) {
        EXPECT_EQ(row.state, known.ended) << "key " << number;
      }
    }
  }

  LedgerRig& rig_;
  Random random_;
  WallTime now_ = kNoon;
  std::uint64_t ticket_ = 0;
  Fence highest_fence_{};
  std::array<Known, kKeys> known_{};
  std::array<Effect, kKeys> last_effect_{};
  std::vector<Issued> issued_{};
};

class LedgerModel : public testing::TestWithParam<MakeRig> {};

TEST_P(LedgerModel, RandomHistoriesKeepTheLaws) {
  const std::uint64_t seeds = GetParam() == &make_memory_rig ? 300 : 12;
  for (std::uint64_t seed = 1; seed <= seeds && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto rig = GetParam()();
    History(*rig, seed).run_all();
  }
}

std::string rig_name(const testing::TestParamInfo<MakeRig>& info) {
  return info.param == &make_memory_rig ? "memory" : "lmdb";
}
INSTANTIATE_TEST_SUITE_P(Every, LedgerModel, testing::Values(&make_memory_rig, &make_lmdb_rig),
                         rig_name);

}  // namespace
}  // namespace sendonce::test
