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
constexpr const char* kNoRoom = "ledger: no room on the disk or map";

}  // namespace

Result<void> Committer::commit(std::span<const TicketedRequest> batch,
                               std::vector<LaneReply>& replies) {
  const std::size_t before = replies.size();
  replies.reserve(before + batch.size());
  SO_TRY(const bool done, commit_or_recover(batch, replies));
  if (!done) SO_CHECK(commit_short_of_room(batch, replies));
  SO_ASSERT(replies.size() == before + batch.size());
  return {};
}

Result<bool> Committer::commit_or_recover(std::span<const TicketedRequest> batch,
                                          std::vector<LaneReply>& replies) {
  auto done = ledger_.commit(batch, clock_.wall());
  if (!done && done.error().code == Errc::unavailable) {
    // Nobody knows what is on the disk: look, and send the same again, which the rules allow.
    if (auto recovered = ledger_.recover(); recovered) {
      for (const TicketedRequest& r : batch)
        if (std::holds_alternative<ClaimRequest>(r.request)) in_doubt_.insert(r.ticket);
      done = ledger_.commit(batch, clock_.wall());
    } else {
      done = std::unexpected(std::move(recovered).error());
    }
  }
  if (!done && done.error().code == Errc::exhausted) return false;
  if (!done) return std::unexpected(std::move(done).error());
  if (!in_doubt_.empty())
    for (const TicketedRequest& r : batch) in_doubt_.erase(r.ticket);
  for (TicketedReply& reply : *done)
    replies.push_back({.ticket = reply.ticket, .reply = std::move(reply.reply)});
  return true;
}

Result<void> Committer::commit_short_of_room(std::span<const TicketedRequest> batch,
                                             std::vector<LaneReply>& replies) {
  std::vector<TicketedRequest> kept;
  for (const TicketedRequest& request : batch) {
    if (in_doubt_.contains(request.ticket)) {
      replies.push_back({.ticket = request.ticket, .reply = fail(Errc::exhausted, kNoRoom)});
    } else if (std::holds_alternative<ClaimRequest>(request.request)) {
      replies.push_back({.ticket = request.ticket, .reply = ClaimReply(Stopped{})});
    } else {
      kept.push_back(request);
    }
  }
  for (std::size_t at = 0; at < kept.size(); at += kSmallBatch) {
    const auto part = std::span(kept).subspan(at, std::min(kSmallBatch, kept.size() - at));
    SO_TRY(const bool done, commit_or_recover(part, replies));
    if (done) continue;
    for (const TicketedRequest& request : part)
      replies.push_back({.ticket = request.ticket, .reply = fail(Errc::exhausted, kNoRoom)});
  }
  return {};
}

}  // namespace sendonce
