#include "plugin/pipeline/room.hpp"

namespace sendonce {

std::string why_no_room(const LedgerStats& stats, const OutboxLimits& limits,
                        std::string_view outbox_error, WallTime now) {
  if (stats.claims_stopped) return "the ledger's map or disk is nearly full: no new claims";
  std::string reason;
  if (stats.outbox_entries > limits.entries_max)
    reason = "the outbox is not being confirmed";
  else if (stats.outbox_oldest && now - *stats.outbox_oldest > limits.age_max)
    reason = "outcome events wait for longer than 10 minutes";
  if (reason.empty()) return reason;
  if (!outbox_error.empty()) reason.append(" (").append(outbox_error).append(")");
  return reason + ": is the outcome stream there? run sendonce setup";
}

}  // namespace sendonce
