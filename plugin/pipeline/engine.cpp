#include "plugin/pipeline/engine.hpp"

#include <algorithm>
#include <utility>

#include "plugin/core/crash_point.hpp"
#include "plugin/core/prefetch.hpp"
#include "plugin/core/text.hpp"
#include "plugin/message/trace_context.hpp"
#include "plugin/pipeline/tickets.hpp"

namespace sendonce {
namespace {

constexpr Duration kLookAfterEvery = std::chrono::seconds(1);
constexpr Duration kUnreachableAfter = std::chrono::seconds(5);
constexpr Duration kTrialEvery = std::chrono::seconds(15);
constexpr Duration kSweepEvery = std::chrono::seconds(1);
constexpr std::size_t kSweepRows = 1000;
constexpr Duration kWorthHandingBack = std::chrono::seconds(1);

HoldOptions hold_options(const ProviderConfig& c) {
  return {.breaker_open_after = c.breaker_open_after, .probe_first = c.breaker_probe};
}

}  // namespace

Engine::Engine(const EngineDeps& deps, EngineOptions options, std::vector<ClassPolicy> classes,
               std::vector<ProviderSlot> providers)
    : deps_(deps),
      options_(std::move(options)),
      classes_(std::move(classes)),
      class_states_(classes_.size()),
      keys_(Credential(options_.secret)),
      random_(options_.seed),
      held_(classes_.size()),
      outbox_(deps.broker, deps.log, options_.ledger_id),
      reports_(deps.broker, deps.log, options_.reports,
               [this](const DeviceReport& report) { return device_of(report); }) {
  for (std::size_t i = 0; i < classes_.size(); ++i)
    class_states_[i].limiter.set_rate(classes_[i].config.rate_per_second);
  for (ProviderSlot& slot : providers) {
    const ProviderConfig& c = slot.config;
    auto p =
        std::make_unique<ProviderState>(ProviderState{.slot = slot,
                                                      .queue = Dispatcher(classes_),
                                                      .holds = Holds(hold_options(c)),
                                                      .limiter = Limiter(c.rate_per_second),
                                                      .pace = DevicePace(c.device_rate_per_second),
                                                      .app_scope = slot.provider->app_scope()});
    providers_.push_back(std::move(p));
  }
  read_clock();
}

Engine::~Engine() = default;

void Engine::read_clock() {
  now_ = {deps_.clock.wall(), deps_.clock.mono()};
}

void Engine::poll(Duration wait) {
  read_clock();
  deps_.transport.poll(completions_, bounded_wait(wait));
  read_clock();
  finish_calls();
  take_replies();
  take_confirmations();
  take_messages();
  run_timers();
  renew_credentials();
  dispatch();
  sweep();
  const LedgerStats stats = deps_.ledger.stats();
  outbox_.poll(stats, now_.mono, requests_);
  reports_.poll(now_.mono, draining_,
                why_no_room(stats, options_.outbox, outbox_.last_error(), now_.wall), requests_);
  hand_over_requests();
  give_credit();
}

void Engine::hand_over_requests() {
  if (requests_.empty()) return;
  deps_.ledger.submit(std::move(requests_));
  requests_.clear();
}

Duration Engine::bounded_wait(Duration wait) const {
  MonoTime until = std::min({now_.mono + wait, looked_after_ + kLookAfterEvery, dispatch_again_});
  if (!timers_.empty()) until = std::min(until, timers_.top().due);
  for (const auto& p : providers_) {
    const auto change = p->holds.next_change();
    // A change that dispatch() has seen and could not use waits for room: the transport's to tell.
    if (change && *change > dispatched_ && !p->queue.empty()) until = std::min(until, *change);
  }
  return std::max(until - now_.mono, Duration::zero());
}

void Engine::take_replies() {
  replies_.clear();
  deps_.ledger.take(replies_);
  for_each_prefetched(
      replies_, [this](LaneReply& r) { take_reply(r); },
      [this](const LaneReply& r) { deliveries_.prefetch(r.ticket); },
      [this](const LaneReply& r) { prefetch_message(r.ticket); },
      [this](const LaneReply& r) { prefetch_parts(r.ticket); });
}

// What the next step of a delivery needs beside itself: the texts of the call that follows a claim,
// else its message.
void Engine::prefetch_message(Ticket ticket) {
  const Delivery* d = deliveries_.find(ticket);
  if (d == nullptr) return;
  if (d->stage != Stage::claiming || !d->request) return prefetch(*d->message);
  prefetch(d->message->note.channel);
  prefetch_text(d->request->path);
}

// And what its message names: the target, and the reply subject of what is about to be acked.
void Engine::prefetch_parts(Ticket ticket) {
  const Delivery* d = deliveries_.find(ticket);
  if (d == nullptr || d->stage == Stage::claiming) return;
  const HeldMessage& held = *d->message;
  if (d->target < held.note.targets.size()) prefetch(held.note.targets[d->target]);
  if (d->stage == Stage::settling) prefetch_text(held.message.reply);
}

void Engine::take_reply(LaneReply& r) {
  switch (kind_of(r.ticket)) {
    case TicketKind::outbox_read:
    case TicketKind::outbox_remove:
      if (!r.reply) {
        outbox_.on_ledger_error(r.ticket, now_.mono);
      } else if (auto* page = std::get_if<OutboxPage>(&*r.reply)) {
        outbox_.on_page(std::move(*page));
      } else {
        outbox_.on_removed();
      }
      return;
    case TicketKind::sweep: {
      sweeping_ = false;
      const auto* swept = r.reply ? std::get_if<Swept>(&*r.reply) : nullptr;
      sweep_more_ = swept != nullptr && swept->ended + swept->expired >= kSweepRows;
      return;
    }
    case TicketKind::report:
      reports_.on_recorded(low_of(r.ticket), r.reply);
      return;
    case TicketKind::operation:
      asked_.push_back({.number = low_of(r.ticket), .reply = std::move(r.reply)});
      return;
    case TicketKind::delivery:
      break;
    case TicketKind::credential:
    case TicketKind::publication:
    case TicketKind::report_copy:
      SO_ASSERT(false);
  }
  Delivery* d = deliveries_.find(r.ticket);
  SO_ASSERT(d != nullptr);
  if (!r.reply) {
    release(provider(*d), *d);
    // Nothing was changed (law 11): the claim, settlement or record is simply due again.
    d->asked_again = d->stage == Stage::claiming;
    set_timer(*d, std::chrono::milliseconds(500));
  } else if (auto* claim = std::get_if<ClaimReply>(&*r.reply)) {
    on_claim(*d, std::move(*claim));
  } else if (const auto* settled = std::get_if<Settled>(&*r.reply)) {
    on_settled(*d, *settled);
  } else {
    SO_ASSERT(d->stage == Stage::recording);
    crash_point(CrashPoint::copy_recorded);
    end(*d);
  }
}

void Engine::take_confirmations() {
  confirmations_.clear();
  deps_.broker.take_confirmations(confirmations_);
  for (const Confirmation& c : confirmations_) {
    if (kind_of(c.ticket) == TicketKind::publication) {
      outbox_.on_confirmed(OutboxSeq(low_of(c.ticket)), c.result, now_.mono);
    } else if (kind_of(c.ticket) == TicketKind::report_copy) {
      reports_.on_copied(low_of(c.ticket), c.result);
    } else if (Delivery* d = deliveries_.find(c.ticket); d != nullptr) {
      on_copied(*d, c.result);
    }
  }
}

void Engine::set_timer(Delivery& delivery, Duration delay) {
  delivery.due = now_.mono + delay;
  timers_.push({delivery.due, delivery.ticket});
}

void Engine::run_timers() {
  while (!timers_.empty() && timers_.top().due <= now_.mono) {
    const Timer timer = timers_.top();
    timers_.pop();
    Delivery* d = deliveries_.find(timer.ticket);
    if (d != nullptr && d->due == timer.due) fire(*d);
  }
  std::vector<Unanswered> again;
  again.swap(unanswered_);
  for (const Unanswered& u : again) answer(u.message, u.terminate);
  if (now_.mono - looked_after_ >= kLookAfterEvery) {
    looked_after_ = now_.mono;
    look_after_held();
  }
}

// What was due is due again; the stage says what it was.
void Engine::fire(Delivery& delivery) {
  delivery.due = {};
  switch (delivery.stage) {
    case Stage::waiting:
      delivery.stage = Stage::queued;
      [[fallthrough]];
    case Stage::queued:
      enqueue(delivery);
      return;
    case Stage::claiming:
      claim(delivery);
      return;
    case Stage::settling:
      settle(delivery);
      return;
    case Stage::copying:
      publish_copy(delivery);
      return;
    case Stage::recording:
      record(delivery);
      return;
    case Stage::calling:
    case Stage::looking:
    case Stage::ended:
      return;
  }
}

// Once a second: the broker hears of every message we hold, and deliveries that wait for a provider
// end with their deadline.
void Engine::look_after_held() {
  forget_other_incarnations();
  for (std::size_t i = 0; i < providers_.size(); ++i)
    look_after(*providers_[i], ProviderIndex(static_cast<std::uint16_t>(i)));
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    std::optional<WallTime>& oldest = class_states_[c].oldest_held;
    oldest.reset();
    held_.for_each(ClassIndex(static_cast<std::uint16_t>(c)), [&](HeldMessage& held) {
      oldest = std::min(oldest.value_or(WallTime::max()), held.message.stored_at);
      look_after(held);
    });
  }
}

