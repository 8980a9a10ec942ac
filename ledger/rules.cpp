#include "ledger/rules.hpp"

#include <algorithm>
#include <utility>

#include "plugin/core/assert.hpp"
#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

constexpr Duration kBusyAgain = std::chrono::seconds(1);

// At most `max` bytes, without cutting a UTF-8 sequence in two.
std::string bounded(std::string_view text, std::size_t max) {
  if (text.size() <= max) return std::string(text);
  std::size_t end = max;
  while (end > 0 && (static_cast<std::uint8_t>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end));
}

void end_row(Row& row, State state, std::string_view reason, WallTime now, Duration retention) {
  row.state = state;
  row.reason = reason;
  row.ended = now;
  // Not earlier than the server's time of the message: by a clock of ours that is far behind, the
  // memory would be over as soon as it is put right (law 13).
  row.keep_until = std::max(now, row.created) + retention;
  row.lease_end = WallTime{};
  row.next_at = WallTime{};
  row.look_until = WallTime{};
  row.ticket = Ticket{};
  ++row.revision;
}

// Without another attempt: what was sent is accepted, what may have been is unknown.
State ending_without_attempt(Effect effect) {
  switch (effect) {
    case Effect::not_sent:
      return State::suppressed;
    case Effect::maybe_sent:
      return State::unknown;
    case Effect::sent:
      return State::accepted;
  }
  SO_ASSERT(false);
}

// What earlier attempts are known to have caused. Above the row's own effect only after a person
// had it sent once more (operator_rules.hpp): that is forgotten while it may be, not when it ends.
void recall(Row& row) {
  for (const Receipt& receipt : row.receipts) row.effect = std::max(row.effect, receipt.effect);
}

bool dead_device(const ClaimRequest& request, const ClaimFacts& facts) {
  if (!request.device || !facts.device) return false;
  if (facts.device->state != DeviceState::invalid && facts.device->state != DeviceState::revoked)
    return false;
  const auto& registered = request.device->registered_at;
  return !registered || *registered <= facts.device->since;
}

bool is_reused(const ClaimRequest& request, const ClaimFacts& facts) {
  return request.device && facts.binding &&
         is_reuse(*facts.binding, request.recipient, request.device->registered_at);
}

Row new_row(const ClaimRequest& request, const ClaimFacts& facts) {
  Row row;
  row.key = request.key;
  row.nid = request.nid;
  row.event = request.event;
  row.recipient = request.recipient;
  row.campaign = request.campaign;
  row.created = request.stored_at;
  row.deadline = request.deadline;
  row.fingerprint = request.fingerprint;
  row.message_class = bounded(request.message_class, kNameMax);
  // Before the ledger was adopted nobody can say what another one has sent.
  if (facts.adopted_at && request.stored_at < *facts.adopted_at) row.effect = Effect::maybe_sent;
  return row;
}

// How a 2xx without the provider's receipt is stored, see keep_receipt().
bool is_receipt_missing(const Receipt& receipt) {
  return receipt.verdict == VerdictClass::accepted && receipt.effect == Effect::maybe_sent;
}

Claimed claimed_reply(const Row& row, bool taken_over) {
  return {.fence = row.fence,
          .carried = row.effect,
          .attempts = row.attempts,
          .taken_over = taken_over,
          .request = row.request,
          .receipt_missing = std::ranges::any_of(row.receipts, is_receipt_missing),
          .deadline = row.deadline,
          .created = row.created,
          // Without an attempt of ours it was another ledger's, by whom nobody knows.
          .provider =
              row.effect == Effect::not_sent || row.attempts == 0 ? std::string() : row.provider};
}

Done done_reply(const Row& row, bool now) {
  return {
      .state = row.state, .effect = row.effect, .revision = row.revision, .suppressed_now = now};
}

ClaimDecision ended_by_claim(Row&& row, std::string_view reason, const ClaimRequest& request,
                             WallTime now) {
  recall(row);
  const State state = ending_without_attempt(row.effect);
  end_row(row, state, reason, now, request.retention);
  ClaimDecision decision;
  decision.reply = done_reply(row, state != State::accepted);
  decision.event = true;
  decision.write = std::move(row);
  return decision;
}

ClaimDecision refused_for(Row&& row, std::string_view reason, Fault fault,
                          const ClaimRequest& request, WallTime now) {
  recall(row);
  const State state = row.effect == Effect::not_sent ? State::failed : State::unknown;
  end_row(row, state, reason, now, request.retention);
  row.fault = fault;
  ClaimDecision decision;
  if (state == State::failed) {
    row.dead_letter = DeadLetter::due;
    decision.reply = DeadLetterDue{.reason = row.reason, .ended_now = true};
  } else {
    decision.reply = done_reply(row, true);
  }
  decision.event = true;
  decision.write = std::move(row);
  return decision;
}

