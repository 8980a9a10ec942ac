#include "tests/simulation/client.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace sendonce::sim {
namespace {

using std::chrono::milliseconds, std::chrono::seconds;

constexpr Duration kConfirmationWait = seconds(5);

}  // namespace

Client::Client(World& world, Server& server, std::size_t classes, std::shared_ptr<Life> life)
    : world_(world), server_(server), life_(std::move(life)), lanes_(classes) {
  for (std::size_t c = 0; c < classes; ++c) lanes_[c].incarnation = server.queue(c).incarnation;
}

void Client::take(std::vector<Message>& messages) {
  world_.gate(Port::take_messages, Edge::before);
  for (Message& m : std::exchange(arrived_, {})) {
    if (m.delivered > 1) world_.hit(Probe::message_redelivered_while_held);
    messages.push_back(std::move(m));
  }
  world_.gate(Port::take_messages, Edge::after);
}

void Client::credit(ClassIndex message_class, std::size_t messages) {
  world_.gate(Port::credit, Edge::before);
  lanes_[message_class.get()].credit = messages;
  lanes_[message_class.get()].used = 0;
  world_.after(milliseconds(0), [this, c = std::size_t{message_class.get()}] { news(c); });
  world_.gate(Port::credit, Edge::after);
}

void Client::news(std::size_t message_class) {
  if (life_->dead || life_->ghost) return;
  pull(message_class);
}

void Client::pull(std::size_t c) {
  Lane& lane = lanes_[c];
  if (!connected_ || lane.incarnation != server_.queue(c).incarnation) return;
  if (lane.credit > lane.used) {
    for (Message& m : server_.pull(c, lane.credit - lane.used)) {
      // The engine says nothing when what it took is done again already.
      if (lane.used++ == 0)
        world_.after(milliseconds(250), [this, c] {
          lanes_[c].used = 0;
          news(c);
        });
      if (world_.chance(server_.faults().delivery_lost)) continue;
      const int copies = world_.chance(server_.faults().delivery_doubled) ? 2 : 1;
      if (copies == 2) world_.hit(Probe::message_duplicated_on_the_wire);
      for (int i = 0; i < copies; ++i)
        world_.after(world_.between(milliseconds(0), milliseconds(5)), [this, m] {
          if (life_->dead || !connected_) return;
          if (m.incarnation != lanes_[m.message_class.get()].incarnation) return;
          arrived_.push_back(m);
          life_->woken = true;
        });
    }
  }
  if (lane.credit == 0) return;
  const MonoTime next = server_.next_delivery(c);
  if (next == MonoTime::max()) return;
  const MonoTime at = std::max(next, world_.mono() + milliseconds(100));
  if (lane.looks_again > world_.mono() && lane.looks_again <= at) return;
  lane.looks_again = at;
  world_.after(at - world_.mono(), [this, c] { news(c); });
}

Result<void> Client::ack(const Message& to) {
  return reply(to, Server::Reply::ack, {}, Port::ack);
}

Result<void> Client::nak(const Message& to, Duration delay) {
  world_.hit(Probe::handed_back_with_delay);
  return reply(to, Server::Reply::nak, delay, Port::nak);
}

Result<void> Client::progress(const Message& to) {
  return reply(to, Server::Reply::progress, {}, Port::progress);
}

Result<void> Client::terminate(const Message& to) {
  return reply(to, Server::Reply::terminate, {}, Port::terminate);
}

Result<void> Client::reply(const Message& to, Server::Reply kind, Duration delay, Port port) {
  world_.gate(port, Edge::before);
  if (full_) {
    world_.gate(port, Edge::after);
    return fail(Errc::exhausted, "too many acks wait for the connection");
  }
  const std::size_t dot = to.reply.rfind('.');
  const Buffered buffered{.message_class = to.message_class.get(),
                          .seq = std::stoull(to.reply.substr(dot + 1)),
                          .incarnation = to.incarnation,
                          .kind = kind,
                          .delay = delay};
  // On its way while the engine goes on; lost with the process if that dies first.
  world_.after(world_.between(milliseconds(0), milliseconds(3)), [this, buffered] {
    if (life_->dead && world_.chance(0.5)) return;
    if (connected_) return send(buffered);
    world_.hit(Probe::reconnect_with_buffered_replies);
    parked_.push_back(buffered);
  });
  world_.gate(port, Edge::after);
  return {};
}

void Client::send(const Buffered& buffered) {
  // A reply of another incarnation would hit whatever has its sequence by now.
  if (buffered.incarnation != lanes_[buffered.message_class].incarnation) {
    world_.hit(Probe::old_reply_dropped_by_broker);
    return;
  }
  if (server_.queue(buffered.message_class).incarnation != buffered.incarnation) return;
  server_.answer(buffered.message_class, buffered.seq, buffered.kind, buffered.delay);
}

void Client::confirm(Ticket ticket, Result<void> result, Duration delay) {
  world_.after(delay, [this, ticket, result = std::move(result)] {
    if (life_->dead) return;
    confirmed_.push_back({.ticket = ticket, .result = result});
    life_->woken = true;
  });
}

void Client::publish(Ticket ticket, Publication publication) {
  world_.gate(Port::publish, Edge::before);
  world_.after(
      world_.between(milliseconds(0), milliseconds(5)), [this, ticket, p = std::move(publication)] {
        if (!connected_ || (life_->dead && world_.chance(0.5)))
          return confirm(ticket, fail(Errc::unavailable, "not connected"), kConfirmationWait);
        switch (server_.take(p)) {
          case PublishFate::confirmed:
            return confirm(ticket, {}, milliseconds(1));
          case PublishFate::refused:
            return confirm(ticket, fail(Errc::invalid, "the stream refuses it"), milliseconds(1));
          case PublishFate::lost:
          case PublishFate::stored_unconfirmed:
            return confirm(ticket, fail(Errc::unavailable, "not confirmed"), kConfirmationWait);
        }
      });
  world_.gate(Port::publish, Edge::after);
}

void Client::take_confirmations(std::vector<Confirmation>& confirmations) {
  world_.gate(Port::take_confirmations, Edge::before);
  for (Confirmation& c : std::exchange(confirmed_, {})) confirmations.push_back(std::move(c));
  world_.gate(Port::take_confirmations, Edge::after);
}

LaneState Client::lane(ClassIndex message_class) const {
  world_.gate(Port::lane, Edge::before);
  const Lane& lane = lanes_[message_class.get()];
  LaneState state{.ready = connected_, .incarnation = lane.incarnation};
  if (!connected_) state.reason = "not connected";
  world_.gate(Port::lane, Edge::after);
  return state;
}

void Client::disconnect() {
  if (!connected_) return;
  world_.tell("broker", "the connection breaks");
  connected_ = false;
}

void Client::reconnect() {
  if (connected_) return;
  world_.tell("broker", "the connection is back");
  connected_ = true;
  for (std::size_t c = 0; c < lanes_.size(); ++c) learn(c);
  for (const Buffered& b : std::exchange(parked_, {})) send(b);
}

void Client::learn(std::size_t message_class) {
  if (life_->dead || !connected_) return;
  Lane& lane = lanes_[message_class];
  const std::uint32_t now = server_.queue(message_class).incarnation;
  if (lane.incarnation != now) {
    lane.incarnation = now;
    life_->woken = true;
    world_.tell("broker", "finds class " + std::to_string(message_class) + " re-created");
  }
  news(message_class);
}

}  // namespace sendonce::sim