void Engine::look_after(ProviderState& p, ProviderIndex index) {
  const auto is_down = [](const PoolState& pool) {
    return pool.connections == 0 && pool.last_cause;
  };
  auto& since = p.unreachable_since;
  since = is_down(deps_.transport.state(index)) ? std::optional(since.value_or(now_.mono))
                                                : std::nullopt;
  std::map<std::string, MonoTime, std::less<>> down;
  for (const auto& [authority, pool] : deps_.transport.origins(index)) {
    if (!is_down(pool)) continue;
    const auto before = p.unreachable_at.find(authority);
    down.emplace(authority, before == p.unreachable_at.end() ? now_.mono : before->second);
  }
  p.unreachable_at = std::move(down);
  if (unreachable(p)) {
    // Nobody who goes past it would hear of its return.
    deps_.transport.warm_up(index);
    if (now_.mono - p.trial >= kTrialEvery && p.queue.empty()) {
      p.trial = now_.mono;
      p.on_trial = true;
    }
  }
  divert(index);
}

void Engine::look_after(HeldMessage& held) {
  const ClassPolicy& policy = classes_[held.message.message_class.get()];
  if (!held.forgotten && now_.mono - held.progressed >= policy.config.ack_wait / 3 &&
      deps_.broker.progress(held.message))
    held.progressed = now_.mono;
  for (const Ticket t : held.deliveries) {
    Delivery* d = deliveries_.find(t);
    if (d == nullptr || now_.wall < std::max(d->deadline, d->look_until)) continue;
    if (d->stage == Stage::queued || d->stage == Stage::waiting)
      claim(*d);  // needs no room: the claim rule ends it
  }
  hand_back_if_idle(held);
}