// The payload can never be sent: no claim is taken for it, its row just ends.
ClaimDecision refused_by_claim(Row&& row, const ClaimRequest& request, WallTime now) {
  return refused_for(std::move(row), printable(request.refused, kReasonMax), Fault::request,
                     request, now);
}

ClaimDecision take_claim(Row&& row, bool taken_over, const ClaimRequest& request, Ticket ticket,
                         const RuleContext& context) {
  row.state = State::claimed;
  row.fence = context.next_fence;
  row.incarnation = context.incarnation;
  row.ticket = ticket;
  row.lease_end = context.now + request.lease;
  row.next_at = WallTime{};
  // While the row is open this is how the reaper learns of the class's retention.
  row.keep_until = row.deadline + request.retention;
  row.look_until = request.look_for > Duration{0} ? row.deadline + request.look_for : WallTime{};
  // In doubt it stays with the provider that may have it, once that is one we know of.
  if (row.effect == Effect::not_sent || row.attempts == 0)
    row.provider = bounded(request.provider, kNameMax);
  row.ref = bounded(request.ref, kRefMax);
  // Before the call: whoever finds the claim left behind must know what it may have sent.
  // One in doubt whose call nobody knows stays so: no repeat is the same.
  if (row.effect == Effect::not_sent) row.request = request.request;
  ClaimDecision decision;
  decision.reply = claimed_reply(row, taken_over);
  decision.fence_used = true;
  decision.write = std::move(row);
  return decision;
}

ClaimDecision stopped() {
  return {.reply = Stopped{}, .write = std::nullopt, .event = false, .fence_used = false};
}

ClaimDecision answer(ClaimReply reply) {
  return {.reply = std::move(reply), .write = std::nullopt, .event = false, .fence_used = false};
}

// In doubt after the deadline nothing is sent any more, but somebody may still be asked (law 6).
bool may_look(const Row& row, const ClaimRequest& request, WallTime now) {
  return row.effect == Effect::maybe_sent && now < row.deadline + request.look_for;
}

// Nobody else is at work on the row: end it if it has to end, else claim it.
ClaimDecision end_or_claim(Row&& row, bool taken_over, const ClaimRequest& request, Ticket ticket,
                           const ClaimFacts& facts, const RuleContext& context) {
  if (row.effect == Effect::sent) return ended_by_claim(std::move(row), "", request, context.now);
  if (row.deadline <= context.now && !may_look(row, request, context.now))
    return ended_by_claim(std::move(row), "expired", request, context.now);
  if (dead_device(request, facts))
    return ended_by_claim(std::move(row), "dead device", request, context.now);
  if (!request.refused.empty()) return refused_by_claim(std::move(row), request, context.now);
  if (!taken_over && row.next_at > context.now) return answer(Waiting{row.next_at});
  const bool reused = is_reused(request, facts);
  if (reused && request.device->reuse == Reuse::refuse) {
    ClaimDecision decision =
        refused_for(std::move(row), kTokenReused, Fault::mismatch, request, context.now);
    decision.reused = true;
    return decision;
  }
  if (facts.claims_stopped) return stopped();
  ClaimDecision decision = take_claim(std::move(row), taken_over, request, ticket, context);
  decision.reused = std::get<Claimed>(decision.reply).reused = reused;
  return decision;
}

bool knows_receipt(const Row& row, Fence fence) {
  return std::ranges::any_of(row.receipts, [&](const Receipt& r) { return r.fence == fence; });
}

int worth(const Receipt& receipt) {
  if (receipt.effect == Effect::sent) return 3;
  if (is_receipt_missing(receipt)) return 2;
  return receipt.effect == Effect::maybe_sent ? 1 : 0;
}

// Bounded: the oldest of the least telling ones goes. A proof of a send never does.
void keep_receipt(Row& row, const Settlement& settlement, WallTime now) {
  if (row.receipts.size() >= kReceiptsKept) {
    const auto victim = std::ranges::min_element(row.receipts, {}, worth);
    if (victim->effect == Effect::sent) return;  // sixteen proofs are enough
    row.receipts.erase(victim);
  }
  const Verdict& verdict = settlement.verdict;
  row.receipts.push_back(
      {.at = now,
       .fence = settlement.fence,
       .verdict = verdict.receipt_missing ? VerdictClass::accepted : verdict.name,
       .effect = verdict.effect,
       .message_id = printable(verdict.message_id, kMessageIdMax)});
}

