// Laws about what becomes durable: 2, 4, 5, 6, 7, 8, 9, 10, 13, 14.
#include <algorithm>
#include <utility>
#include <variant>

#include "ledger/rules.hpp"
#include "plugin/core/text.hpp"
#include "tests/simulation/laws.hpp"

namespace sendonce::sim {
namespace {

// The ids of the events in a batch of CloudEvents: "<key>.<revision>", "<device>.<fence>".
std::vector<std::string> event_ids(const std::string& body) {
  constexpr std::string_view kMember = R"("id":")";
  std::vector<std::string> ids;
  for (std::size_t at = body.find(kMember); at != std::string::npos;
       at = body.find(kMember, at + 1)) {
    const std::size_t begin = at + kMember.size();
    ids.push_back(body.substr(begin, body.find('"', begin) - begin));
  }
  return ids;
}

bool is_device(const std::string& subject) {
  return subject.starts_with("sendonce.device.");
}

std::string event_id(const Row& row) {
  return hex(row.key.view()) + "." + std::to_string(row.revision);
}

}  // namespace

void LawBook::committed(std::span<const TicketedRequest> batch,
                        std::span<const TicketedReply> replies, const Changes& changes,
                        Incarnation incarnation, WallTime now) {
  const Commit commit{.incarnation = incarnation, .now = now};
  std::size_t at = 0;
  std::size_t device = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const std::size_t first = at;
    while (at < changes.rows.size() && changes.rows[at].request == i) ++at;
    const RowChange* only = at > first ? &changes.rows[first] : nullptr;
    if (const auto* claim = std::get_if<ClaimRequest>(&batch[i].request)) {
      check_claim(*claim, batch[i].ticket, std::get<ClaimReply>(replies[i].reply), only, commit);
    } else if (const auto* settlement = std::get_if<Settlement>(&batch[i].request)) {
      check_settlement(*settlement, std::get<Settled>(replies[i].reply), only);
    } else if (const auto* done = std::get_if<DeadLetterDone>(&batch[i].request)) {
      if (only != nullptr && !copies_.contains(hex(done->key.view()) + ".dlq"))
        broken(3, short_text(done->key) + " has its copy recorded before it was confirmed");
    } else {
      for (std::size_t c = first; c < at; ++c) check_sweep(changes.rows[c], commit);
    }
    for (std::size_t c = first; c < at; ++c) note_row(changes.rows[c]);
    // Each in its turn: a claim behind it in the same batch is decided by it.
    for (; device < changes.devices.size() && changes.devices[device].request == i; ++device)
      check_device(changes.devices[device], batch[i]);
  }
  if (device != changes.devices.size()) broken(8, "a device changes out of its turn");
  check_events(changes, batch);
}

void LawBook::check_claim(const ClaimRequest& request, Ticket ticket, const ClaimReply& reply,
                          const RowChange* change, const Commit& commit) {
  Known& known = known_of(request.key);
  const std::string who = short_text(request.key);
  const std::optional<Row> before = known.row;
  if (before && before->fingerprint != request.fingerprint) {
    if (!std::holds_alternative<Conflict>(reply) || change != nullptr)
      broken(10, who + " is claimed with another content");
    world_.hit(Probe::conflict);
    return;
  }
  if (std::holds_alternative<Conflict>(reply)) broken(10, who + " conflicts with itself");
  const bool ours =
      before && before->state == State::claimed && before->incarnation == commit.incarnation;
  const bool left_behind = before && before->state == State::claimed && !ours;
  if (ours && before->ticket != ticket) {
    if (change != nullptr) broken(2, who + " has two claimants");
    world_.hit(Probe::busy_duplicate);
  }
  if (ours && before->ticket == ticket) world_.hit(Probe::claim_repeated_after_lost_reply);
  if (left_behind && change != nullptr) {
    if (change->after->effect == Effect::not_sent)
      broken(5, who + " was left behind, and counts as not sent");
    if (change->after->attempts <= before->attempts)
      broken(5, who + " was left behind, and the attempt is not counted");
    world_.hit(Probe::takeover_after_crash);
    if (world_.wall() > before->lease_end) world_.hit(Probe::takeover_after_stall);
  }
  if (const auto* claimed = std::get_if<Claimed>(&reply)) {
    check_claimed(request, *claimed, known, before, commit);
    known.latest = commit.now;
    known.nameless_claim = known.nameless_claim || request.request == RequestHash{};
    if (claimed->taken_over || (!before && claimed->carried == Effect::maybe_sent))
      note_doubt(known);
  }
  if (before && change != nullptr) check_look_window(*before, *change->after, commit.now);
  if (std::holds_alternative<Waiting>(reply)) world_.hit(Probe::waiting_duplicate);
  if (std::holds_alternative<Stopped>(reply)) world_.hit(Probe::ledger_full_refuses_claims);
  if (const auto* done = std::get_if<Done>(&reply)) {
    const Row* row = change != nullptr ? &*change->after : before ? &*before : nullptr;
    if (row == nullptr || !has_ended(row->state) || row->dead_letter == DeadLetter::due)
      broken(14, who + " is said to have ended, and has not");
    if (!done->suppressed_now && change == nullptr) world_.hit(Probe::duplicate_of_ended);
    if (done->suppressed_now && row->reason == "expired") world_.hit(Probe::expired_before_call);
    if (row->reason == "dead device" && change != nullptr) {
      world_.hit(Probe::dead_device_suppressed);
      Service& service = *providers_[known.provider].service;
      if (!service.token(known.token).dead_since)
        broken(8, who + " is suppressed, and its device lives");
    }
  }
  if (std::holds_alternative<DeadLetterDue>(reply)) {
    if (!request.refused.empty()) world_.hit(Probe::refused_payload);
    if (change == nullptr) world_.hit(Probe::dead_letter_due_after_crash);
  }
}

