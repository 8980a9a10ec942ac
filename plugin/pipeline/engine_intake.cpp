// From a message to deliveries that wait for their turn.
#include <algorithm>
#include <span>
#include <utility>

#include "plugin/core/crash_point.hpp"
#include "plugin/core/prefetch.hpp"
#include "plugin/core/text.hpp"
#include "plugin/message/replay.hpp"
#include "plugin/message/target_decoder.hpp"
#include "plugin/pipeline/engine.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kLot = 64;  // messages

std::string_view doing(Stage stage) {
  switch (stage) {
    case Stage::queued:
      return "waits for its provider";
    case Stage::claiming:
      return "is being claimed";
    case Stage::calling:
      return "is with its provider";
    case Stage::looking:
      return "is in doubt, its provider is being asked";
    case Stage::settling:
      return "is being recorded";
    case Stage::waiting:
      return "waits for another attempt";
    case Stage::copying:
    case Stage::recording:
      return "is being copied to the dead letters";
    case Stage::ended:
      return "has ended";
  }
  return "";
}

}  // namespace

void Engine::take_messages() {
  arrived_.clear();
  deps_.broker.take(arrived_);
  // In lots: what has just been decoded is still in the caches when its request is prepared.
  for (std::span<Message> rest = arrived_; !rest.empty();) {
    const std::span<Message> lot = rest.first(std::min(rest.size(), kLot));
    rest = rest.subspan(lot.size());
    for_each_prefetched(
        lot, [this](Message& m) { take_message(m); },
        [](const Message& m) { prefetch_text(m.body); });
    if (!rest.empty()) dispatch();
  }
}

void Engine::take_message(Message& message) {
  if (reports_.is_one(message)) return reports_.take(std::move(message));
  ClassState& state = class_states_[message.message_class.get()];
  ++state.counters.received;
  if (message.delivered > 1) ++state.counters.redelivered;
  if (HeldMessage* held = held_.find(message); held != nullptr) {
    // The same message once more: the newer reply serves.
    held->message.reply = std::move(message.reply);
    held->progressed = now_.mono;
    return;
  }
  crash_point(CrashPoint::message_pulled);
  hold(message);
}

// All that can make a message undecodable. What can be said only of a target comes later.
Result<void> Engine::read(HeldMessage& held, const ClassPolicy& policy) {
  SO_TRY(named_, replayed_keys(held.message.headers));
  SO_CHECK(decoder_.decode(held.message.body, held.note));
  SO_CHECK(resolve(held.note, policy));
  SO_TRY(held.nid_digest, keys_.nid_digest(policy.recipe, held.note));
  return {};
}

void Engine::hold(Message& message) {
  HeldMessage& held = held_.add(std::move(message));
  const ClassPolicy& policy = classes_[held.message.message_class.get()];
  if (auto done = read(held, policy); !done) return hold_poison(held, std::move(done.error().text));
  held.nid = nid_from(held.nid_digest);
  held.event = keys_.event_lookup(held.note.event_id);
  held.recipient = keys_.recipient_lookup(held.note.recipient);
  held.campaign = keys_.campaign_lookup(held.note.campaign_id);
  held.progressed = now_.mono;
  held.deadline = held.message.stored_at + policy.config.expires;
  if (held.note.expires_at) held.deadline = std::min(held.deadline, *held.note.expires_at);
  held.collapse = !held.note.collapse.empty() ? held.note.collapse
                                              : expand_collapse(policy.config.collapse, held.note);
  if (held.collapse.empty()) held.collapse = collapse_from(held.nid_digest);
  held.deliveries.reserve(resolved_.size());
  for (std::size_t i = 0; i < resolved_.size(); ++i)
    add_delivery(held, static_cast<std::uint16_t>(i), std::move(resolved_[i]));
  if (held.deliveries.empty())
    hold_poison(held, std::string(kReplayHeader) + ": none of its targets has this key");
}

