#include "tests/simulation/server.hpp"

#include <algorithm>
#include <utility>

namespace sendonce::sim {

std::string reply_of(std::size_t message_class, std::uint64_t seq) {
  return "$JS.ACK." + std::to_string(message_class) + "." + std::to_string(seq);
}

Published& Server::publish(std::size_t message_class, std::string body) {
  Queue& queue = queues_[message_class];
  const std::uint64_t seq = queue.next_seq++;
  const WallTime stored_at = world_.true_wall();
  Published& published =
      book_.published(message_class, body, stored_at, "S" + std::to_string(message_class), seq);
  queue.messages[seq] = {.stored_at = stored_at, .body = std::move(body), .published = &published};
  if (world_.tracing())
    world_.tell("producer", "publishes message " + std::to_string(seq) + " of class " +
                                std::to_string(message_class) + " " + marker_in(published.body));
  if (on_news) on_news(message_class);
  return published;
}

std::size_t Server::pending(std::size_t message_class) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(queues_[message_class].messages, [&](const auto& stored) {
        return stored.second.pending && stored.second.not_before > world_.mono();
      }));
}

std::size_t Server::unacked(std::size_t message_class) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      queues_[message_class].messages, [](const auto& stored) { return stored.second.pending; }));
}

std::vector<Message> Server::pull(std::size_t message_class, std::size_t most) {
  Queue& queue = queues_[message_class];
  std::vector<Message> out;
  std::size_t busy = pending(message_class);
  for (auto& [seq, m] : queue.messages) {
    if (out.size() >= most) break;
    const bool free = !m.pending || m.not_before <= world_.mono();
    if (!free) continue;
    if (busy >= queue.max_ack_pending) {
      world_.hit(Probe::blocked_at_max_ack_pending);
      break;
    }
    ++busy;
    m.pending = true;
    ++m.deliveries;
    m.not_before = world_.mono() + queue.ack_wait;
    out.push_back({.message_class = ClassIndex(static_cast<std::uint16_t>(message_class)),
                   .seq = StreamSeq(seq),
                   .stored_at = m.stored_at,
                   .incarnation = queue.incarnation,
                   .delivered = m.deliveries,
                   .subject = "notify.c" + std::to_string(message_class) + ".x",
                   .reply = reply_of(message_class, seq),
                   .body = m.body});
  }
  return out;
}

MonoTime Server::next_delivery(std::size_t message_class) const {
  MonoTime next = MonoTime::max();
  for (const auto& [seq, m] : queues_[message_class].messages)
    next = std::min(next, m.pending ? m.not_before : world_.mono());
  return next;
}

void Server::answer(std::size_t message_class, std::uint64_t seq, Reply reply, Duration delay) {
  Queue& queue = queues_[message_class];
  const auto found = queue.messages.find(seq);
  if (found == queue.messages.end()) return;
  Queue::Stored& m = found->second;
  const bool ends = reply == Reply::ack || reply == Reply::terminate;
  if (world_.chance(faults_.ack_lost)) {
    // It may also have been taken and forgotten again: to sendonce it is the same.
    if (ends) world_.hit(Probe::ack_lost);
    return;
  }
  if (!ends && !m.pending) return;
  switch (reply) {
    case Reply::ack:
    case Reply::terminate: {
      if (m.not_before <= world_.mono()) world_.hit(Probe::ack_late);
      if (world_.tracing())
        world_.tell("server", "removes message " + std::to_string(seq) + " of class " +
                                  std::to_string(message_class));
      Published& published = *m.published;
      queue.messages.erase(found);
      book_.acked(published, reply == Reply::terminate);
      break;
    }
    case Reply::nak:
      if (world_.tracing())
        world_.tell("server", "has message " + std::to_string(seq) + " of class " +
                                  std::to_string(message_class) + " handed back for " +
                                  text_of(delay));
      m.not_before = world_.mono() + delay;
      break;
    case Reply::progress:
      m.not_before = world_.mono() + queue.ack_wait;
      return;
  }
  if (on_news) on_news(message_class);
}

PublishFate Server::take(const Publication& publication) {
  const bool letter = publication.subject.starts_with("sendonce.dlq.");
  if (!letter && faults_.outcome_stream_missing) {
    world_.hit(Probe::outcome_stream_missing);
    return PublishFate::refused;
  }
  if (letter && faults_.dead_letter_max != 0 && publication.body.size() > faults_.dead_letter_max)
    return PublishFate::refused;
  if (world_.chance(faults_.publish_lost)) return PublishFate::lost;
  if (letter) {
    book_.copied(publication.message_id, publication.body);
  } else {
    book_.told_outcome(publication.message_id, publication.body);
  }
  if (world_.tracing())
    world_.tell("server", "stores " + publication.subject + " " + publication.message_id);
  return world_.chance(faults_.confirmation_lost) ? PublishFate::stored_unconfirmed
                                                  : PublishFate::confirmed;
}

void Server::recreate_consumer(std::size_t message_class) {
  Queue& queue = queues_[message_class];
  ++queue.incarnation;
  for (auto& [seq, m] : queue.messages) {
    m.pending = false;
    m.deliveries = 0;
  }
  if (on_news) on_news(message_class);
}

void Server::recreate_stream(std::size_t message_class) {
  Queue& queue = queues_[message_class];
  ++queue.incarnation;
  std::vector<std::string> bodies;
  for (auto& [seq, m] : queue.messages) {
    m.published->lost = true;
    bodies.push_back(m.body);
  }
  queue.messages.clear();
  queue.next_seq = 1;
  // The producer kept what was not delivered, and has it in another order.
  std::ranges::reverse(bodies);
  for (std::string& body : bodies)
    if (world_.chance(0.8)) publish(message_class, std::move(body));
  if (on_news) on_news(message_class);
}

void Server::purge(std::size_t message_class) {
  Queue& queue = queues_[message_class];
  for (auto& [seq, m] : queue.messages) m.published->lost = true;
  queue.messages.clear();
}

void Server::forget_acks_of_late() {
  for (std::size_t c = 0; c < queues_.size(); ++c) {
    for (auto& [seq, m] : queues_[c].messages) m.not_before = world_.mono();
    if (on_news) on_news(c);
  }
}

}  // namespace sendonce::sim
