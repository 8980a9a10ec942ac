// From one provider of a route to the next: for SMS and e-mail, with the same row and key.
#include <algorithm>
#include <utility>

#include "plugin/core/assert.hpp"
#include "plugin/core/text.hpp"
#include "plugin/pipeline/engine.hpp"
#include "plugin/pipeline/failover.hpp"

namespace sendonce {
namespace {

// Whether the providers of its routes stand in for each other.
bool has_order(Channel channel) {
  return channel == Channel::sms || channel == Channel::email;
}

}  // namespace

// Whether a delivery that comes now would find more than a closed door. A hold that is due for its
// probe counts, and so does the trial of a provider that is away: somebody must try it.
bool Engine::takes_deliveries(const ProviderState& p) const {
  if (!p.paused.empty()) return false;
  if (unreachable(p) && !p.on_trial) return false;
  return std::ranges::none_of(p.holds.all(), [this](const auto& entry) {
    const Hold& hold = entry.second;
    return entry.first.empty() && (hold.probe != ProbeId{} || hold.probe_at > now_.mono);
  });
}

// The first provider for the delivery on the route, behind `after` if that is given.
std::optional<ProviderIndex> Engine::on_route(const Delivery& d,
                                              std::optional<ProviderIndex> after) const {
  const ProviderKind kind = providers_[d.provider.get()]->slot.config.kind;
  bool behind = !after;
  for (const auto& [channel, index] : policy(d).routes) {
    const ProviderState& p = *providers_[index.get()];
    if (channel != d.message->note.channel || p.slot.config.kind != kind) continue;
    if (behind && (!after || takes_deliveries(p))) return index;
    behind = behind || index == *after;
  }
  return std::nullopt;
}

// A target that names its kind goes wherever the route leads; one that names a provider does not.
bool Engine::is_routed(const Delivery& d) const {
  return has_order(d.message->note.channel) && target(d).kind.has_value();
}

bool Engine::may_move(const Delivery& d) const {
  return is_routed(d) && d.carried == Effect::not_sent && d.refused.empty();
}

void Engine::move_to(Delivery& d, ProviderIndex provider) {
  SO_ASSERT(!d.reserved);  // its place would be given back at the wrong one
  d.provider = provider;
  const Origin origin = providers_[provider.get()]->slot.provider->origin_of(target(d));
  d.authority = origin.authority;
  d.part = origin.part;
}

// After a verdict that has been heeded: the next provider at once, or the first one in its time.
void Engine::fail_over(Delivery& d) {
  if (d.decision.state != State::waiting || !may_move(d) || !another_may_do(d.verdict, d.carried))
    return;
  if (const auto next = on_route(d, d.provider)) {
    ++state(d).counters.failovers;
    deps_.log.debug("delivery.failed_over", {{"class", policy(d).config.name},
                                             {"key", short_key(d.key)},
                                             {"from", provider(d).slot.config.name},
                                             {"to", providers_[next->get()]->slot.config.name},
                                             {"reason", d.verdict.reason}});
    move_to(d, *next);
    d.decision.delay = Duration::zero();
  } else if (const auto first = on_route(d, std::nullopt)) {
    move_to(d, *first);
  }
}

// What waits for a provider that is held or away.
void Engine::divert(ProviderIndex index) {
  ProviderState& p = *providers_[index.get()];
  const ProviderKind kind = p.slot.config.kind;
  const bool one_of_many = kind == ProviderKind::sms || kind == ProviderKind::email;
  if (!one_of_many || p.queue.empty() || takes_deliveries(p)) return;
  std::vector<Ticket> staying;
  while (Delivery* d = next_queued(index, false)) {
    const auto next = may_move(*d) ? on_route(*d, index) : std::nullopt;
    if (!next) {
      staying.push_back(d->ticket);
      continue;
    }
    ++state(*d).counters.failovers;
    move_to(*d, *next);
    enqueue(*d);
  }
  put_back(index, staying);
}

// In doubt only the provider that may have it can be asked, or be sent to again. True: it is this
// one, or nobody knows which; else the claim has been given back, or its row ends.
bool Engine::at_its_provider(Delivery& d, const Claimed& claimed) {
  if (claimed.carried == Effect::not_sent || claimed.provider == provider(d).slot.config.name)
    return true;
  if (claimed.provider.empty()) {
    // Also of a target that names its provider: an earlier message with its key may have named
    // none.
    const Channel channel = d.message->note.channel;
    const auto others = std::ranges::count_if(policy(d).routes, [&](const auto& route) {
      return route.first == channel && route.second != d.provider;
    });
    if (others == 0 || !has_order(channel) ||
        policy(d).ambiguous(channel) == AmbiguityPolicy::resend)
      return true;
    spare_probe(d);
    give_up(d, "nobody knows by which provider an earlier attempt may have sent it");
    return false;
  }
  spare_probe(d);
  const auto known = std::ranges::find_if(policy(d).routes, [&](const auto& route) {
    return route.first == d.message->note.channel &&
           providers_[route.second.get()]->slot.config.name == claimed.provider;
  });
  if (known == policy(d).routes.end()) {
    give_up(d, "an earlier attempt may have sent it by " + claimed.provider);
    return false;
  }
  move_to(d, known->second);
  give_back(d, Duration::zero(), "in doubt at " + claimed.provider);
  return false;
}

}  // namespace sendonce
