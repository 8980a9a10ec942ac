#include "ledger/operator_rules.hpp"

#include <algorithm>
#include <utility>

#include "plugin/core/assert.hpp"

namespace sendonce {
namespace {

ResolveDecision answer_of(const Row& row) {
  ResolveDecision out;
  out.reply = {.refused = {},
               .state = row.state,
               .effect = row.effect,
               .revision = row.revision,
               .deadline = row.deadline};
  return out;
}

ResolveDecision refuse(const Row* row, std::string why) {
  ResolveDecision out = row == nullptr ? ResolveDecision{} : answer_of(*row);
  out.reply.refused = std::move(why);
  return out;
}

ResolveDecision change(Row&& row) {
  ++row.revision;
  ResolveDecision out = answer_of(row);
  out.write = std::move(row);
  return out;
}

ResolveDecision settle_by_hand(Row&& row, State state, const Resolve& request) {
  row.state = state;
  if (state == State::accepted) row.effect = Effect::sent;
  row.fault = Fault::none;
  row.reason = printable(request.text, kReasonMax);
  return change(std::move(row));
}

bool is_told(const Row& row) {
  return std::ranges::any_of(row.receipts,
                             [&](const Receipt& r) { return r.effect >= row.effect; });
}

// The row's effect as a receipt, where no attempt has left one: a claim that was never settled.
void keep_effect(Row& row, WallTime now) {
  if (row.effect == Effect::not_sent || is_told(row)) return;
  // None of them says as much, so the oldest can go.
  if (row.receipts.size() >= kReceiptsKept) row.receipts.erase(row.receipts.begin());
  row.receipts.push_back({.at = now,
                          .fence = Fence{},
                          .verdict = VerdictClass::ambiguous,
                          .effect = row.effect,
                          .message_id = {}});
}

// A success without its receipt would stop every further attempt (law 6); it stays a doubt.
void forget_missing_receipts(Row& row) {
  for (Receipt& receipt : row.receipts)
    if (receipt.verdict == VerdictClass::accepted && receipt.effect == Effect::maybe_sent)
      receipt.verdict = VerdictClass::ambiguous;
}

ResolveDecision begin_anew(Row&& row, const Resolve& request, WallTime now) {
  const WallTime deadline = std::min(now + request.expires, request.not_after);
  if (deadline <= now)
    return refuse(&row, "it has expired, or is older than what the ledger remembers");
  keep_effect(row, now);
  forget_missing_receipts(row);
  row.state = State::waiting;
  row.effect = Effect::not_sent;
  row.fault = Fault::none;
  row.dead_letter = DeadLetter::none;
  row.attempts = 0;
  row.request = RequestHash{};
  row.next_at = now;
  row.deadline = deadline;
  row.ended = WallTime{};
  row.keep_until = deadline + request.retention;
  row.reason = printable(request.text, kReasonMax);
  return change(std::move(row));
}

Effect most_caused(const Row& row) {
  Effect most = row.effect;
  for (const Receipt& receipt : row.receipts) most = std::max(most, receipt.effect);
  return most;
}

ResolveDecision replay(Row&& row, const Resolve& request, const RuleContext& context,
                       std::optional<WallTime> adopted_at) {
  if (row.dead_letter == DeadLetter::due)
    return refuse(&row, "its dead letter is not stored yet: try again in a moment");
  const bool unsent = (row.state == State::failed || row.state == State::suppressed) &&
                      most_caused(row) == Effect::not_sent;
  // Of the other targets nothing is remembered either; a replay makes their message a new one.
  if (adopted_at && row.created < *adopted_at && !request.force)
    return refuse(&row,
                  "its message is older than the adoption of this ledger: what another one "
                  "has sent nobody knows");
  if (!unsent && !request.force) {
    std::string why = "it is ";
    why += name(row.state);
    why += row.state == State::accepted ? ": it was sent" : ": it may have been sent";
    return refuse(&row, std::move(why));
  }
  // The message holds other targets, too. Their rows were made by it, so that they are remembered
  // for as long after it at least: by then every one of its repeats has to be over (law 13). Nobody
  // has forced them.
  Resolve bounded = request;
  bounded.not_after = std::min(request.not_after, row.created + request.retention);
  return begin_anew(std::move(row), bounded, context.now);
}

// The same decision once more, after a commit or an answer that was lost: it has been taken.
bool is_taken(const Row& row, const Resolve& request) {
  if (row.reason != printable(request.text, kReasonMax)) return false;
  switch (request.as) {
    case Resolve::As::accepted:
      return row.state == State::accepted;
    case Resolve::As::failed:
      return row.state == State::failed;
    case Resolve::As::resend:
    case Resolve::As::replay:
      return row.state == State::waiting;
    case Resolve::As::drop:
      return has_ended(row.state);
  }
  SO_ASSERT(false);
}

}  // namespace

ResolveDecision decide_resolve(std::optional<Row>&& found, const Resolve& request,
                               const RuleContext& context, std::optional<WallTime> adopted_at) {
  if (!found) return refuse(nullptr, "the ledger has no such row: never claimed, or forgotten");
  Row& row = *found;
  if (is_taken(row, request)) return answer_of(row);
  if (!has_ended(row.state)) {
    std::string why = "it has not ended, it is ";
    why += name(row.state);
    return refuse(&row, std::move(why));
  }
  if (request.as == Resolve::As::replay)
    return replay(std::move(row), request, context, adopted_at);
  if (request.as == Resolve::As::drop) {
    row.reason = printable(request.text, kReasonMax);
    return change(std::move(row));
  }
  if (row.state != State::unknown) {
    std::string why = "only an unknown row is open to a decision, it is ";
    why += name(row.state);
    return refuse(&row, std::move(why));
  }
  switch (request.as) {
    case Resolve::As::accepted:
      return settle_by_hand(std::move(row), State::accepted, request);
    case Resolve::As::failed:
      return settle_by_hand(std::move(row), State::failed, request);
    case Resolve::As::resend:
      return begin_anew(std::move(row), request, context.now);
    case Resolve::As::replay:
    case Resolve::As::drop:
      break;
  }
  SO_ASSERT(false);
}

}  // namespace sendonce