void LawBook::check_claimed(const ClaimRequest& request, const Claimed& claimed, const Known& known,
                            const std::optional<Row>& before, const Commit& commit) {
  const std::string who = short_text(request.key);
  const bool again =
      before && before->state == State::claimed && before->incarnation == commit.incarnation;
  if (!again && claimed.fence <= highest_fence_) broken(4, who + " is claimed with an old fence");
  highest_fence_ = std::max(highest_fence_, claimed.fence);
  if (before && has_ended(before->state)) broken(2, who + " is claimed after its end");
  if (before && claimed.carried < before->effect) broken(4, who + " forgets what was sent");
  if (before && before->effect == Effect::sent) broken(4, who + " is claimed after its receipt");
  if (!again && before && before->state == State::waiting && before->next_at > commit.now)
    broken(4, who + " is claimed before its time");
  const WallTime deadline = before ? before->deadline : request.deadline;
  const bool in_doubt = claimed.carried == Effect::maybe_sent && looks(known);
  const Duration asked_for = in_doubt ? look_for(kLookupLag) : Duration(0);
  if (!again && deadline + asked_for <= commit.now)
    broken(12, who + " is claimed after its deadline");
  if (!before && known.adopted && adopted_at_ && request.stored_at < *adopted_at_ &&
      claimed.carried == Effect::not_sent)
    broken(5, who + " is older than the ledger, and counts as not sent");
  const auto device = devices_.find(known.device);
  if (!again && request.device && device != devices_.end() &&
      device->second.state == DeviceState::invalid &&
      (!request.device->registered_at || *request.device->registered_at <= device->second.since))
    broken(8, who + " is claimed for a device that is known to be dead");
  if (!before && known.adopted) world_.hit(Probe::adopted_ledger_in_doubt);
}

void LawBook::check_settlement(const Settlement& s, const Settled& reply, const RowChange* change) {
  Known& known = known_of(s.key);
  if (!known.row) {
    if (!reply.fenced) broken(4, "a settlement without a row is taken for the present one");
    return;
  }
  const Row before = *known.row;
  const Row& after = change != nullptr ? *change->after : before;
  const bool old = before.fence != s.fence;
  if (old != reply.fenced && before.state == State::claimed)
    broken(4, short_text(s.key) + ": an old fence is taken for the present one");
  if (old) {
    check_fenced(s, before, after);
  } else {
    check_given_up(s, before, after);
    check_blame(s, before, after);
    check_doubt(s, before, after);
    if (before.state == State::claimed && after.attempts != before.attempts + (s.counted ? 1 : 0))
      broken(9, short_text(s.key) + ": its attempts are miscounted");
    if (before.state == State::claimed && after.state == State::failed &&
        s.dead_letter != (after.dead_letter == DeadLetter::due))
      broken(14, short_text(s.key) + " fails, and its dead letter is not what was asked for");
    if (before.state != State::claimed) world_.hit(Probe::settlement_repeated_after_lost_reply);
    if (has_ended(before.state) && before.state != after.state && after.state != State::accepted)
      broken(4, short_text(s.key) + " ends twice");
  }
  note_settled(s, known);
  if (s.verdict.fault == Fault::device && !s.device) world_.hit(Probe::device_fault_not_believed);
  if (s.verdict.fault == Fault::mismatch) world_.hit(Probe::device_mismatch_kept);
}