void Engine::renew_credentials() {
  for (std::size_t i = 0; i < providers_.size(); ++i) {
    ProviderState& p = *providers_[i];
    if (p.credential_asked || now_.mono < p.credential_retry) continue;
    auto auth = p.slot.provider->needs_auth(now_.wall);
    if (!auth) continue;
    p.credential_asked = deps_.transport.submit(ticket_of(TicketKind::credential, i),
                                                ProviderIndex(static_cast<std::uint16_t>(i)),
                                                std::move(*auth), p.slot.config.total);
    if (!p.credential_asked) p.credential_retry = now_.mono + std::chrono::milliseconds(200);
  }
}

void Engine::sweep() {
  if (sweeping_ || (!sweep_more_ && now_.mono - swept_ < kSweepEvery)) return;
  sweeping_ = true;
  swept_ = now_.mono;
  request<Sweep>(ticket_of(TicketKind::sweep, 0)).max_rows = kSweepRows;
}

void Engine::answer(const Message& message, bool terminate) {
  const auto result = terminate ? deps_.broker.terminate(message) : deps_.broker.ack(message);
  if (result) return;
  if (result.error().code != Errc::invalid)
    return unanswered_.push_back({.message = {.message_class = message.message_class,
                                              .incarnation = message.incarnation,
                                              .reply = message.reply},
                                  .terminate = terminate});
  // Never going to be one: the message comes back after its ack_wait, and the ledger knows it.
  deps_.log.error("message.reply_refused", {{"error", result.error().text}});
}

