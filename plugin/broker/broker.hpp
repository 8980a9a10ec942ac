// The broker port: take messages, answer them, publish events. Everything is asynchronous; the
// engine never waits in here. An ack is never proof of anything: only the ledger decides.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/ids.hpp"

namespace sendonce {

using MessageHeaders = std::vector<std::pair<std::string, std::string>>;

struct Message {
  ClassIndex message_class{};
  StreamSeq seq{};
  WallTime stored_at{};
  std::uint32_t incarnation = 0;  // of stream and consumer; changes when either is re-created
  std::uint32_t delivered = 1;    // proves nothing, for metrics only
  std::string subject{};
  std::string reply{};  // where acks go
  MessageHeaders headers{};
  std::string body{};
};

struct Publication {
  std::string subject{};
  std::string message_id{};  // Nats-Msg-Id
  MessageHeaders headers{};
  std::string body{};
};

struct Confirmation {
  Ticket ticket{};
  // unavailable: not known to be stored, publish again with the same id.
  // invalid: the stream will never take it (too large, a header it may not have); the text says
  // what to do.
  Result<void> result{};
};

struct LaneState {  // of one class's consumer
  bool ready = false;
  std::string reason{};           // why not; safe to print, names the remedy
  bool opening = false;           // not ready yet as at every start, and nothing is wrong
  bool fatal = false;             // stays so until an operator acts; exit 78 at start
  std::uint32_t incarnation = 0;  // replies of another one must be forgotten, never sent
  std::uint64_t pending = 0;      // as of the last CONSUMER.INFO
  std::uint64_t ack_pending = 0;
};

class Broker {
 public:
  virtual ~Broker() = default;

  // Appends what has arrived since; never blocks.
  virtual void take(std::vector<Message>& messages) = 0;
  // How many more messages of the class are welcome, until the next call. The puller asks the
  // server for no more; a few more may still come (requests that were thought lost).
  virtual void credit(ClassIndex message_class, std::size_t messages) = 0;

  // Fire and forget; an error says the answer could not even be buffered: keep it and try again.
  // Of the message its class, incarnation and reply are looked at. What was pulled in another
  // incarnation is never answered: its reply would remove another message by now.
  [[nodiscard]] virtual Result<void> ack(const Message& message) = 0;
  [[nodiscard]] virtual Result<void> nak(const Message& message, Duration delay) = 0;
  [[nodiscard]] virtual Result<void> progress(const Message& message) = 0;
  [[nodiscard]] virtual Result<void> terminate(const Message& message) = 0;

  // Each ticket is confirmed exactly once, by confirmation or time-out.
  virtual void publish(Ticket ticket, Publication publication) = 0;
  virtual void take_confirmations(std::vector<Confirmation>& confirmations) = 0;

  [[nodiscard]] virtual LaneState lane(ClassIndex message_class) const = 0;
  [[nodiscard]] virtual bool connected() const = 0;
};

}  // namespace sendonce