// Law 4: it ends nothing and schedules nothing; what it knows is kept.
void LawBook::check_fenced(const Settlement& s, const Row& before, const Row& after) const {
  const std::string who = short_text(s.key);
  world_.hit(Probe::fenced_settlement);
  const bool raised = has_ended(before.state) && before.state != State::accepted &&
                      after.state == State::accepted && s.verdict.effect == Effect::sent;
  if (before.state != after.state && !raised) broken(4, who + ": an old fence changes its state");
  if (before.fence != after.fence || before.next_at != after.next_at ||
      before.lease_end != after.lease_end || before.attempts != after.attempts ||
      before.deadline != after.deadline || before.ticket != after.ticket ||
      before.incarnation != after.incarnation)
    broken(4, who + ": an old fence changes more than what is known");
  if (!s.attempted) return;
  if (after.effect < s.verdict.effect) broken(4, who + ": what a late answer knew is lost");
  const bool kept =
      std::ranges::any_of(after.receipts, [&](const Receipt& r) { return r.fence == s.fence; });
  if (!kept && after.receipts.size() < kReceiptsKept) broken(4, who + ": a late receipt is lost");
  if (has_ended(before.state) && s.verdict.effect == Effect::sent && after.state != State::accepted)
    broken(4, who + ": a late proof does not make it accepted");
  world_.hit(raised ? Probe::late_receipt_raises_row : Probe::late_settlement_ends_nothing);
}

// Law 7: a fault of ours counts against nobody.
void LawBook::check_blame(const Settlement& s, const Row& before, const Row& after) const {
  const Verdict& v = s.verdict;
  if (!s.attempted) {
    if (before.effect != after.effect) broken(5, "a claim without a call changes what was sent");
    return;
  }
  if (before.effect == Effect::sent) return;  // a late proof ends it whatever this one says
  const bool wide = v.scope == FaultScope::provider || v.scope == FaultScope::part;
  const bool ours = v.fault == Fault::auth || (v.fault == Fault::config && wide);
  if (!ours || v.effect != Effect::not_sent || before.state != State::claimed) return;
  const std::string who = short_text(s.key);
  if (after.state != State::waiting) broken(7, who + " ends by a fault that is the operator's");
  if (after.attempts != before.attempts) broken(7, who + ": the operator's fault is counted");
  if (s.device) broken(7, who + ": the operator's fault is put on the device");
}

// Law 6: where the class gives up, doubt is the end, and no wait for what the next claim says.
void LawBook::check_doubt(const Settlement& s, const Row& before, const Row& after) const {
  if (!s.attempted || before.state != State::claimed || after.effect != Effect::maybe_sent) return;
  const AmbiguityPolicy ambiguous =
      classes_[known_.at(s.key).message_class].ambiguous(Channel::push);
  const bool ends = ambiguous == AmbiguityPolicy::give_up ||
                    (ambiguous == AmbiguityPolicy::resend && s.verdict.receipt_missing);
  if (ends && s.verdict.effect == Effect::maybe_sent && after.state == State::waiting)
    broken(6, short_text(s.key) + " waits although it may have been sent");
}

// What the settlement says against what the provider and the network really told the process.
void LawBook::note_settled(const Settlement& s, Known& known) {
  if (!s.attempted) return;
  const auto at =
      std::ranges::find_if(known.attempts, [&](const Attempt& a) { return a.fence == s.fence; });
  const std::string who = short_text(s.key);
  const bool asked =
      std::ranges::any_of(known.questions, [&](const Question& q) { return q.fence == s.fence; });
  if (at == known.attempts.end()) {
    if (known.forgotten || known.adopted || asked) return;
    broken(1, who + ": the answer to a call that was never made");
  }
  const Effect effect = s.verdict.effect;
  switch (at->told) {
    case Told::nothing:
      broken(6, who + " is settled before anything was heard");
    case Told::not_sent:
      if (effect == Effect::sent) broken(6, who + " is accepted, and was not sent");
      break;
    case Told::refused:
      if (effect == Effect::sent) broken(6, who + " is accepted, and was refused");
      break;
    case Told::maybe_sent:
    case Told::no_receipt:
      if (effect != Effect::maybe_sent)
        broken(6, who + " may have been sent, and counts as " + std::string(name(effect)));
      break;
    case Told::sent:
      if (effect != Effect::sent) broken(6, who + " was accepted, and counts as less");
      break;
  }
  if (effect == Effect::not_sent && at->processed != 0)
    broken(6, who + " counts as not sent, and was processed");
  if (at->told == Told::refused && at->blame != Blame::device && s.device) {
    if (s.device->change != "mismatch")
      broken(8, who + ": a device is ended by an answer that does not say so");
    if (at->blame != Blame::mismatch && at->blame != Blame::setup)
      broken(8, who + ": a device is marked by an answer that does not speak of it");
  }
  at->settled = std::max(at->settled.value_or(Effect::not_sent), effect);
  if (at->settled == Effect::sent && at->receipt == 0) at->receipt = ++order_;
  if (!at->doubted) at->doubted = world_.mono();  // by a life that has ended meanwhile
}

