// What a person may decide about a row: a pure function like those of rules.hpp.
#pragma once

#include <optional>

#include "ledger/ledger.hpp"
#include "ledger/row.hpp"
#include "ledger/rules.hpp"

namespace sendonce {

struct ResolveDecision {
  Resolved reply{};
  std::optional<Row> write{};  // with an event of its own
};

// An open row is nobody's to decide: an attempt may be under way (law 2). An ended one is sent
// again only when it provably was not sent, or when a person takes that on himself (`force`,
// `resend`). Then the row begins anew, without the effect of its earlier attempts: law 6 would let
// no further one start. They stay in its receipts, and count again when the row ends.
// `adopted_at`: of the row's scope. What is older is not replayed without `force`.
[[nodiscard]] ResolveDecision decide_resolve(std::optional<Row>&& found, const Resolve& request,
                                             const RuleContext& context,
                                             std::optional<WallTime> adopted_at);

}  // namespace sendonce
