// From a waiting delivery to a claim, and from the claim to the call.
#include <algorithm>
#include <utility>

#include "plugin/core/crash_point.hpp"
#include "plugin/core/text.hpp"
#include "plugin/message/trace_context.hpp"
#include "plugin/pipeline/engine.hpp"

namespace sendonce {

static_assert(std::variant_size_v<ClaimReply> ==
              std::tuple_size_v<decltype(ClassCounters::claim_answers)>);

namespace {

constexpr Duration kBusyFirst = std::chrono::milliseconds(50);
constexpr Duration kBusyMax = std::chrono::seconds(5);

template <class... F>
struct Overload : F... {
  using F::operator()...;
};

Verdict not_started(std::string reason) {
  return {.name = VerdictClass::retryable,
          .effect = Effect::not_sent,
          .fault = Fault::provider,
          .reason = std::move(reason)};
}

// Of what the provider would see twice: without credentials, which may be renewed in between.
RequestHash request_hash(const HttpRequest& request, const ProviderSlot& slot) {
  Sha256 sha;
  sha.begin();
  sha.update_field(request.method);
  sha.update_field(request.url.empty() ? slot.config.endpoint + request.path : request.url);
  sha.update_field(std::string_view(request.body).substr(0, request.credential_at));
  const std::string& header = slot.provider->capabilities().idempotency_header;
  if (const auto key = request.headers.find(header)) {
    sha.update_field(header);
    sha.update_field(*key);
  }
  const Sha256Digest digest = sha.finish();
  RequestHash hash;
  std::copy_n(digest.begin(), hash.bytes.size(), hash.bytes.begin());
  return hash;
}

}  // namespace

Attempt Engine::attempt(const Delivery& d) const {
  const HeldMessage& held = *d.message;
  return {.notification = held.note,
          .target = target(d),
          .key = d.key,
          .nid = held.nid_digest,
          .collapse = held.collapse,
          .deadline = d.deadline,
          .stored = held.message.stored_at};
}

void Engine::enqueue(Delivery& d) {
  if (d.queued_at == d.provider) return;
  d.queued_at = d.provider;
  ProviderState& p = provider(d);
  p.on_trial = false;
  p.queue.push(d.message_class, d.ticket);
}

// Passes by what has been handed back, has moved to another provider, or was claimed for its
// deadline meanwhile.
Delivery* Engine::next_queued(ProviderIndex provider, bool high_only) {
  while (const auto ticket = providers_[provider.get()]->queue.pop(high_only)) {
    Delivery* d = deliveries_.find(*ticket);
    if (d == nullptr || d->queued_at != provider) continue;
    d->queued_at.reset();
    if (d->stage == Stage::queued) return d;
  }
  return nullptr;
}

// To the front, in their order.
void Engine::put_back(ProviderIndex provider, const std::vector<Ticket>& tickets) {
  for (auto it = tickets.rbegin(); it != tickets.rend(); ++it) {
    Delivery& d = *deliveries_.find(*it);
    d.queued_at = provider;
    providers_[provider.get()]->queue.put_back(d.message_class, *it);
  }
}

void Engine::dispatch() {
  dispatch_again_ = MonoTime::max();
  dispatched_ = now_.mono;
  if (draining_) return;
  for (std::size_t i = 0; i < providers_.size(); ++i) {
    ProviderState& p = *providers_[i];
    if (p.queue.empty() || !p.paused.empty()) continue;
    const ProviderIndex index(static_cast<std::uint16_t>(i));
    if (p.slot.provider->capabilities().many_origins) {
      dispatch_one(index, p.queue.size(), 0);  // each origin has its own room
      continue;
    }
    const PoolState pool = deps_.transport.state(index);
    const std::size_t room = pool.room > p.reserved ? pool.room - p.reserved : 0;
    if (room == 0) {
      deps_.transport.warm_up(index);
      continue;
    }
    dispatch_one(index, room, pool.open + pool.room);
  }
}

void Engine::dispatch_one(ProviderIndex index, std::size_t room, std::size_t streams) {
  ProviderState& p = *providers_[index.get()];
  std::vector<Ticket> not_now;
  std::vector<std::string_view> full;  // origins, asked once: thousands may wait for one
  while (room > 0 && !p.queue.empty() && p.slot.provider->ready(now_.wall)) {
    if (!p.limiter.allows(now_.mono)) {
      dispatch_again_ = std::min(dispatch_again_, p.limiter.next(now_.mono));
      break;
    }
    const bool last_quarter = streams >= 4 && room <= streams / 4;
    Delivery* d = next_queued(index, last_quarter);
    if (d == nullptr) break;
    if (!d->refused.empty() || now_.wall >= std::max(d->deadline, d->look_until)) {
      claim(*d);  // the claim ends its row: no call, no room, no probe
      continue;
    }
    if (const MonoTime at = p.pace.next(d->device, now_.mono); at > now_.mono) {
      wait_again(*d, now_.wall + (at - now_.mono));
      continue;
    }
    if (!has_room_at_its_origin(p, *d, full)) {
      not_now.push_back(d->ticket);
      continue;
    }
    ClassState& of_class = state(*d);
    if (!of_class.paused.empty()) {
      not_now.push_back(d->ticket);
      continue;
    }
    const bool in_rate = of_class.limiter.allows(now_.mono);
    if (!in_rate) dispatch_again_ = std::min(dispatch_again_, of_class.limiter.next(now_.mono));
    const auto probe = in_rate ? p.holds.may_start(d->part, now_.mono) : std::nullopt;
    if (!probe) {
      not_now.push_back(d->ticket);
      if (d->part.empty() && p.holds.held(now_.mono)) break;
      continue;
    }
    d->probe = *probe;
    if (!start(p, *d)) continue;
    of_class.limiter.take();
    p.limiter.take();
    p.pace.take(d->device, now_.mono);
    --room;
  }
  put_back(index, not_now);
}

// One origin that is full or away keeps nobody else waiting.
bool Engine::has_room_at_its_origin(const ProviderState& p, const Delivery& d,
                                    std::vector<std::string_view>& full) {
  if (d.authority.empty()) return true;  // the room of the provider has been looked at
  if (std::ranges::find(full, d.authority) != full.end()) return false;
  const auto reserved = p.reserved_at.find(d.authority);
  const std::size_t taken = reserved == p.reserved_at.end() ? 0 : reserved->second;
  if (deps_.transport.room_at(d.provider, d.authority) > taken) return true;
  full.push_back(d.authority);
  deps_.transport.warm_up_at(d.provider, d.authority);
  return false;
}

void Engine::reserve(ProviderState& p, Delivery& d) {
  d.reserved = true;
  ++p.reserved;
  if (!d.authority.empty()) ++p.reserved_at[d.authority];
}

void Engine::release(ProviderState& p, Delivery& d) {
  if (!std::exchange(d.reserved, false)) return;
  SO_ASSERT(p.reserved > 0);
  --p.reserved;
  if (d.authority.empty()) return;
  const auto at = p.reserved_at.find(d.authority);
  SO_ASSERT(at != p.reserved_at.end());
  if (--at->second == 0) p.reserved_at.erase(at);
}

// False: no room is needed, the claim ends the row.
bool Engine::start(ProviderState& p, Delivery& d) {
  SO_ASSERT(&p == &provider(d));  // or the request goes out with another one's credential
  auto prepared = p.slot.provider->prepare(attempt(d), now_.wall);
  if (prepared) {
    d.request = std::move(*prepared);
    d.credential = p.slot.provider->credential();
    reserve(p, d);
  } else {
    d.refused = std::move(prepared.error().text);
    spare_probe(d);
  }
  claim(d);
  return d.reserved;
}

void Engine::claim(Delivery& d) {
  const ClassPolicy& c = policy(d);
  HeldMessage& held = *d.message;
  d.stage = Stage::claiming;
  d.due = {};
  const bool repeatable =
      d.request && c.ambiguous(held.note.channel) == AmbiguityPolicy::resend_with_key;
  if (d.request) {
    // The call must have ended before the lease does.
    d.request->not_after_wall = d.deadline;
    d.request->not_after_mono = now_.mono + c.config.claim - provider(d).slot.config.total;
  }
  auto& r = request<ClaimRequest>(d.ticket);
  r.scope = c.scope;
  r.key = d.key;
  r.previous_key = d.previous_key;
  r.nid = held.nid;
  r.event = held.event;
  r.recipient = held.recipient;
  r.campaign = held.campaign;
  r.fingerprint = d.fingerprint;
  r.lease = c.config.claim;
  r.retention = c.config.retention;
  r.stored_at = held.message.stored_at;
  r.deadline = held.deadline;
  r.message_class = c.config.name;
  r.provider = provider(d).slot.config.name;
  r.ref = target(d).ref;
  r.device = DeviceClaim{d.device, target(d).registered_at};
  if (const ProviderConfig& p = provider(d).slot.config; p.reuse != TokenReuse::allow) {
    r.device->reuse = p.reuse == TokenReuse::refuse ? Reuse::refuse : Reuse::report;
    r.device->kind = name(p.kind);
  }
  r.event_id = held.note.event_id;
  r.traceparent = traceparent_of(held.message.headers);
  r.refused = d.refused;
  r.request = repeatable ? request_hash(*d.request, provider(d).slot) : RequestHash{};
  if (const auto lag = lag_of(d)) r.look_for = look_for(*lag);
}

void Engine::on_claim(Delivery& d, ClaimReply reply) {
  SO_ASSERT(d.stage == Stage::claiming);
  ProviderState& p = provider(d);
  const bool asked_again = std::exchange(d.asked_again, false);
  release(p, d);
  ++state(d).counters.claim_answers[reply.index()];
  if (!std::holds_alternative<Claimed>(reply)) {
    d.request.reset();
    spare_probe(d);
  }
  const auto act = Overload{
      [&](const Claimed& c) { on_claimed(d, c, asked_again); },
      // A claim of ours ends long before its lease does: ask again soon.
      [&](const Busy& b) {
        const Duration soon =
            std::min(kBusyFirst * (1 << std::min<int>(d.local_tries++, 8)), kBusyMax);
        wait_again(d, std::min(b.until, now_.wall + soon));
      },
      [&](const Waiting& w) { wait_again(d, w.until); },
      [&](const Done& done) { on_done(d, done); },
      [&](const Conflict&) {
        ++state(d).counters.conflicts;
        tell(d, Level::warn, "claim.conflict", {});
        copy(d, CopyOf::conflict, "same key, other content");
      },
      [&](const DeadLetterDue& due) {
        if (due.ended_now) count_ending(d, State::failed);
        if (due.ended_now && due.reason == kTokenReused) ++p.counters.devices_reused;
        copy(d, CopyOf::failed_delivery, due.reason);
      },
      [&](const Stopped&) { wait_again(d, now_.wall + std::chrono::seconds(1)); },
  };
  std::visit(act, reply);
}

void Engine::on_claimed(Delivery& d, const Claimed& claimed, bool asked_again) {
  ClassState& of_class = state(d);
  ++of_class.counters.claimed;
  if (claimed.taken_over) ++of_class.counters.taken_over;
  if (claimed.reused) ++provider(d).counters.devices_reused;
  d.fence = claimed.fence;
  d.carried = claimed.carried;
  d.attempts = claimed.attempts;
  const AmbiguityPolicy ambiguous = policy(d).ambiguous(d.message->note.channel);
  if (ambiguous != AmbiguityPolicy::give_up && !at_its_provider(d, claimed)) return;
  if (claimed.carried != Effect::not_sent && ambiguous == AmbiguityPolicy::lookup) {
    if (!may_send_after_looks(d, claimed)) return;
  } else if (const auto judged = judge_claim(claimed, ambiguous, policy(d).config.retry);
             !judged.proceed) {
    return give_up(d, judged.reason);
  }
  if (draining_) return give_back(d, Duration::zero(), "draining");
  if (!d.request) {
    // Past the message's deadline and not past the row's, which is the one that counts.
    d.deadline = std::max(d.deadline, claimed.deadline);
    return give_back(d, Duration::zero(), "claimed without a request");
  }
  // A claim that the ledger refuses is asked for half a second later: what was looked at before it
  // may have changed meanwhile.
  if (asked_again && paused(d)) {
    spare_probe(d);
    return give_back(d, Duration::zero(), "paused");
  }
  if (asked_again && d.probe == ProbeId{} && provider(d).holds.held(d.part, now_.mono))
    return give_back(d, Duration::zero(), "held");
  d.request->not_after_wall = std::min(d.request->not_after_wall, claimed.deadline);
  if (ambiguous == AmbiguityPolicy::resend_with_key && claimed.carried != Effect::not_sent) {
    const ProviderSlot& slot = provider(d).slot;
    if (claimed.request != request_hash(*d.request, slot)) return give_up(d, "request_changed");
    // A configuration may be shorter than the rows that are open under it.
    const WallTime last =
        claimed.created + slot.provider->capabilities().idempotency_window - slot.config.total;
    if (now_.wall >= last) return give_up(d, "the provider may have forgotten the key");
    d.request->not_after_wall = std::min(d.request->not_after_wall, last);
  }
  call(d);
}

void Engine::call(Delivery& d) {
  ProviderState& p = provider(d);
  const bool in_doubt = d.carried != Effect::not_sent;
  crash_point(CrashPoint::claim_durable);
  d.stage = Stage::calling;
  d.called = now_.wall;
  if (!deps_.transport.submit(d.ticket, d.provider, std::move(*d.request), p.slot.config.total)) {
    d.request.reset();
    return give_back(d, std::chrono::milliseconds(20), "no free stream");
  }
  d.request.reset();
  ClassCounters& n = state(d).counters;
  ++n.calls;
  if (in_doubt) {
    ++n.repeats_in_doubt;
  } else if (d.attempts > 0) {
    ++n.repeats;
  }
}

// A claim in doubt that no call may follow.
void Engine::give_up(Delivery& d, std::string reason) {
  spare_probe(d);
  d.verdict = {.reason = reason};
  d.decision = {.state = State::unknown, .counted = false, .reason = std::move(reason)};
  d.attempted = false;
  settle(d);
}

// A claim that is not followed by a call: nothing was sent, nothing is counted.
void Engine::give_back(Delivery& d, Duration delay, std::string reason) {
  provider(d).holds.probe_lost(std::exchange(d.probe, {}), now_.mono);
  d.request.reset();
  d.verdict = not_started(std::move(reason));
  d.decision = {.state = State::waiting, .delay = delay, .counted = false};
  d.attempted = false;
  settle(d);
}

// It needs no call, so it tries no hold: another may, at once.
void Engine::spare_probe(Delivery& d) {
  provider(d).holds.probe_unused(std::exchange(d.probe, {}));
}

void Engine::wait_again(Delivery& d, WallTime until) {
  const Duration delay = until - now_.wall;
  if (delay <= Duration::zero()) {
    d.stage = Stage::queued;
    enqueue(d);
    if (draining_) hand_back_if_idle(*d.message);
    return;
  }
  d.stage = Stage::waiting;
  set_timer(d, delay);
  hand_back_if_idle(*d.message);
}

void Engine::on_done(Delivery& d, const Done& done) {
  ClassState& of_class = state(d);
  looks_.forget(d.key);
  if (done.suppressed_now) {
    count_ending(d, done.state);
  } else if (d.message->message.delivered > 1) {
    ++of_class.counters.found_ended;
  } else {
    ++of_class.counters.duplicates_suppressed;
    tell(d, Level::debug, "claim.duplicate", {{"outcome", name(done.state)}});
  }
  end(d);
}

}  // namespace sendonce
