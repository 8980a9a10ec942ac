#include "ledger/committer.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "plugin/core/assert.hpp"

namespace sendonce {
namespace {

// When there is no room, what is known is recorded in small transactions: they need few pages.
constexpr std::size_t kSmallBatch = 16;

}  // namespace

Result<void> Committer::commit(std::span<const TicketedRequest> batch,
                               std::vector<LaneReply>& replies) {
  const std::size_t before = replies.size();
  replies.reserve(before + batch.size());
  bool recovered = false;
  SO_TRY(const bool done, commit_or_recover(batch, replies, recovered));
  if (!done) SO_CHECK(commit_short_of_room(batch, replies, recovered));
  SO_ASSERT(replies.size() == before + batch.size());
  return {};
}

Result<bool> Committer::commit_or_recover(std::span<const TicketedRequest> batch,
                                          std::vector<LaneReply>& replies, bool& recovered) {
  auto done = ledger_.commit(batch, clock_.wall());
  if (!done && done.error().code == Errc::unavailable) {
    // Nobody knows what is on the disk: look, and send the same again, which the rules allow.
    recovered = true;
    if (auto opened = ledger_.recover(); opened) {
      done = ledger_.commit(batch, clock_.wall());
    } else {
      done = std::unexpected(std::move(opened).error());
    }
  }
  if (!done && done.error().code == Errc::exhausted) return false;
  if (!done) return std::unexpected(std::move(done).error());
  for (TicketedReply& reply : *done)
    replies.push_back({.ticket = reply.ticket, .reply = std::move(reply.reply)});
  return true;
}

// Claims are stopped unseen; not after a recovery, which may have found them on the disk: then
// nobody else could end them, and the rule itself stops those that it does not know.
Result<void> Committer::commit_short_of_room(std::span<const TicketedRequest> batch,
                                             std::vector<LaneReply>& replies, bool recovered) {
  std::vector<TicketedRequest> kept;
  const auto stopped = [&replies](const TicketedRequest& request) {
    const bool is_claim = std::holds_alternative<ClaimRequest>(request.request);
    if (is_claim) replies.push_back({.ticket = request.ticket, .reply = ClaimReply(Stopped{})});
    return is_claim;
  };
  for (const TicketedRequest& request : batch)
    if (recovered || !stopped(request)) kept.push_back(request);
  for (std::size_t at = 0; at < kept.size(); at += kSmallBatch) {
    const auto part = std::span(kept).subspan(at, std::min(kSmallBatch, kept.size() - at));
    SO_TRY(const bool done, commit_or_recover(part, replies, recovered));
    if (done) continue;
    for (const TicketedRequest& request : part)
      if (!stopped(request))
        replies.push_back({.ticket = request.ticket,
                           .reply = fail(Errc::exhausted, "ledger: no room on the disk or map")});
  }
  return {};
}

}  // namespace sendonce
