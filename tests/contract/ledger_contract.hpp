// The fixture of the contract suite: one set of tests, run against every ledger.
#pragma once

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
    return row_of(go(Find{.scope = {}, .key = key_of(number)}));
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

}  // namespace sendonce::test