Settled settled_reply(const Row& row, bool fenced) {
  return {.fenced = fenced,
          .state = row.state,
          .effect = row.effect,
          .next_at = row.next_at,
          .dead_letter_due = row.dead_letter == DeadLetter::due};
}

State final_state(State wanted, Effect effect) {
  if (effect == Effect::sent) return State::accepted;
  switch (wanted) {
    case State::waiting:
      return State::waiting;
    case State::accepted:
      return State::unknown;  // no receipt, no acceptance
    case State::failed:
    case State::suppressed:
      return effect == Effect::maybe_sent ? State::unknown : wanted;
    case State::unknown:
      return State::unknown;
    case State::claimed:
      break;
  }
  SO_ASSERT(false);
}

SettleDecision settle_current(Row&& row, const Settlement& settlement, const RuleContext& context) {
  if (settlement.attempted) {
    keep_receipt(row, settlement, context.now);
    row.effect = std::max(row.effect, settlement.verdict.effect);
    row.fault = settlement.verdict.fault;
  }
  if (settlement.counted && row.attempts < UINT16_MAX) ++row.attempts;
  if (settlement.state != State::waiting) recall(row);
  const State state = final_state(settlement.state, row.effect);
  SettleDecision decision;
  if (state == State::waiting) {
    row.state = state;
    // Later there is nothing left to do: a time beyond comes from a clock that was ahead.
    row.next_at = std::min(settlement.next_at, std::max(row.deadline, row.look_until));
    row.lease_end = WallTime{};
    row.ticket = Ticket{};
    row.reason = printable(settlement.verdict.reason, kReasonMax);
  } else {
    end_row(row, state, printable(settlement.verdict.reason, kReasonMax), context.now,
            settlement.retention);
    if (state == State::failed && settlement.dead_letter) row.dead_letter = DeadLetter::due;
    decision.event = state != State::accepted || !settlement.exceptional_only;
  }
  decision.reply = settled_reply(row, false);
  decision.write = std::move(row);
  return decision;
}

// Law 4: what a late settlement knows is kept, and nothing is scheduled by it. Only a proof that it
// was sent changes how an ended row stands (law 6).
SettleDecision settle_late(Row&& row, const Settlement& settlement, const RuleContext& context) {
  SettleDecision decision;
  if (!settlement.attempted || knows_receipt(row, settlement.fence)) {
    decision.reply = settled_reply(row, true);
    return decision;
  }
  keep_receipt(row, settlement, context.now);
  row.effect = std::max(row.effect, settlement.verdict.effect);
  if (has_ended(row.state) && row.state != State::accepted && row.effect == Effect::sent) {
    row.state = State::accepted;
    row.reason = "late receipt";
    row.fault = Fault::none;
    row.dead_letter = DeadLetter::none;
    ++row.revision;
    decision.event = true;
  }
  decision.reply = settled_reply(row, true);
  decision.write = std::move(row);
  return decision;
}

}  // namespace

std::string printable(std::string_view text, std::size_t max) {
  std::string out(text.substr(0, max));
  if (is_plain_ascii(out, true)) return out;
  for (char& c : out) {
    if (c < ' ' || c > '~') c = '?';
  }
  return out;
}

ClaimDecision decide_claim(std::optional<Row>&& found, const ClaimRequest& request, Ticket ticket,
                           const ClaimFacts& facts, const RuleContext& context) {
  if (!found) {
    // Even an ending takes room for a row that is not there yet.
    if (facts.claims_stopped) return stopped();
    Row row = new_row(request, facts);
    row.provider = bounded(request.provider, kNameMax);
    row.ref = bounded(request.ref, kRefMax);
    return end_or_claim(std::move(row), false, request, ticket, facts, context);
  }
  Row& row = *found;
  if (row.fingerprint != request.fingerprint) return answer(Conflict{});
  switch (row.state) {
    case State::accepted:
    case State::failed:
    case State::unknown:
    case State::suppressed:
      // A copy that was given up for lost is still welcome when its message turns up.
      if (row.dead_letter == DeadLetter::due || row.dead_letter == DeadLetter::lost)
        return answer(DeadLetterDue{row.reason});
      return answer(done_reply(row, false));
    case State::claimed: {
      if (row.incarnation != context.incarnation) {
        row.effect = std::max(row.effect, Effect::maybe_sent);  // law 5
        if (row.attempts < UINT16_MAX) ++row.attempts;
        return end_or_claim(std::move(row), true, request, ticket, facts, context);
      }
      if (row.ticket != ticket)
        return answer(Busy{row.lease_end > context.now ? row.lease_end : context.now + kBusyAgain});
      // The same claim again, after a commit whose reply was lost.
      if (row.effect == Effect::sent)
        return ended_by_claim(std::move(row), "", request, context.now);
      return answer(claimed_reply(row, false));
    }
    case State::waiting:
      return end_or_claim(std::move(row), false, request, ticket, facts, context);
  }
  SO_ASSERT(false);
}