void LawBook::check_change(const Row& before, const Row& after) const {
  const std::string who = short_text(after.key);
  if (after.effect < before.effect) broken(4, who + ": its effect falls");
  if (after.fence < before.fence) broken(4, who + ": its fence falls");
  if (after.attempts < before.attempts) broken(9, who + ": its attempts fall");
  if (after.deadline != before.deadline) broken(12, who + ": its deadline moves");
  if (after.fingerprint != before.fingerprint) broken(10, who + ": its content changes");
  if (after.revision < before.revision) broken(14, who + ": its revision falls");
  if (has_ended(before.state) && before.state != after.state) {
    if (after.state != State::accepted) broken(4, who + " ends a second time");
    if (after.revision == before.revision) broken(14, who + " changes under one revision");
  }
  if (!has_ended(before.state) && has_ended(after.state) && after.revision == before.revision)
    broken(14, who + " ends without a revision");
  if (before.keep_until > after.keep_until && has_ended(before.state))
    broken(13, who + ": its memory is shortened");
}

// Laws 6 and 14: an ending says what is known, no more and no less.
void LawBook::check_ending(const Row& row) const {
  const std::string who = short_text(row.key);
  const auto is = [&](State state, Effect effect) {
    if (row.state == state && row.effect != effect)
      broken(6, who + " ends " + std::string(name(state)) + " with effect " +
                    std::string(name(row.effect)));
  };
  is(State::accepted, Effect::sent);
  is(State::failed, Effect::not_sent);
  is(State::suppressed, Effect::not_sent);
  is(State::unknown, Effect::maybe_sent);
  if (row.state == State::claimed && row.lease_end <= WallTime{})
    broken(9, who + " is claimed for good");
  if (row.state == State::waiting && row.deadline == WallTime{})
    broken(9, who + " waits for nothing");
}

void LawBook::check_sweep(const RowChange& change, const Commit& commit) {
  if (!change.after) return check_forgotten(known_of(change.before->key));
  const Row& before = *change.before;
  const Row& after = *change.after;
  const std::string who = short_text(after.key);
  if (before.state == State::claimed) {
    if (before.incarnation == commit.incarnation) broken(5, who + " is swept while it is at work");
    if (after.effect == Effect::not_sent) broken(5, who + " was left behind, counts as not sent");
    world_.hit(Probe::claim_left_behind_ended_by_sweep);
  }
  if (after.dead_letter == DeadLetter::lost) {
    world_.hit(Probe::dead_letter_lost);
    return;
  }
  if (before.deadline > commit.now) broken(9, who + " is swept before its deadline");
  check_look_window(before, after, commit.now);
  world_.hit(Probe::row_ended_by_sweep);
}

// Law 13, with an hour's tolerance between the two clocks. When ours was behind at its end, it is
// kept from what ours said, or from the server's time of its message when that is later.
void LawBook::check_forgotten(Known& known) {
  const std::string who = short_text(known.key);
  if (!known.row || !has_ended(known.row->state)) broken(13, who + " is forgotten before its end");
  if (known.row->dead_letter == DeadLetter::due) broken(13, who + " is forgotten, its copy is due");
  const WallTime from = std::max(known.row->created, std::min(known.row->ended, known.ended));
  const Duration kept = world_.true_wall() - from;
  if (kept + std::chrono::hours(1) < policy(known).config.retention)
    broken(13, who + " is forgotten after " + text_of(kept));
  world_.hit(Probe::row_forgotten);
}

// What comes of them later is no copy of what comes now.
void LawBook::forget_attempts(Known& known) {
  known.processed = 0;
  for (Attempt& a : known.attempts) a.forgotten = true;
  known.forgotten_attempts.splice(known.forgotten_attempts.end(), known.attempts);
}

