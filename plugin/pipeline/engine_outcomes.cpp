// From an answer to a durable outcome, and from the outcome to the ack.
#include <algorithm>
#include <utility>

#include "plugin/core/crash_point.hpp"
#include "plugin/core/prefetch.hpp"
#include "plugin/core/text.hpp"
#include "plugin/message/dead_letter.hpp"
#include "plugin/message/trace_context.hpp"
#include "plugin/pipeline/engine.hpp"
#include "plugin/pipeline/tickets.hpp"

namespace sendonce {
namespace {

constexpr Duration kDeviceRest = std::chrono::seconds(1);  // when its provider names no time
constexpr Duration kCopyRetry = std::chrono::seconds(1);
constexpr Duration kCopyRefusedRetry = std::chrono::seconds(30);
constexpr Duration kCredentialRetryFirst = std::chrono::seconds(1);
constexpr Duration kCredentialRetryMax = std::chrono::seconds(60);

// An answer to a credential that has been replaced meanwhile says nothing against the new one.
bool is_of_old_credential(const ProviderState& p, const Delivery& d, const Verdict& verdict) {
  return verdict.refresh_credential && d.credential != p.slot.provider->credential();
}

// What a believed fault makes of its device.
std::string change_of(const Verdict& verdict) {
  const bool dead = verdict.fault == Fault::device;
  return std::string(name(dead ? DeviceState::invalid : DeviceState::mismatch));
}

}  // namespace

void Engine::finish_calls() {
  for_each_prefetched(
      completions_, [this](Completion& c) { finish_call(c); },
      [this](const Completion& c) { deliveries_.prefetch(c.ticket); },
      [this](const Completion& c) { prefetch_message(c.ticket); },
      [this](const Completion& c) { prefetch_parts(c.ticket); });
  completions_.clear();
}

void Engine::finish_call(const Completion& completion) {
  if (kind_of(completion.ticket) == TicketKind::credential) {
    ProviderState& p = *providers_[low_of(completion.ticket)];
    p.credential_asked = false;
    if (std::exchange(p.credential_of_another, false)) return;
    const Verdict verdict = p.slot.provider->accept_auth(completion.result, now_.wall);
    if (verdict.effect == Effect::sent) {
      p.credential_failures = 0;
      p.holds.renewed(now_.mono);
      return;
    }
    const Duration delay = std::min(
        kCredentialRetryFirst * (1U << std::min(p.credential_failures, 6U)), kCredentialRetryMax);
    ++p.credential_failures;
    p.credential_retry = now_.mono + delay;
    deps_.log.error("provider.credential_failed",
                    {{"provider", p.slot.config.name}, {"reason", verdict.reason}});
    if (!p.slot.provider->ready(now_.wall))
      p.holds.open({}, verdict.fault, verdict.reason, now_.mono);
    return;
  }
  Delivery* d = deliveries_.find(completion.ticket);
  SO_ASSERT(d != nullptr && (d->stage == Stage::calling || d->stage == Stage::looking));
  if (d->stage == Stage::looking) return finish_look(*d, completion.result);
  ProviderState& p = provider(*d);
  p.counters.calls.observe(completion.elapsed);
  p.clock.look(completion, p.slot.config.name, now_.wall, now_.mono, deps_.log);
  Verdict verdict = p.slot.provider->classify(target(*d), completion.result, now_.wall);
  const auto* failure = std::get_if<CallFailure>(&completion.result);
  if (failure == nullptr) crash_point(CrashPoint::answer_read);
  conclude(*d, std::move(verdict), failure == nullptr || failure->effect != Effect::not_sent);
}

void Engine::conclude(Delivery& d, Verdict&& verdict, bool answered) {
  ProviderState& p = provider(d);
  const ClassPolicy& c = policy(d);
  // Where it was sent to; a part that only verdicts name is another matter.
  const std::string_view part = p.slot.provider->origin_of(target(d)).part;
  verdict = p.hygiene.of(part).weigh(std::move(verdict));
  judge_device(p, d, part, verdict);
  ++p.counters.verdicts[static_cast<std::size_t>(verdict.name)];
  heed(p, d, verdict);
  const AttemptContext context{.carried = d.carried,
                               .attempts = d.attempts,
                               .provider_answered = answered,
                               .age = now_.wall - d.message->message.stored_at,
                               .until_deadline = d.deadline - now_.wall,
                               .policy = c.ambiguous(d.message->note.channel),
                               .lag = lag_of(d)};
  d.decision = decide(verdict, context, c.config.retry, random_);
  note_doubt(d, verdict);
  d.carried = std::max(d.carried, verdict.effect);  // as its row's effect: it never falls
  d.verdict = std::move(verdict);
  d.attempted = true;
  fail_over(d);
  settle(d);
}

// Whether the registry may be told; of a mass invalidation it is not, and somebody must look.
void Engine::judge_device(ProviderState& p, Delivery& d, std::string_view part,
                          const Verdict& verdict) {
  Hygiene& hygiene = p.hygiene.of(part);
  const bool held = hygiene.breaker_open();
  const bool mismatches = hygiene.mismatches();
  d.device_believed = hygiene.believes(verdict, target(d));
  if (verdict.fault == Fault::device && !d.device_believed) ++p.counters.device_faults_withheld;
  if (verdict.fault == Fault::mismatch && !d.device_believed) ++p.counters.mismatches_withheld;
  if (hygiene.breaker_open() == held && hygiene.mismatches() == mismatches) return;
  const Field whose{"provider", p.slot.config.name};
  const Field where{"part", part};
  const Field why{"reason", verdict.reason};
  if (!held && hygiene.breaker_open())
    deps_.log.error("provider.invalidations_held", {whose, where, why});
  if (held && !hygiene.breaker_open())
    deps_.log.info("provider.invalidations_resumed", {whose, where});
  if (!mismatches && hygiene.mismatches())
    deps_.log.error("provider.mismatches", {whose, where, why});
  if (mismatches && !hygiene.mismatches())
    deps_.log.info("provider.mismatches_over", {whose, where});
}

// What the verdict means for the provider: holds, credentials, connections.
void Engine::heed(ProviderState& p, Delivery& d, const Verdict& verdict) {
  if (verdict.scope == FaultScope::part) d.part = verdict.part;
  const ProbeId probe = std::exchange(d.probe, {});
  if (verdict.fault == Fault::throttle && verdict.scope == FaultScope::device)
    p.pace.rest(d.device, now_.mono + std::max(verdict.retry_after, kDeviceRest), now_.mono);
  if (is_of_old_credential(p, d, verdict)) return p.holds.probe_unused(probe);
  if (p.holds.report(verdict, d.part, d.message->recipient, now_.mono, probe))
    deps_.log.error("provider.held", {{"provider", p.slot.config.name},
                                      {"part", d.part},
                                      {"fault", name(verdict.fault)},
                                      {"reason", verdict.reason}});
  if (verdict.refresh_credential && p.slot.provider->credential_refused(now_.wall))
    p.holds.renewed(now_.mono);
  if (verdict.reconnect) deps_.transport.renew(d.provider);
}

void Engine::settle(Delivery& d) {
  const ClassPolicy& c = policy(d);
  d.stage = Stage::settling;
  auto& s = request<Settlement>(d.ticket);
  s.scope = c.scope;
  s.key = d.key;
  s.fence = d.fence;
  s.state = d.decision.state;
  s.verdict = d.verdict;
  s.next_at = now_.wall + d.decision.delay;
  s.counted = d.decision.counted;
  s.attempted = d.attempted;
  s.dead_letter = d.decision.dead_letter;
  s.retention = c.config.retention;
  s.exceptional_only = c.config.events == EventsMode::exceptions;
  s.event_id = d.message->note.event_id;
  s.traceparent = traceparent_of(d.message->message.headers);
  if (!d.decision.reason.empty()) s.verdict.reason = d.decision.reason;
  if (d.verdict.effect == Effect::sent && provider(d).slot.config.reuse != TokenReuse::allow)
    s.bind = Bind{d.device, d.message->recipient, target(d).registered_at};
  if (std::exchange(d.device_believed, false)) {  // once: a later settlement has no such verdict
    s.device = Settlement::DeviceChange{.hash = d.device,
                                        .kind = std::string(name(provider(d).slot.config.kind)),
                                        .change = change_of(d.verdict),
                                        .registered_at = target(d).registered_at,
                                        .called = d.called};
  }
}

void Engine::on_settled(Delivery& d, const Settled& settled) {
  SO_ASSERT(d.stage == Stage::settling);
  crash_point(CrashPoint::settle_durable);
  if (d.attempted && deps_.attempts != nullptr && deps_.attempts->wanted()) show(d, settled);
  if (settled.fenced) {
    ++state(d).counters.fenced;
    return wait_again(d, now_.wall + std::chrono::seconds(1));  // ask what the row has become
  }
  if (!has_ended(settled.state)) return wait_again(d, settled.next_at);
  d.reason = d.decision.reason.empty() ? d.verdict.reason : d.decision.reason;
  looks_.forget(d.key);
  count_ending(d, settled.state);
  if (settled.dead_letter_due) return copy(d, CopyOf::failed_delivery, d.reason);
  end(d);
}

void Engine::show(const Delivery& d, const Settled& settled) const {
  deps_.attempts->settled({.at = now_.wall,
                           .message_class = policy(d).config.name,
                           .provider = providers_[d.provider.get()]->slot.config.name,
                           .trace_id = trace_id_of(traceparent_of(d.message->message.headers)),
                           .key = d.key,
                           .verdict = d.verdict,
                           .attempts = d.attempts,
                           .state = settled.state,
                           .next_at = settled.next_at,
                           .fenced = settled.fenced});
}

void Engine::count_ending(Delivery& d, State ending) {
  ClassCounters& n = state(d).counters;
  switch (ending) {
    case State::accepted:
      ++n.accepted;
      n.accepted_after.observe(now_.wall - d.message->message.stored_at);
      return;
    case State::failed:
      ++n.failed;
      break;
    case State::unknown:
      ++n.unknown;
      break;
    case State::suppressed:
      ++n.suppressed;
      break;
    case State::claimed:
    case State::waiting:
      SO_ASSERT(false);
  }
  tell(d, Level::info, "delivery.ended",
       {{"outcome", name(ending)}, {"verdict", name(d.verdict.name)}, {"reason", d.reason}});
}

void Engine::copy(Delivery& d, CopyOf copy_of, std::string reason) {
  d.copy_of = copy_of;
  d.reason = std::move(reason);
  publish_copy(d);
}

Publication Engine::copy_of(const Delivery& d) const {
  const Message& message = d.message->message;
  const ClassConfig& c = policy(d).config;
  Publication p = d.copy_of == CopyOf::undecodable
                      ? undecodable_letter(message, c.name, c.stream, d.reason)
                      : dead_letter(message, c.name, d.reason, d.key);
  // The key belongs to the first content, whose own copy must not be taken for this one.
  if (d.copy_of == CopyOf::conflict) p.message_id += '.' + std::to_string(message.seq.get());
  if (d.copy_without_body) {
    p.body.clear();
    p.headers.emplace_back("Sendonce-Body",
                           "omitted: the dead-letter stream refused the whole copy");
  }
  return p;
}

void Engine::publish_copy(Delivery& d) {
  d.stage = Stage::copying;
  d.due = {};
  crash_point(CrashPoint::copy_due);
  deps_.broker.publish(d.ticket, copy_of(d));
}

void Engine::on_copied(Delivery& d, const Result<void>& result) {
  SO_ASSERT(d.stage == Stage::copying);
  state(d).copies_fail = !result;
  if (!result) {
    const bool refused = result.error().code == Errc::invalid;
    tell(d, Level::error, "dead_letter.publish_failed", {{"error", result.error().text}});
    // Too large for the stream with our headers: the reason and the key are worth keeping alone.
    const bool first_refusal = refused && !std::exchange(d.copy_without_body, true);
    return set_timer(d, refused && !first_refusal ? kCopyRefusedRetry : kCopyRetry);
  }
  crash_point(CrashPoint::copy_confirmed);
  ++state(d).counters.dead_letters;
  if (d.copy_of != CopyOf::failed_delivery) return end(d);
  d.stage = Stage::recording;
  record(d);
}

void Engine::record(const Delivery& d) {
  auto& done = request<DeadLetterDone>(d.ticket);
  done.scope = policy(d).scope;
  done.key = d.key;
}

void Engine::end(Delivery& d) {
  d.stage = Stage::ended;
  HeldMessage& held = *d.message;
  SO_ASSERT(held.open > 0);
  if (--held.open == 0) {
    settle_message(held);
  } else {
    hand_back_if_idle(held);
  }
}

// Every delivery has ended, durably: law 3.
void Engine::settle_message(HeldMessage& held) {
  if (!held.forgotten) {
    crash_point(CrashPoint::ack_due);
    answer(held.message, held.poison);
    ++class_states_[held.message.message_class.get()].counters.acked;
  }
  forget(held);
}

void Engine::forget(HeldMessage& held) {
  for (const Ticket t : held.deliveries) {
    const Delivery* d = deliveries_.find(t);
    SO_ASSERT(d != nullptr && !d->reserved);
    deliveries_.remove(t);
  }
  held_.remove(held);
}

}  // namespace sendonce