// What is said of one delivery: which it is and, where its message says so, of which trace.
void Engine::tell(const Delivery& d, Level level, std::string_view id,
                  std::initializer_list<Field> with) {
  if (!deps_.log.enabled(level)) return;
  std::vector<Field> all{{"class", policy(d).config.name}};
  if (d.key != Key{}) all.emplace_back("key", short_key(d.key));
  all.insert(all.end(), with);
  if (const auto trace = trace_id_of(traceparent_of(d.message->message.headers)); !trace.empty())
    all.emplace_back("trace_id", trace);
  deps_.log.write(level, id, all);
}

void Engine::ask(std::uint64_t number, LedgerRequest request) {
  requests_.push_back(
      {.ticket = ticket_of(TicketKind::operation, number), .request = std::move(request)});
}

void Engine::pause(ClassIndex message_class, std::string reason) {
  class_states_[message_class.get()].paused = std::move(reason);
}

void Engine::pause(ProviderIndex provider, std::string reason) {
  providers_[provider.get()]->paused = std::move(reason);
}

bool Engine::paused(const Delivery& d) const {
  return !class_states_[d.message_class.get()].paused.empty() ||
         !providers_[d.provider.get()]->paused.empty();
}

// For some seconds there was no connection: what is queued there waits for the network.
bool Engine::unreachable(const ProviderState& p) const {
  return p.unreachable_since && now_.mono - *p.unreachable_since >= kUnreachableAfter;
}

bool Engine::unreachable(const ProviderState& p, const Delivery& d) const {
  if (d.authority.empty()) return unreachable(p);
  const auto since = p.unreachable_at.find(d.authority);
  return since != p.unreachable_at.end() && now_.mono - since->second >= kUnreachableAfter;
}

// For how long the delivery has nothing to do; empty: it is at work, or about to be.
std::optional<Duration> Engine::idle_for(const Delivery& d) const {
  if (d.stage == Stage::waiting) return d.due - now_.mono;
  if (d.stage != Stage::queued) return std::nullopt;
  if (draining_) return Duration::zero();
  // A person may take his time: longer than a message is held here.
  if (paused(d)) return options_.hold_max + kWorthHandingBack;
  const ProviderState& p = *providers_[d.provider.get()];
  if (!p.holds.held(d.part, now_.mono) && !unreachable(p, d)) return std::nullopt;
  // Nobody knows for how long. Half of the time that it has: the provider may be well before then.
  const Duration half = (d.deadline - now_.wall) / 2;
  return std::max(std::min(half, options_.hold_max), kWorthHandingBack);
}

