#include "tests/simulation/network.hpp"

#include <algorithm>
#include <utility>

#include "tests/simulation/dialect.hpp"

namespace sendonce::sim {
namespace {

using std::chrono::milliseconds;

CallFailure failure(Effect effect, Cause cause) {
  CallFailure f;
  f.effect = effect;
  f.cause = cause;
  return f;
}

}  // namespace

std::size_t Network::limit(std::size_t provider) const {
  const Mood mood = services_[provider]->mood();
  if (mood == Mood::no_room) return 0;
  return mood == Mood::one_stream ? 1 : options_.streams;
}

std::size_t Network::open_of(std::size_t provider) const {
  return static_cast<std::size_t>(std::ranges::count_if(open_, [&](const CallPtr& c) {
    return c->provider == provider && (c->attempt != nullptr || c->question != nullptr);
  }));
}

PoolState Network::state(ProviderIndex provider) const {
  world_.gate(Port::pool_state, Edge::before);
  const std::size_t open = open_of(provider.get());
  const std::size_t most = limit(provider.get());
  const PoolState state{.room = most > open ? most - open : 0, .open = open};
  world_.gate(Port::pool_state, Edge::after);
  return state;
}

bool Network::submit(Ticket ticket, ProviderIndex provider, HttpRequest request, Duration timeout) {
  world_.gate(Port::submit, Edge::before);
  const std::size_t index = provider.get();
  const bool exchange_of_credentials = !request.url.empty();
  // Between a claim and its call a connection may have gone.
  const bool gone = world_.chance(options_.noise / 8);
  if (!exchange_of_credentials && (gone || life_->ghost || open_of(index) >= limit(index))) {
    world_.hit(Probe::no_room_at_submit);
    world_.gate(Port::submit, Edge::after);
    return false;
  }
  auto call = std::make_shared<Call>(Call{.ticket = ticket,
                                          .provider = index,
                                          .request = std::move(request),
                                          .timeout = timeout,
                                          .submitted = world_.mono()});
  const bool lookup = call->request.method == "GET";
  if (lookup)
    call->question = &book_.questioned(ticket, index, call->request, life_->number);
  else if (!exchange_of_credentials)
    call->attempt = &book_.submitted(ticket, index, call->request, life_->number);
  if (call->attempt != nullptr && open_of(index) * 4 >= limit(index) * 3 && limit(index) >= 4 &&
      book_.is_high(*call->attempt))
    world_.hit(Probe::priority_last_quarter);
  open_.push_back(call);
  world_.after(timeout, [this, call, life = life_] {
    if (life->dead || call->finished) return;
    fail_call(call, call->started ? Effect::maybe_sent : Effect::not_sent, Cause::timed_out);
  });
  const Duration queued =
      world_.chance(0.3) ? world_.between(Duration(0), options_.queueing) : Duration(0);
  if (exchange_of_credentials) {
    world_.after(latency(), [this, call, life = life_] {
      if (!life->dead && !call->finished) exchange(call);
    });
  } else {
    world_.after(queued, [this, call, life = life_] {
      if (!life->dead && !call->finished) start(call);
    });
  }
  world_.gate(Port::submit, Edge::after);
  return true;
}

Duration Network::latency() {
  return world_.between(options_.latency / 4, options_.latency * 2);
}

void Network::start(const CallPtr& call) {
  if (world_.wall() >= call->request.not_after_wall ||
      world_.mono() >= call->request.not_after_mono) {
    world_.hit(Probe::expired_at_the_transport);
    return fail_call(call, Effect::not_sent, Cause::not_started);
  }
  const Mood mood = services_[call->provider]->mood();
  if (mood == Mood::unreachable) {
    world_.hit(Probe::no_connection);
    return fail_call(call, Effect::not_sent, Cause::connect);
  }
  if (mood == Mood::tls_broken)
    return fail_call(call, Effect::not_sent, world_.chance(0.5) ? Cause::tls : Cause::client_auth);
  call->started = true;
  if (call->question != nullptr) return ask(call);
  book_.left(*call->attempt);
  travel(call);
}

// From the last byte handed over to the provider's desk. Goes on when the process dies.
void Network::travel(const CallPtr& call) {
  const Mood mood = services_[call->provider]->mood();
  const bool bad = mood == Mood::resets || mood == Mood::slow || mood == Mood::goaways;
  if (world_.chance(bad ? 0.7 : options_.noise) && mishap(call)) return;
  world_.after(latency(), [this, call, life = life_] {
    std::optional<Reply> reply = serve(call);
    if (!reply) return;
    world_.after(latency(), [this, call, life, reply = std::move(*reply)]() mutable {
      if (life->dead || call->finished) return;
      CallResult result = reply.answer;
      const Told told = reply.told;
      finish(call, std::move(result), told, std::move(reply));
    });
  });
}

std::optional<Reply> Network::serve(const CallPtr& call) {
  if (call->refused) return std::nullopt;
  call->served = true;
  Service& service = *services_[call->provider];
  Reply reply = service.handle(call->request, destination_in(service.kind(), call->request));
  if (reply.processed) {
    world_.tell(name(service.kind()), "acts on " + book_.reference(*call->attempt).substr(0, 8));
    service.index(book_.reference(*call->attempt));
    book_.processed(*call->attempt);
  }
  return reply;
}

// Something else than a whole exchange. False: not for this kind of provider.
bool Network::mishap(const CallPtr& call) {
  const Mood mood = services_[call->provider]->mood();
  std::uint64_t kind = world_.below(10);
  if (mood == Mood::slow) kind = 8 + world_.below(2);
  if (mood == Mood::goaways) kind = 1;
  if (mishap_before_processing(call, kind)) return true;
  mishap_after_processing(call, kind);
  return true;
}

bool Network::mishap_before_processing(const CallPtr& call, std::uint64_t kind) {
  const auto later = [&](Effect effect, Cause cause) {
    world_.after(latency(), [this, call, effect, cause, life = life_] {
      if (!life->dead && !call->finished) fail_call(call, effect, cause);
    });
    return true;
  };
  switch (kind) {
    case 0:
      world_.hit(Probe::refused_stream);
      return later(Effect::not_sent, Cause::refused);
    case 1:
      world_.after(latency(), [this, call, life = life_] {
        if (!life->dead && !call->finished) go_away(call);
      });
      return true;
    case 2:  // cut before its end, and the provider acts on whole requests
      world_.hit(Probe::reset_mid_request);
      return later(Effect::not_sent, Cause::connection_lost);
    case 3:
      return later(Effect::maybe_sent, Cause::reset);
    case 8: {  // never answered
      if (world_.chance(0.5)) return true;
      // ... and processed long after the call was given up
      world_.after(call->timeout + world_.between(milliseconds(1), std::chrono::seconds(30)),
                   [this, call] {
                     const std::optional<Reply> reply = serve(call);
                     if (reply && reply->processed) world_.hit(Probe::call_processed_after_timeout);
                   });
      return true;
    }
    default:
      return false;
  }
}

void Network::mishap_after_processing(const CallPtr& call, std::uint64_t kind) {
  const Duration slow = kind == 9 ? call->timeout + milliseconds(50) : latency();
  world_.after(slow, [this, call, kind, life = life_] {
    const std::optional<Reply> served = serve(call);
    if (!served || life->dead || call->finished) return;
    const Reply& reply = *served;
    if (reply.processed) world_.hit(Probe::call_processed_and_answer_lost);
    const bool apns = services_[call->provider]->kind() == ProviderKind::apns;
    CallFailure f = failure(Effect::maybe_sent, Cause::connection_lost);
    f.complete = true;
    Told told = Told::maybe_sent;
    if (kind == 4) f.cause = Cause::oversized;
    if (kind == 5) f.cause = Cause::reset;
    if ((kind == 6 || kind == 7) && reply.processed && reply.answer.status == 200) {
      f.partial = reply.answer;
      f.partial->body.clear();
      told = apns ? reply.told : Told::no_receipt;
      if (told == Told::sent) world_.hit(Probe::receipt_in_partial_answer);
    }
    finish(call, std::move(f), told);
  });
}

// Streams above the last one were not looked at and never will be; the others go on.
void Network::go_away(const CallPtr& call) {
  world_.hit(Probe::goaway);
  const std::vector<CallPtr> open = open_;
  for (const CallPtr& c : open) {
    if (c->provider != call->provider || !c->started || c->served) continue;
    if (c != call && world_.chance(0.5)) continue;
    c->refused = true;
    fail_call(c, Effect::not_sent, Cause::refused);
  }
}

// What became of a request: nothing can be sent by it, and its answer can get lost like any other.
void Network::ask(const CallPtr& call) {
  const Mood mood = services_[call->provider]->mood();
  const bool bad = mood == Mood::resets || mood == Mood::slow || mood == Mood::goaways;
  if (world_.chance(bad ? 0.7 : options_.noise)) {
    if (mood == Mood::slow) return;  // until its time is up
    world_.after(latency(), [this, call, life = life_] {
      if (!life->dead && !call->finished)
        fail_call(call, Effect::maybe_sent, Cause::connection_lost);
    });
    return;
  }
  world_.after(latency(), [this, call, life = life_] {
    if (life->dead) return;
    const Service::Found found = services_[call->provider]->find(book_.reference(*call->question));
    world_.after(latency(), [this, call, life, found] {
      if (life->dead || call->finished) return;
      finish(call, found.answer, Told::nothing);
      finished_.back().look = found.truth;
    });
  });
}

void Network::exchange(const CallPtr& call) {
  bool good = false;
  CallResult result = services_[call->provider]->issue_token(good);
  if (world_.chance(options_.noise)) {
    good = false;
    result = failure(Effect::maybe_sent, Cause::connection_lost);
  }
  world_.hit(good ? Probe::credential_refreshed : Probe::credential_exchange_failed);
  call->finished = true;
  std::erase(open_, call);
  finished_.push_back({.call = call, .result = std::move(result), .token_good = good});
  life_->woken = true;
}

void Network::fail_call(const CallPtr& call, Effect effect, Cause cause) {
  finish(call, failure(effect, cause),
         effect == Effect::not_sent ? Told::not_sent : Told::maybe_sent);
}

void Network::finish(const CallPtr& call, CallResult result, Told told,
                     std::optional<Reply> reply) {
  if (call->finished) return;
  call->finished = true;
  std::erase(open_, call);
  finished_.push_back(
      {.call = call, .result = std::move(result), .told = told, .reply = std::move(reply)});
  life_->woken = true;
}

void Network::poll(std::vector<Completion>& done, Duration wait) {
  world_.gate(Port::serve_sockets, Edge::before);
  const MonoTime until = world_.mono() + wait;
  if (!life_->ghost) {
    // Between its waits the loop itself takes time.
    world_.run_until(world_.mono() + world_.between(milliseconds(0), milliseconds(1)));
    while (!life_->woken && world_.mono() < until) world_.run_next(until);
  }
  life_->woken = false;
  for (Finished& f : std::exchange(finished_, {})) {
    if (f.call->attempt != nullptr) {
      if (f.told == Told::no_receipt) world_.hit(Probe::success_without_receipt);
      if (f.reply && f.reply->retry_after > Duration(0)) {
        world_.hit(Probe::throttled_with_retry_after);
      }
      book_.heard(*f.call->attempt, f.told, f.reply ? &*f.reply : nullptr);
    } else if (f.call->question != nullptr) {
      book_.answered(*f.call->question, f.look);
    } else if (f.token_good) {
      book_.renewed(f.call->provider);
    }
    done.push_back({.ticket = f.call->ticket,
                    .result = std::move(f.result),
                    .elapsed = world_.mono() - f.call->submitted});
  }
  world_.gate(Port::serve_sockets, Edge::after);
}

}  // namespace sendonce::sim
