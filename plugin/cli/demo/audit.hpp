// Judges a tally, delivery by delivery: which promises of docs/guarantees.md are broken. Pure.
#pragma once

#include <string>
#include <vector>

#include "plugin/cli/demo/tally.hpp"
#include "plugin/core/clock.hpp"

namespace sendonce::cli {

// The daemon was killed (from = to) or stood still.
struct Disturbance {
  std::string fault{};
  WallTime from{};
  WallTime to{};
};

struct AuditContext {
  std::vector<Disturbance> disturbances{};
  Duration call_total{};  // how long an answer was waited for
  Duration skew{};        // how far the daemon's clock was off at most
};

struct Broken {
  std::string promise{};  // its name, below
  std::string key{};      // of the delivery, or a hash of its ref: short, never a token
  std::string message_class{};
  std::string story{};
};

// The promises:
//   one-copy      give-up: nothing after a request that was taken. resend: only after a doubt
//   delivered     what the ledger calls accepted the provider has; resend: also what is unknown,
//                 unless the provider has refused it
//   ended         every delivery has ended
//   truthful      the ledger, the provider's record and the newest event do not contradict
//   explained     every unknown has a fault that explains it, every failure a refusal
//   told          every change of an ended row has its event
//   dead-letter   every delivery that failed for good, and every undecodable message, has its copy,
//                 and nothing else has one
//   ack-last      no message was acked before its deliveries had ended
//   nothing-else  no row, request, event or copy that belongs to nothing that was published
[[nodiscard]] std::vector<Broken> audit(const Tally& tally, const AuditContext& context);

// One line each, at most `max`, and how many more there are.
[[nodiscard]] std::string broken_text(const std::vector<Broken>& broken, std::size_t max);

}  // namespace sendonce::cli
