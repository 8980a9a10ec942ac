#include "ledger/batch.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "ledger/device_rules.hpp"
#include "ledger/operator_rules.hpp"
#include "plugin/core/assert.hpp"

namespace sendonce {
namespace {

constexpr Duration kClockTolerance = std::chrono::hours(1);
constexpr Duration kLookAgain = std::chrono::minutes(1);
constexpr std::size_t kBindingsLookedAt = 256;  // with each sweep: twenty millions a day

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

// What became of a decision, for the audit.
std::string told(const ResolveDecision& decision, std::string_view before) {
  if (!decision.reply.refused.empty()) return "refused: " + decision.reply.refused;
  std::string out = "done";
  if (!decision.write) return out += ", was so already";
  out.append(", ").append(before).append(" -> ");
  return out += name(decision.write->state);
}

}  // namespace

WallTime memory_clock(WallTime now, WallTime newest_stored) {
  return std::min(now, newest_stored + kClockTolerance);
}

Batch::Batch(Store& store, LedgerLife& life, EventBatch& events, WallTime now)
    : store_(store), life_(life), events_(events), now_(now) {
  events_.begin(now);
}

Result<LedgerReply> Batch::apply(const TicketedRequest& request) {
  return std::visit(Overloaded{
                        [&](const ClaimRequest& r) { return apply_claim(r, request.ticket); },
                        [&](const Settlement& r) { return apply_settlement(r); },
                        [&](const DeadLetterDone& r) { return apply_dead_letter_done(r); },
                        [&](const OutboxRead& r) -> Result<LedgerReply> {
                          SO_TRY(OutboxPage page, store_.read_outbox(r));
                          return page;
                        },
                        [&](const OutboxRemove& r) -> Result<LedgerReply> {
                          for (const OutboxSeq seq : r.entries) SO_CHECK(store_.remove_outbox(seq));
                          return Removed{};
                        },
                        [&](const Sweep& r) { return apply_sweep(r); },
                        [&](const Find& r) -> Result<LedgerReply> {
                          SO_TRY(auto found, store_.find(r.scope, r.key));
                          if (!found) return Found{};
                          return Found{std::make_unique<Row>(std::move(found->row))};
                        },
                        [&](const Resolve& r) { return apply_resolve(r); },
                        [&](const SetDevice& r) { return apply_set_device(r); },
                        [&](const FindDevice& r) -> Result<LedgerReply> {
                          FoundDevice found;
                          SO_TRY(found.row, store_.device(r.hash));
                          return found;
                        },
                        [&](const NoteAudit& r) -> Result<LedgerReply> {
                          SO_CHECK(note_audit(r.entry, r.entry.result));
                          return AuditNoted{};
                        },
                        [&](const AuditRead& r) -> Result<LedgerReply> {
                          SO_TRY(AuditPage page, store_.read_audit(r));
                          return page;
                        },
                    },
                    request.request);
}

Result<LedgerReply> Batch::apply_claim(const ClaimRequest& request, Ticket ticket) {
  life_.newest_stored = std::max(life_.newest_stored, request.stored_at);
  SO_TRY(auto found, store_.find(request.scope, request.key));
  if (!found && request.previous_key) {
    SO_TRY(auto previous, store_.find(request.scope, *request.previous_key));
    found = std::move(previous);
  }
  ClaimFacts facts;
  facts.claims_stopped = life_.claims_stopped;
  facts.adopted_at = store_.adopted_at(request.scope);
  if (request.device) {
    SO_TRY(facts.device, store_.device(request.device->hash));
    if (request.device->reuse != Reuse::allow) {
      SO_TRY(facts.binding, store_.binding(request.device->hash));
    }
  }
  std::optional<RowId> id;
  std::optional<Row> row;
  std::optional<WallTime> due_before;
  bool open_before = false;
  Key old_key = request.key;
  if (found) {
    id = found->id;
    due_before = due_time(found->row, life_.incarnation);
    open_before = !has_ended(found->row.state);
    old_key = found->row.key;
    row = std::move(found->row);
  }
  ClaimDecision decision = decide_claim(std::move(row), request, ticket, facts, context());
  if (decision.fence_used) ++life_.next_fence;
  if (!decision.write) return decision.reply;
  if (decision.reused) SO_CHECK(tell_reuse(request, *facts.binding));
  // A row found under the previous recipe's key goes on under the present one.
  decision.write->key = request.key;
  if (id) {
    SO_CHECK(store_.update(*id, *decision.write, old_key));
  } else {
    SO_TRY(id, store_.insert(request.scope, *decision.write));
  }
  track(*id, due_before, open_before, *decision.write);
  if (decision.event) events_.add_outcome(*decision.write, {request.event_id, request.traceparent});
  return decision.reply;
}

// Once for each other recipient in a row: whoever hears of it has to act once.
Result<void> Batch::tell_reuse(const ClaimRequest& request, DeviceBinding binding) {
  if (std::exchange(binding.told, request.recipient) == request.recipient) return {};
  const DeviceClaim& device = *request.device;
  SO_CHECK(store_.put_binding(device.hash, binding));
  events_.add_reuse({.hash = device.hash,
                     .binding = binding,
                     .registered_at = device.registered_at,
                     .refused = device.reuse == Reuse::refuse,
                     .kind = device.kind,
                     .ref = request.ref,
                     .provider = request.provider,
                     .event_id = request.event_id,
                     .fence = Fence(life_.next_fence++),
                     .traceparent = request.traceparent});
  return {};
}

Result<void> Batch::bind(const Bind& bind) {
  SO_TRY(const auto found, store_.binding(bind.hash));
  const auto next = decide_bind(found, bind, now_);
  return next ? store_.put_binding(bind.hash, *next) : Result<void>{};
}

Result<LedgerReply> Batch::apply_settlement(const Settlement& settlement) {
  SO_TRY(auto found, store_.find(settlement.scope, settlement.key));
  if (!found) return decide_settle(std::nullopt, settlement, context()).reply;
  const RowId id = found->id;
  const auto due_before = due_time(found->row, life_.incarnation);
  const bool open_before = !has_ended(found->row.state);
  if (settlement.device) SO_CHECK(note_device(settlement, found->row.ref, found->row.provider));
  if (settlement.bind && settlement.verdict.effect == Effect::sent)
    SO_CHECK(bind(*settlement.bind));
  SettleDecision decision = decide_settle(std::move(found->row), settlement, context());
  if (!decision.write) return decision.reply;
  SO_CHECK(store_.update(id, *decision.write, settlement.key));
  track(id, due_before, open_before, *decision.write);
  if (decision.event)
    events_.add_outcome(*decision.write, {settlement.event_id, settlement.traceparent});
  return decision.reply;
}

Result<void> Batch::note_device(const Settlement& settlement, const std::string& ref,
                                const std::string& provider) {
  const Settlement::DeviceChange& change = *settlement.device;
  SO_TRY(const auto known, store_.device(change.hash));
  const DeviceDecision decision = decide_device(known, settlement);
  if (!decision.write) return {};
  SO_CHECK(store_.put_device(change.hash, *decision.write));
  const std::string reason = printable(settlement.verdict.reason, kReasonMax);
  events_.add_device({.hash = change.hash,
                      .device = *decision.write,
                      .kind = change.kind,
                      .ref = ref,
                      .reason = reason,
                      .provider = provider,
                      .provider_time = settlement.verdict.invalid_since.has_value(),
                      .fence = settlement.fence,
                      .traceparent = settlement.traceparent});
  return {};
}

Result<LedgerReply> Batch::apply_dead_letter_done(const DeadLetterDone& done) {
  SO_TRY(auto found, store_.find(done.scope, done.key));
  if (!found) return Removed{};
  const RowId id = found->id;
  const auto due_before = due_time(found->row, life_.incarnation);
  const auto row = decide_dead_letter_done(std::move(found->row));
  if (!row) return Removed{};
  SO_CHECK(store_.update(id, *row, row->key));
  track(id, due_before, false, *row);
  return Removed{};
}

Result<LedgerReply> Batch::apply_resolve(const Resolve& request) {
  SO_TRY(auto found, store_.find(request.scope, request.key));
  if (!found) {
    ResolveDecision none = decide_resolve(std::nullopt, request, context(), {});
    if (request.audit) SO_CHECK(note_audit(*request.audit, told(none, "")));
    return std::move(none.reply);
  }
  const RowId id = found->id;
  const auto due_before = due_time(found->row, life_.incarnation);
  const std::string_view before = name(found->row.state);
  const bool open_before = !has_ended(found->row.state);
  ResolveDecision decision =
      decide_resolve(std::move(found->row), request, context(), store_.adopted_at(request.scope));
  if (request.audit) SO_CHECK(note_audit(*request.audit, told(decision, before)));
  if (!decision.write) return std::move(decision.reply);
  SO_CHECK(store_.update(id, *decision.write, request.key));
  track(id, due_before, open_before, *decision.write);
  events_.add_outcome(*decision.write, {});
  return std::move(decision.reply);
}

// An entry once, whatever a repeated commit makes of its request: the first says what it changed.
Result<void> Batch::note_audit(AuditEntry entry, std::string result) {
  SO_TRY(AuditPage newest, store_.read_audit({.max_entries = 1}));
  if (!newest.entries.empty()) {
    AuditEntry& last = newest.entries.front();
    entry.seq = last.seq;
    entry.result = last.result;
    if (encode_audit(entry) == encode_audit(last)) return {};
  }
  entry.result = std::move(result);
  return store_.append_audit(entry);
}

Result<LedgerReply> Batch::apply_set_device(const SetDevice& request) {
  FoundDevice found;
  SO_TRY(found.row, store_.device(request.hash));
  if (request.audit) {
    std::string result = "done, was ";
    result += found.row ? name(found.row->state) : "active";
    SO_CHECK(note_audit(*request.audit, std::move(result)));
  }
  const auto row = decide_set_device(found.row, request, now_);
  if (!row) return found;
  found.changed = true;
  SO_CHECK(store_.put_device(request.hash, *row));
  const std::string reason = printable(request.text, kReasonMax);
  events_.add_device({.hash = request.hash,
                      .device = *row,
                      .kind = request.kind,
                      .ref = {},
                      .reason = reason,
                      .provider = request.provider,
                      .provider_time = false,
                      .reported = request.reported.has_value(),
                      .fence = Fence(life_.next_fence++),
                      .traceparent = request.traceparent});
  return found;
}

Result<LedgerReply> Batch::apply_sweep(const Sweep& sweep) {
  Swept swept;
  // Rows have moved already: what the agenda says of them holds again after the commit.
  if (std::exchange(swept_, true)) return swept;
  const std::size_t max = std::min(sweep.max_rows, kSweepMax);
  SO_CHECK(sweep_due(max, swept));
  SO_TRY(const Expiry expiry, store_.expire(memory_clock(now_, life_.newest_stored), max));
  swept.expired = expiry.removed;
  SO_CHECK(store_.forget_bindings(memory_clock(now_, life_.newest_stored) - kBindingKept,
                                  kBindingsLookedAt));
  for (const auto& [from, to] : expiry.moved)
    notes_.push_back({.id = from, .due = std::nullopt, .moved_to = to});
  swept.next_due = life_.agenda.next();
  if (expiry.next && (!swept.next_due || *expiry.next < *swept.next_due))
    swept.next_due = expiry.next;
  // The clock of memory may stand still: do not ask at once for what cannot be done yet.
  const bool idle =
      swept.ended + swept.expired + swept.lost_dead_letters + expiry.moved.size() == 0;
  if (idle && swept.next_due && *swept.next_due <= now_) swept.next_due = now_ + kLookAgain;
  return swept;
}

Result<void> Batch::sweep_due(std::size_t max, Swept& swept) {
  const WallTime memory_now = memory_clock(now_, life_.newest_stored);
  const std::vector<Agenda::Entry> due = life_.agenda.take_due(now_, max);
  taken_.insert(taken_.end(), due.begin(), due.end());
  for (const Agenda::Entry& entry : due) {
    SO_TRY(auto row, store_.at(entry.row));
    if (!row) continue;
    const Key key = row->key;
    const bool open_before = !has_ended(row->state);
    const auto due_before = due_time(*row, life_.incarnation);
    const SweepDecision decision = decide_sweep(std::move(*row), memory_now, context());
    if (!decision.write) {
      // Dead letters follow the slower clock; claimed again since: its settlement notes it anew.
      if (due_before)
        notes_.push_back({.id = entry.row,
                          .due = std::max(*due_before, now_ + kLookAgain),
                          .moved_to = std::nullopt});
      continue;
    }
    SO_CHECK(store_.update(entry.row, *decision.write, key));
    track(entry.row, due_before, open_before, *decision.write);
    if (decision.event) events_.add_outcome(*decision.write, {});
    if (decision.ended) ++swept.ended;
    if (decision.lost_dead_letter) ++swept.lost_dead_letters;
  }
  return {};
}

Result<void> Batch::finish() {
  for (const EventBatch::Entry& entry : events_.finish()) {
    SO_CHECK(store_.append_outbox({.seq = OutboxSeq(life_.next_outbox++),
                                   .created = now_,
                                   .subject = entry.subject,
                                   .body = entry.body}));
  }
  return {};
}

void Batch::committed() {
  life_.open_rows =
      static_cast<std::uint64_t>(static_cast<std::int64_t>(life_.open_rows) + opened_);
  for (const Note& note : notes_) {
    if (note.moved_to) {
      life_.agenda.move(note.id, *note.moved_to);
    } else if (note.due) {
      life_.agenda.add(note.id, *note.due);
    } else {
      life_.agenda.remove(note.id);
    }
  }
}

void Batch::abandoned() {
  for (const Agenda::Entry& entry : taken_) life_.agenda.add(entry.row, entry.due);
}

RuleContext Batch::context() const {
  return {.now = now_, .incarnation = life_.incarnation, .next_fence = Fence(life_.next_fence)};
}

void Batch::track(RowId id, std::optional<WallTime> due_before, bool open_before,
                  const Row& after) {
  opened_ +=
      static_cast<std::int64_t>(!has_ended(after.state)) - static_cast<std::int64_t>(open_before);
  const auto due = due_time(after, life_.incarnation);
  if (due || due_before) notes_.push_back({.id = id, .due = due, .moved_to = std::nullopt});
}

}  // namespace sendonce
