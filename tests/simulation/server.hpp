// nats-server and the producers as far as sendonce can notice: a work queue a class with its
// consumer, the outcome stream and the dead-letter stream. Loses acks, delivers twice, forgets what
// it knew, counts backwards after it was re-created.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "plugin/broker/broker.hpp"
#include "tests/simulation/laws.hpp"
#include "tests/simulation/world.hpp"

namespace sendonce::sim {

struct Queue {  // the stream of one class, and its consumer
  std::uint32_t incarnation = 1;
  std::uint64_t next_seq = 1;
  struct Stored {
    WallTime stored_at{};
    std::string body{};
    Published* published = nullptr;
    std::uint32_t deliveries = 0;
    MonoTime not_before{};  // pending until then
    bool pending = false;
  };
  std::map<std::uint64_t, Stored> messages{};
  Duration ack_wait{};
  std::size_t max_ack_pending = 0;
};

enum class PublishFate : std::uint8_t { confirmed, lost, stored_unconfirmed, refused };

struct ServerFaults {
  double ack_lost = 0;
  double delivery_lost = 0;
  double delivery_doubled = 0;
  double publish_lost = 0;       // and not stored
  double confirmation_lost = 0;  // although stored
  bool outcome_stream_missing = false;
  std::size_t dead_letter_max = 0;  // bytes of body; 0: any
};

class Server {
 public:
  Server(World& world, LawBook& book, std::size_t classes) : world_(world), book_(book) {
    queues_.resize(classes);
  }

  [[nodiscard]] Queue& queue(std::size_t c) { return queues_[c]; }
  [[nodiscard]] ServerFaults& faults() { return faults_; }

  Published& publish(std::size_t message_class, std::string body);
  // Delivered, and neither acked nor due again.
  [[nodiscard]] std::size_t pending(std::size_t message_class) const;
  // With those that are due again.
  [[nodiscard]] std::size_t unacked(std::size_t message_class) const;
  // What may be delivered now, at most `most`; marks it as pending.
  [[nodiscard]] std::vector<Message> pull(std::size_t message_class, std::size_t most);
  [[nodiscard]] MonoTime next_delivery(std::size_t message_class) const;

  enum class Reply : std::uint8_t { ack, nak, progress, terminate };
  void answer(std::size_t message_class, std::uint64_t seq, Reply reply, Duration delay);

  [[nodiscard]] PublishFate take(const Publication& publication);

  void recreate_consumer(std::size_t message_class);
  // Sequences begin anew; what was there is gone, unless the producer publishes it again.
  void recreate_stream(std::size_t message_class);
  void purge(std::size_t message_class);
  void forget_acks_of_late();  // redelivers what is pending, at once
  // Told when there may be something to deliver.
  std::function<void(std::size_t)> on_news{};

 private:
  World& world_;
  LawBook& book_;
  std::vector<Queue> queues_{};
  ServerFaults faults_{};
};

[[nodiscard]] std::string reply_of(std::size_t message_class, std::uint64_t seq);

}  // namespace sendonce::sim