void LawBook::note_row(const RowChange& change) {
  const Row& any = change.after ? *change.after : *change.before;
  Known& known = known_of(any.key);
  if (!change.after) {
    known.row.reset();
    known.marker.clear();
    known.forgotten = true;
    forget_attempts(known);
    return;
  }
  const Row& after = *change.after;
  if (change.before) check_change(*change.before, after);
  check_ending(after);
  if (has_ended(after.state) && !(change.before && has_ended(change.before->state)))
    known.ended = world_.true_wall();
  if (!change.before) {
    known.marker = known.contents[after.fingerprint];
    // A message that is newer than the ledger is a new one to it.
    if (known.adopted && after.effect == Effect::not_sent) {
      known.adopted = false;
      forget_attempts(known);
    }
  } else if (change.before->state == State::claimed && after.state != State::claimed &&
             change.before->incarnation != incarnation_) {
    known.taken_over = true;
  }
  if (change.before && change.before->fence != after.fence &&
      change.before->state == State::claimed)
    known.taken_over = true;
  known.row = after;
}

void LawBook::check_events(const Changes& changes, std::span<const TicketedRequest> batch) {
  std::set<std::string> told;
  std::size_t devices_told = 0;
  for (const OutboxEntry& entry : changes.appended) {
    const auto ids = event_ids(entry.body);
    if (ids.size() > 1) world_.hit(Probe::events_batched);
    if (ids.empty() || ids.size() > kEventsPerEntry) broken(14, "an outbox entry of no events");
    if (is_device(entry.subject)) {
      devices_told += ids.size();
      continue;
    }
    for (const std::string& id : ids)
      if (!told.insert(id).second) broken(14, "an event is written twice");
  }
  for (const RowChange& change : changes.rows) {
    if (!change.after) continue;
    const Row& after = *change.after;
    const std::uint32_t before = change.before ? change.before->revision : 0;
    if (after.revision == before) continue;
    Known& known = known_of(after.key);
    const auto* settlement = std::get_if<Settlement>(&batch[change.request].request);
    const bool quiet = settlement != nullptr && settlement->exceptional_only &&
                       after.state == State::accepted && settlement->fence == after.fence;
    if (told.erase(event_id(after)) == 0) {
      if (!quiet) broken(14, short_text(after.key) + " changes without an event");
    } else {
      known.revisions[after.revision] = after.state;
    }
  }
  if (devices_told != changes.devices.size()) broken(14, "a device changes without an event");
  if (!told.empty()) broken(14, "an event about nothing: " + *told.begin());
}

// Law 8: only that token, and only when it is dead.
void LawBook::check_device(const DeviceChanged& change, const TicketedRequest& request) {
  devices_[change.hash] = change.after;
  const auto* s = std::get_if<Settlement>(&request.request);
  if (s == nullptr) broken(8, "a device changes without a verdict");
  if (change.hash != known_of(s->key).device) broken(8, "another device is ended");
  if (s->verdict.fault != Fault::device && s->verdict.fault != Fault::mismatch)
    broken(8, "a device is ended by a fault that is not its own");
  if (change.after.state != DeviceState::invalid) return;
  if (s->verdict.fault == Fault::mismatch) broken(8, "a device is ended by its sender's mistake");
  for (const Known* known : by_device_[change.hash]) {
    const TokenTruth& truth = providers_[known->provider].service->token(known->token);
    if (!truth.dead_since) broken(8, short_text(known->key) + ": its device lives, and is ended");
  }
  const Known& known = known_of(s->key);
  const auto at =
      std::ranges::find_if(known.attempts, [&](const Attempt& a) { return a.fence == s->fence; });
  const auto& registered = s->device->registered_at;
  if (at != known.attempts.end() && at->dead_since && registered && *registered > *at->dead_since)
    broken(8, short_text(s->key) + ": a device is ended that was registered later");
  world_.hit(Probe::device_invalidated);
}

void LawBook::ledger_lost(WallTime adopted_at) {
  adopted_at_ = adopted_at;
  devices_.clear();
  highest_fence_ = Fence{};
  for (Published& m : messages_) m.acked_before = m.acked;
  for (auto& [key, known] : known_) {
    known.adopted = true;
    for (Attempt& a : known.attempts) {
      a.fence = Fence{};  // the new ledger counts from one again
      a.settled.reset();  // and knows nothing of it
    }
    for (Question& q : known.questions) q.fence = Fence{};
    known.row.reset();
    known.revisions.clear();
    known.events.clear();
  }
}

}  // namespace sendonce::sim