// Which provider each target goes to, in `resolved_`, or why nobody can say so. One that has been
// taken off the route still has rows of this message, maybe open ones: its deliveries are refused
// one by one, so that each ends in the ledger.
Result<void> Engine::resolve(const Notification& note, const ClassPolicy& policy) {
  resolved_.clear();
  for (std::size_t i = 0; i < note.targets.size(); ++i) {
    const Target& t = note.targets[i];
    const auto is_meant = [&](const ProviderState& p) {
      const ProviderConfig& c = p.slot.config;
      return t.kind ? c.kind == *t.kind : c.name == t.provider;
    };
    const auto on_route = std::ranges::find_if(policy.routes, [&](const auto& route) {
      return route.first == note.channel && is_meant(*providers_[route.second.get()]);
    });
    if (on_route != policy.routes.end()) {
      resolved_.push_back({.provider = on_route->second});
      continue;
    }
    const auto known =
        std::ranges::find_if(providers_, [&](const auto& p) { return is_meant(*p); });
    std::string refused = "no such provider on the " + std::string(name(note.channel)) +
                          " route of class " + policy.config.name;
    if (known == providers_.end())
      return fail(Errc::invalid, "$.targets[" + std::to_string(i) + "]: " + refused);
    resolved_.push_back(
        {.provider = ProviderIndex(static_cast<std::uint16_t>(known - providers_.begin())),
         .refused = std::move(refused)});
  }
  return {};
}

// The device that a report is about, as its deliveries would name it.
Result<DeviceReports::Named> Engine::device_of(const DeviceReport& report) {
  const Target& t = report.target;
  const auto is_meant = [&](const auto& p) {
    const ProviderConfig& c = p->slot.config;
    return t.kind ? c.kind == *t.kind : c.name == t.provider;
  };
  const auto found = std::ranges::find_if(providers_, is_meant);
  if (found == providers_.end())
    return fail(Errc::invalid, t.kind ? "$.kind: there is no provider of this kind"
                                      : "$.provider: there is no provider of this name");
  if (t.kind && std::ranges::count_if(providers_, is_meant) > 1)
    return fail(Errc::invalid, "$.kind: several providers are of this kind, name one instead");
  const ProviderSlot& slot = (*found)->slot;
  const ProviderKind kind = slot.config.kind;
  DeviceReports::Named out{.kind = std::string(name(kind)), .provider = slot.config.name};
  if (report.hash) {
    out.hash = *report.hash;
    return out;
  }
  if (report.form != form_for(kind))
    return fail(Errc::invalid, "$.provider: does not take the destination that is given");
  const auto normal = slot.provider->normal_form(t);
  if (!normal) return fail(Errc::invalid, "$: " + normal.error().text);
  out.hash = keys_.device_hash(kind, (*found)->app_scope, *normal);
  return out;
}

void Engine::add_delivery(HeldMessage& held, std::uint16_t target_index, Resolved&& resolved) {
  const ClassPolicy& policy = classes_[held.message.message_class.get()];
  ProviderState& p = *providers_[resolved.provider.get()];
  Target& t = held.note.targets[target_index];
  Delivery& d = deliveries_.add();
  d.message = &held;
  d.message_class = held.message.message_class;
  d.target = target_index;
  d.provider = resolved.provider;
  d.refused = std::move(resolved.refused);
  auto normal = p.slot.provider->normal_form(t);
  if (normal) {
    t.destination = std::move(*normal);
    const Origin origin = p.slot.provider->origin_of(t);
    d.authority = origin.authority;
    d.part = origin.part;
  } else {
    d.refused = std::move(normal.error().text);
  }
  const Destination& destination = t.destination;
  const ProviderKind kind = p.slot.config.kind;
  d.key = keys_.delivery_key(held.nid_digest, kind, p.app_scope, destination);
  if (policy.previous) {
    if (const auto digest = keys_.nid_digest(*policy.previous, held.note))
      d.previous_key = keys_.delivery_key(*digest, kind, p.app_scope, destination);
  }
  if (!is_named(d)) return deliveries_.remove(d.ticket);
  d.fingerprint = keys_.fingerprint(held.note, kind);
  d.device = keys_.device_hash(kind, p.app_scope, destination);
  d.deadline = held.deadline;
  if (may_move(d) && !takes_deliveries(p))
    if (const auto next = on_route(d, d.provider)) move_to(d, *next);
  held.deliveries.push_back(d.ticket);
  ++held.open;
  ++state(d).counters.targets;
  enqueue(d);
}

// A replay leaves the targets alone that it does not name: whether they are remembered or
// forgotten, nobody asks the ledger about them.
bool Engine::is_named(const Delivery& d) const {
  return named_.empty() || std::ranges::any_of(named_, [&](const Key& key) {
           return key == d.key || (d.previous_key && key == *d.previous_key);
         });
}

// What cannot be decoded has one pseudo-delivery: its copy for the dead-letter stream.
void Engine::hold_poison(HeldMessage& held, std::string reason) {
  ++class_states_[held.message.message_class.get()].counters.undecodable;
  held.poison = true;
  held.progressed = now_.mono;
  held.deadline = WallTime::max();
  Delivery& d = deliveries_.add();
  d.message = &held;
  d.message_class = held.message.message_class;
  held.deliveries.push_back(d.ticket);
  held.open = 1;
  tell(d, Level::warn, "message.undecodable",
       {{"sequence", held.message.seq.get()}, {"reason", reason}});
  copy(d, CopyOf::undecodable, std::move(reason));
}