// A message all of whose deliveries wait for long goes back to the broker, which has the longer
// memory; the ledger knows when each is due. When so many are held that no more are pulled, those
// that wait at all go back: one held provider must not keep the others from their work.
void Engine::hand_back_if_idle(HeldMessage& held) {
  Duration shortest = Duration::max();
  for (const Ticket t : held.deliveries) {
    const Delivery* d = deliveries_.find(t);
    if (d == nullptr || d->stage == Stage::ended) continue;
    const auto idle = idle_for(*d);
    if (!idle) return;
    shortest = std::min(shortest, *idle);
  }
  const bool crowded = !may_pull(held.message.message_class) && shortest >= kWorthHandingBack;
  if (!draining_ && !held.forgotten && shortest <= options_.hold_max && !crowded) return;
  hand_back(held, draining_ ? Duration::zero() : std::min(shortest, options_.nak_max));
}

void Engine::hand_back(HeldMessage& held, Duration delay) {
  if (!held.forgotten) {
    const auto handed = deps_.broker.nak(held.message, std::max(delay, Duration::zero()));
    if (!handed && handed.error().code != Errc::invalid) return;  // asked again in a second
    ClassState& state = class_states_[held.message.message_class.get()];
    ++state.counters.postponed;
    state.handed_back.push(now_.mono + delay);
  }
  forget(held);
}

void Engine::drain() {
  draining_ = true;
  look_after_held();
  give_credit();
}

bool Engine::drained() const {
  return draining_ && held_.total() == 0 && requests_.empty() && unanswered_.empty() &&
         reports_.idle();
}

void Engine::reload(std::vector<ClassPolicy> classes, std::vector<ProviderSlot> providers) {
  SO_ASSERT(classes.size() == classes_.size() && providers.size() == providers_.size());
  classes_ = std::move(classes);
  for (std::size_t i = 0; i < classes_.size(); ++i)
    class_states_[i].limiter.set_rate(classes_[i].config.rate_per_second);
  for (std::size_t i = 0; i < providers_.size(); ++i) {
    ProviderState& p = *providers_[i];
    const ProviderIndex index(static_cast<std::uint16_t>(i));
    const bool other = p.slot.provider != providers[i].provider;
    p.slot = providers[i];
    p.queue.set_priorities(classes_);
    p.limiter.set_rate(p.slot.config.rate_per_second);
    p.pace.set_rate(p.slot.config.device_rate_per_second);
    p.holds.set_options(hold_options(p.slot.config));
    // Whoever reloads may have mended what no option shows: a key at the provider, the network.
    p.holds.reloaded(now_.mono);
    p.credential_retry = {};
    p.credential_of_another = p.credential_asked && (other || p.credential_of_another);
    if (other) p.hygiene.forget_proof();
    // A connection belongs to one credential.
    if (other || deps_.transport.state(index).retry_at) deps_.transport.renew(index);
  }
}

EngineReport Engine::report() const {
  EngineReport r;
  r.ledger = deps_.ledger.stats();
  r.events_published = outbox_.published();
  r.draining = draining_;
  if (options_.reports)
    r.device_reports =
        DeviceReportsReport{.counters = reports_.counters(),
                            .not_ready = draining_ ? std::string("draining") : reports_.no_room()};
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const ClassIndex index(static_cast<std::uint16_t>(i));
    r.classes.push_back({.counters = class_states_[i].counters,
                         .held = held_.count(index),
                         .oldest_held = class_states_[i].oldest_held,
                         .not_ready = why_not_ready(index),
                         .paused = class_states_[i].paused});
  }
  for (std::size_t i = 0; i < providers_.size(); ++i) {
    const ProviderState& p = *providers_[i];
    ProviderReport report{
        .counters = p.counters,
        .invalidations_held = p.hygiene.breaker_open(),
        .mismatches = p.hygiene.mismatches(),
        .paused = p.paused,
        .queued = p.queue.size(),
        .credential_ends = p.slot.provider->credential_ends(),
        .clock_lead = p.clock.lead(),
        .pool = deps_.transport.state(ProviderIndex(static_cast<std::uint16_t>(i)))};
    for (const auto& [part, hold] : p.holds.all()) report.holds.emplace_back(part, hold);
    r.providers.push_back(std::move(report));
  }
  return r;
}

}  // namespace sendonce
