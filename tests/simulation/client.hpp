// The broker port of one process over the simulated server: pulls by credit, buffers while it is
// not connected, learns late that a consumer was re-created. Its promises are those of broker.hpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugin/broker/broker.hpp"
#include "tests/simulation/network.hpp"
#include "tests/simulation/server.hpp"
#include "tests/simulation/world.hpp"

namespace sendonce::sim {

class Client final : public Broker {
 public:
  Client(World& world, Server& server, std::size_t classes, std::shared_ptr<Life> life);

  void take(std::vector<Message>& messages) override;
  void credit(ClassIndex message_class, std::size_t messages) override;
  [[nodiscard]] Result<void> ack(const Message& message) override;
  [[nodiscard]] Result<void> nak(const Message& message, Duration delay) override;
  [[nodiscard]] Result<void> progress(const Message& message) override;
  [[nodiscard]] Result<void> terminate(const Message& message) override;
  void publish(Ticket ticket, Publication publication) override;
  void take_confirmations(std::vector<Confirmation>& confirmations) override;
  [[nodiscard]] LaneState lane(ClassIndex message_class) const override;
  [[nodiscard]] bool connected() const override { return connected_; }

  void news(std::size_t message_class);  // of the server: look whether there is something to pull
  void disconnect();
  void reconnect();
  void learn(std::size_t message_class);      // CONSUMER.INFO: which incarnation is it?
  void set_full(bool full) { full_ = full; }  // replies cannot be buffered

 private:
  struct Buffered {
    std::size_t message_class = 0;
    std::uint64_t seq = 0;
    std::uint32_t incarnation = 0;  // of the message
    Server::Reply kind = Server::Reply::ack;
    Duration delay{};
  };
  struct Lane {
    std::uint32_t incarnation = 0;  // as the client knows it
    std::size_t credit = 0;
    std::size_t used = 0;  // of it; for a moment, as the puller has it
    MonoTime looks_again{};
  };
  Result<void> reply(const Message& to, Server::Reply kind, Duration delay, Port port);
  void send(const Buffered& buffered);
  void pull(std::size_t message_class);
  void confirm(Ticket ticket, Result<void> result, Duration delay);

  World& world_;
  Server& server_;
  std::shared_ptr<Life> life_;
  std::vector<Lane> lanes_;
  bool connected_ = true;
  bool full_ = false;
  std::vector<Message> arrived_{};
  std::vector<Confirmation> confirmed_{};
  std::vector<Buffered> parked_{};
};

}  // namespace sendonce::sim
