// A small synchronous client for commands: publish with confirmation, ask the JetStream API,
// listen to subjects (core NATS). The running sidecar does not use it. One thread at a time.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/broker/broker.hpp"
#include "plugin/broker/nats/api_json.hpp"
#include "plugin/broker/nats/connection.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"

namespace sendonce {

class Publisher final : private ConnectionSink {
 public:
  // `timeout` is for each call that waits for an answer.
  [[nodiscard]] static Result<std::unique_ptr<Publisher>> connect(
      ConnectionOptions options, Duration timeout = std::chrono::seconds(5));
  ~Publisher() override;
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  // Stored, and where. unavailable: not known to be stored, publish again with the same message id.
  [[nodiscard]] Result<PubAck> publish(const Publication& publication);
  // The body of the answer, whatever it says.
  [[nodiscard]] Result<std::string> request(const std::string& subject, std::string_view body);

  // Without credentials.
  [[nodiscard]] std::string connected_to() const { return connection_->connected_to(); }

  // Once. What is published from now on is kept until next() takes it.
  [[nodiscard]] Result<void> subscribe(const std::string& subject);
  // Waits until something has come; empty after `wait`. denied: a subject is not permitted;
  // unavailable: the connection has ended for good.
  [[nodiscard]] Result<std::vector<RawMessage>> next(Duration wait);

 private:
  explicit Publisher(Duration timeout) : timeout_(timeout) {}
  void on_message(RawMessage message) override;
  void on_event(ConnectionEvent event, std::string text) override;

  Duration timeout_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<RawMessage> arrived_{};  // under mutex_
  Error ended_{};                      // under mutex_; with a text: why nothing more will come
  std::unique_ptr<Connection> connection_{};  // last: it calls us until it is closed
};

}  // namespace sendonce