SettleDecision decide_settle(std::optional<Row>&& found, const Settlement& settlement,
                             const RuleContext& context) {
  SO_ASSERT(settlement.state != State::claimed);
  if (!found) {
    SettleDecision decision;
    decision.reply.fenced = true;
    return decision;
  }
  if (found->fence != settlement.fence) return settle_late(std::move(*found), settlement, context);
  if (found->state == State::claimed) return settle_current(std::move(*found), settlement, context);
  if (settlement.attempted && !knows_receipt(*found, settlement.fence))
    return settle_late(std::move(*found), settlement, context);
  SettleDecision repeat;
  repeat.reply = settled_reply(*found, false);
  return repeat;
}

std::optional<Row> decide_dead_letter_done(std::optional<Row> found) {
  if (!found) return std::nullopt;
  if (found->dead_letter != DeadLetter::due && found->dead_letter != DeadLetter::lost)
    return std::nullopt;
  found->dead_letter = DeadLetter::done;
  return found;
}

std::optional<WallTime> due_time(const Row& row, Incarnation incarnation) {
  switch (row.state) {
    case State::waiting:
      // What is in doubt may be asked about for longer.
      if (row.effect == Effect::maybe_sent)
        return std::max({row.deadline, row.next_at, row.look_until});
      return std::max(row.deadline, row.next_at);
    case State::claimed:
      if (row.incarnation == incarnation) return std::nullopt;
      return std::max({row.deadline, row.lease_end, row.look_until});
    case State::accepted:
    case State::failed:
    case State::unknown:
    case State::suppressed:
      if (row.dead_letter != DeadLetter::due) return std::nullopt;
      return row.ended + (row.keep_until - row.ended) / 2;
  }
  SO_ASSERT(false);
}

SweepDecision decide_sweep(Row row, WallTime memory_now, const RuleContext& context) {
  SweepDecision decision;
  const auto due = due_time(row, context.incarnation);
  if (!due) return decision;
  if (has_ended(row.state)) {
    if (*due > memory_now) return decision;
    row.dead_letter = DeadLetter::lost;
    ++row.revision;
    decision.lost_dead_letter = true;
  } else {
    if (*due > context.now) return decision;
    if (row.state == State::claimed) {
      row.effect = std::max(row.effect, Effect::maybe_sent);
      if (row.attempts < UINT16_MAX) ++row.attempts;
    }
    recall(row);
    const Duration retention = row.keep_until - row.deadline;
    end_row(row, ending_without_attempt(row.effect), row.effect == Effect::sent ? "" : "expired",
            context.now, retention);
    decision.ended = true;
  }
  decision.event = true;
  decision.write = std::move(row);
  return decision;
}

bool may_forget(State state, DeadLetter dead_letter, WallTime keep_until, WallTime memory_now) {
  return has_ended(state) && dead_letter != DeadLetter::due && keep_until <= memory_now;
}

DeviceDecision decide_device(const std::optional<DeviceRow>& found, const Settlement& settlement) {
  DeviceDecision decision;
  if (!settlement.device) return decision;
  const auto state = device_state_from(settlement.device->change);
  SO_ASSERT(state.has_value());
  DeviceRow next{.state = *state,
                 .since = settlement.verdict.invalid_since.value_or(settlement.device->called),
                 .registered_at = settlement.device->registered_at};
  const bool known = found && found->state == next.state &&
                     (!next.registered_at || *next.registered_at <= found->since);
  // An alarm about the sender does not take back what is known about the device, nor does an answer
  // to a call of before what has been reported meanwhile.
  const bool dead =
      found && (found->state == DeviceState::invalid || found->state == DeviceState::revoked);
  const bool weaker = dead && (next.state != DeviceState::invalid || next.since < found->since) &&
                      (!next.registered_at || *next.registered_at <= found->since);
  if (!known && !weaker) decision.write = next;
  return decision;
}

}  // namespace sendonce
