// A real nats-server with a stream and a consumer, and a broker on it that keeps what it took.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/broker/nats/nats_broker.hpp"
#include "plugin/broker/nats/publisher.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/log.hpp"
#include "tests/support/nats_fixture.hpp"

namespace sendonce::test {

inline constexpr std::string_view kLedger = "5f0c1b7e";
inline constexpr std::string_view kStream = "NOTIFY";
inline constexpr std::string_view kDurable = "sendonce_otp";
inline constexpr std::string_view kSubject = "notify.otp.>";
inline constexpr ClassIndex kClass{};

class Rig {
 public:
  explicit Rig(NatsOptions options = {});
  ~Rig();

  // As `setup` would make them; `extra` are more members of the configuration, JSON.
  void make_stream(std::string_view name = kStream, std::string_view subject = "notify.>",
                   std::string_view extra = R"("retention":"workqueue")");
  void make_consumer(std::string_view ledger = kLedger, std::string_view extra = {});
  // A request to the JetStream API, which must succeed.
  std::string api(const std::string& what, std::string_view body = {});
  // Of all messages of the stream: waiting and not acked.
  [[nodiscard]] std::uint64_t stored(std::string_view stream = kStream);
  [[nodiscard]] ConsumerInfo consumer();
  void publish(const std::string& subject, const std::string& body,
               const MessageHeaders& headers = {});

  // Whether anybody answers.
  [[nodiscard]] bool asks(const std::string& subject);
  // A message that wants its answer there, wherever that is.
  void tell(const std::string& subject, const std::string& reply);

  [[nodiscard]] NatsBrokerOptions broker_options() const;
  void start_broker(NatsBrokerOptions options);
  void start_broker() { start_broker(broker_options()); }
  // Takes what has come; true when `taken` holds at least so many.
  bool take(std::size_t at_least);
  [[nodiscard]] bool ready();
  [[nodiscard]] LaneState lane() { return broker->lane(kClass); }
  // The confirmation of a ticket, once it is there.
  [[nodiscard]] std::optional<Result<void>> confirmation(Ticket ticket);

  NatsServer server;
  NatsOptions server_options{};
  std::unique_ptr<Clock> clock = make_system_clock();
  std::unique_ptr<Log> log = make_null_log();
  std::unique_ptr<NatsBroker> broker{};
  std::vector<Message> taken{};

 private:
  Publisher& admin();

  std::unique_ptr<Publisher> admin_{};
  std::vector<Confirmation> confirmations_{};
};

}  // namespace sendonce::test