// An old reply would remove the new message that has its sequence by now (measured): what was
// pulled in another incarnation is never answered.
void Engine::forget_other_incarnations() {
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    const ClassIndex index(static_cast<std::uint16_t>(c));
    const LaneState lane = deps_.broker.lane(index);
    ClassState& state = class_states_[c];
    if (lane.incarnation == state.incarnation) continue;
    state.incarnation = lane.incarnation;
    state.handed_back = {};  // nobody brings those back
    held_.for_each(index, [&](HeldMessage& held) {
      if (held.forgotten || held.message.incarnation == lane.incarnation) return;
      held.forgotten = true;
      ++state.counters.forgotten;
    });
  }
}

std::string Engine::why_not_ready(ClassIndex message_class) const {
  if (draining_) return "draining";
  const ClassPolicy& policy = classes_[message_class.get()];
  const ClassState& state = class_states_[message_class.get()];
  if (!state.paused.empty()) return "paused " + state.paused;
  if (std::string reason =
          why_no_room(deps_.ledger.stats(), options_.outbox, outbox_.last_error(), now_.wall);
      !reason.empty())
    return reason;
  if (state.copies_fail && !may_pull(message_class))
    return "too many dead letters are not being confirmed: is the dead-letter stream there? run "
           "sendonce setup";
  const std::size_t pending = held_.count(message_class) + state.handed_back.size();
  if (pending * 5 >= static_cast<std::size_t>(policy.config.max_ack_pending) * 4) {
    for (const auto& [channel, index] : policy.routes)
      if (providers_[index.get()]->holds.held(now_.mono) ||
          !providers_[index.get()]->paused.empty() || unreachable(*providers_[index.get()]))
        return "blocked by " + providers_[index.get()]->slot.config.name;
    return "too many messages wait for a retry";
  }
  const LaneState lane = deps_.broker.lane(message_class);
  return lane.ready ? std::string() : lane.reason;
}

// In quarters: while the provider is what limits us, asking for every message that has just ended
// would make pull requests of a handful each.
bool Engine::may_pull(ClassIndex message_class) const {
  const std::size_t most = classes_[message_class.get()].config.in_flight;
  return held_.count(message_class) * 4 <= most * 3;
}

void Engine::give_credit() {
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    const ClassIndex index(static_cast<std::uint16_t>(c));
    ClassState& state = class_states_[c];
    while (!state.handed_back.empty() && state.handed_back.top() <= now_.mono)
      state.handed_back.pop();
    // Losing readiness may take a second to notice, regaining it must not.
    if (looked_after_ == now_.mono || draining_ || !state.not_ready.empty()) {
      std::string reason = why_not_ready(index);
      if (reason != state.not_ready)
        deps_.log.info(reason.empty() ? "class.ready" : "class.not_ready",
                       {{"class", classes_[c].config.name}, {"reason", reason}});
      state.not_ready = std::move(reason);
    }
    const bool more = state.not_ready.empty() && may_pull(index);
    const std::size_t credit = more ? classes_[c].config.in_flight - held_.count(index) : 0;
    if (credit == state.credit) continue;
    state.credit = credit;
    deps_.broker.credit(index, credit);
  }
}

std::vector<HeldReport> Engine::held(LookupHash event) {
  std::vector<HeldReport> out;
  const auto add = [&](const HeldMessage& message) {
    if (message.poison || message.event != event) return;
    for (const Ticket ticket : message.deliveries) {
      const Delivery* d = deliveries_.find(ticket);
      if (d == nullptr) continue;
      const ProviderState& p = *providers_[d->provider.get()];
      HeldReport report{.message_class = message.message.message_class,
                        .sequence = message.message.seq,
                        .target = d->target,
                        .provider = d->provider,
                        .doing = std::string(doing(d->stage))};
      if (d->stage == Stage::queued)
        for (const auto& [part, hold] : p.holds.all())
          if (part.empty() || part == d->part) report.reason = hold.reason;
      if (d->stage == Stage::queued && report.reason.empty() && unreachable(p))
        report.reason = "no connection";
      if (d->stage == Stage::queued && paused(*d)) report.reason = "paused";
      out.push_back(std::move(report));
    }
  };
  for (std::size_t c = 0; c < classes_.size(); ++c)
    held_.for_each(ClassIndex(static_cast<std::uint16_t>(c)), add);
  return out;
}

}  // namespace sendonce
