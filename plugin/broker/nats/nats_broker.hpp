// The broker port on NATS JetStream. One puller thread of our own owns the connection, asks for
// messages, sends acks and publications, and rebuilds what breaks; messages and confirmations are
// taken apart on the delivery thread of cnats. The engine meets them in queues under one lock,
// held for a few instructions: neither ever waits for the network with it.
//
// Acks are not proof of anything, but a wrong one does harm: an old reply removes the *new* message
// of a re-created stream that has the same sequence. So replies wait in our own queue, not in
// cnats' buffer, and are sent only while CONSUMER.INFO has shown the incarnation that their message
// came from; after every reconnect that is checked anew.
//
// Permissions: publish to <api>.CONSUMER.MSG.NEXT.<stream>.<durable>, <api>.CONSUMER.INFO.<stream>.
// <durable>, <api>.STREAM.INFO.<stream>, $JS.ACK.<stream>.<durable>.>, and the outgoing subjects;
// subscribe to _INBOX.sendonce.<instance>.>. Without $SRV.> and allow_responses the service
// protocol stays silent, and all else works.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "plugin/broker/broker.hpp"
#include "plugin/broker/nats/connection.hpp"
#include "plugin/broker/nats/lane.hpp"
#include "plugin/broker/nats/publications.hpp"
#include "plugin/broker/nats/service.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/ids.hpp"
#include "plugin/core/log.hpp"
#include "plugin/core/random.hpp"

namespace sendonce {

struct NatsLane {
  std::string class_name{};  // for the log
  std::string stream{};
  std::string durable{};  // sendonce_<scope>
  std::string subject{};  // the consumer's filter
  Duration ack_wait{};
  bool one_at_a_time = false;  // its consumer's max_ack_pending is 1
};

struct NatsBrokerOptions {
  ConnectionOptions connection{};  // `inbox_prefix` is made when empty
  std::string api_prefix = "$JS.API";
  std::string ledger_id{};
  std::vector<NatsLane> lanes{};                // the class of index i is at i, then the reports
  std::optional<ServiceDescription> service{};  // without: nobody answers $SRV.PING and its like
  // By endpoint. On the puller thread; short, and it must not call the broker.
  std::function<std::vector<ServiceCounts>()> service_counts{};
  PullSettings pull{};
  Duration publish_timeout = std::chrono::seconds(5);
  Duration rebuild_first = std::chrono::seconds(1);  // of a closed connection; doubles
  Duration rebuild_cap = std::chrono::seconds(30);
  std::size_t queue_limit = 262'144;  // replies, and publications, that wait to be sent
};

// What replaces "$JS.API" ([nats] domain, api_prefix).
[[nodiscard]] std::string js_api_prefix(std::string_view domain, std::string_view api_prefix);

struct NatsBrokerCounters {
  std::uint64_t messages = 0;
  std::uint64_t pulls = 0;
  std::uint64_t replies_sent = 0;
  std::uint64_t replies_forgotten = 0;  // of another incarnation
  std::uint64_t connects = 0;           // and reconnects
};

class NatsBroker final : public Broker, private ConnectionSink {
 public:
  // `wake` is called on other threads when there is something to take; short, and it must not call
  // the broker. Clock and log outlive the broker.
  NatsBroker(NatsBrokerOptions options, const Clock& clock, Log& log, std::function<void()> wake);
  ~NatsBroker() override;
  NatsBroker(const NatsBroker&) = delete;
  NatsBroker& operator=(const NatsBroker&) = delete;

  // No thread or descriptor exists before. Once. Connecting goes on in the background: lane() says
  // how far it has come.
  void start();
  // Sends what waits, gives back what was not taken, closes and joins; bounded by a few seconds and
  // by a connect under way. Publications that are not confirmed end as unavailable.
  void stop();

  void take(std::vector<Message>& messages) override;
  void credit(ClassIndex message_class, std::size_t messages) override;
  // exhausted: the queue is full; invalid: not a reply of one of our lanes.
  [[nodiscard]] Result<void> ack(const Message& message) override;
  [[nodiscard]] Result<void> nak(const Message& message, Duration delay) override;
  [[nodiscard]] Result<void> progress(const Message& message) override;
  [[nodiscard]] Result<void> terminate(const Message& message) override;
  void publish(Ticket ticket, Publication publication) override;
  void take_confirmations(std::vector<Confirmation>& confirmations) override;
  [[nodiscard]] LaneState lane(ClassIndex message_class) const override;
  [[nodiscard]] bool connected() const override;

  [[nodiscard]] NatsBrokerCounters counters() const;

 private:
  enum class ReplyKind : std::uint8_t { ack, nak, progress, terminate };
  struct Reply {
    std::size_t lane = 0;
    std::uint32_t incarnation = 0;
    ReplyKind kind = ReplyKind::ack;
    Duration delay{};
    std::string to{};
  };
  struct Slot {
    explicit Slot(Lane l) : lane(std::move(l)) {}
    Lane lane;
    std::string class_name{};
    std::string pull_subject{};
    std::string consumer_subject{};
    std::string stream_subject{};
    std::string ack_prefix{};     // of the replies of its messages, in their short form
    std::string probe_subject{};  // an ack of no message
    std::vector<Message> held{};  // arrived while the consumer is being checked
    std::vector<Reply> parked{};  // to be sent once it has been
    std::string logged_reason{};
    bool logged_ready = false;
  };
  // Something small to publish with an answer to our inbox.
  struct Question {
    std::size_t lane = 0;
    std::uint64_t pull = 0;  // 0: not a pull request
    const std::string* subject = nullptr;
    std::string answer_to{};
    std::string body{};
  };
  struct ServiceRequest {
    std::string subject{};
    std::string reply{};
  };
  struct Work {
    std::vector<Question> questions{};
    std::vector<Reply> replies{};
    std::vector<std::pair<Ticket, Publication>> publications{};
    std::vector<std::pair<ConnectionEvent, std::string>> events{};
    std::vector<ServiceRequest> service{};
  };

  void on_message(RawMessage raw) override;
  void on_event(ConnectionEvent event, std::string text) override;
  void on_service(RawMessage raw);
  void on_control(const RawMessage& raw, std::string_view token);
  void on_publish_answer(const RawMessage& raw, std::string_view number);
  void on_info(const RawMessage& raw, std::string_view kind, std::string_view token);
  void on_pull_status(const RawMessage& raw, std::string_view token);
  void settle(Slot& slot, Binding binding);
  [[nodiscard]] std::size_t lane_of(const AckReply& reply) const;
  [[nodiscard]] Result<void> enqueue(const Message& message, ReplyKind kind, Duration delay);
  [[nodiscard]] bool is_ours(const Message& message) const;
  void kick();
  void wake_for_messages(std::unique_lock<std::mutex>& lock);
  void wake_for_confirmations(std::unique_lock<std::mutex>& lock);

  void run();
  void sleep(std::unique_lock<std::mutex>& lock);
  void collect(Work& work);
  void collect_questions(std::size_t index, Work& work);
  void sort_replies(Work& work);
  void log_changes(std::unique_lock<std::mutex>& lock);
  void supervise(const Work& work);
  void handle(ConnectionEvent event, const std::string& text);
  void handle_denied(const std::string& text);
  void connect();
  void subscribe_service(Connection& connection);
  void drop_connection(const std::string& why);
  void flush_connection();
  void all_lanes_connected();
  void all_lanes_disconnected(const std::string& why);
  void send(Work& work);
  void send_service(const std::vector<ServiceRequest>& requests);
  void send_replies(std::vector<Reply>& replies);
  void send_publications(std::vector<std::pair<Ticket, Publication>>& publications);
  void shut_down();

  NatsBrokerOptions options_;
  const Clock& clock_;
  Log& log_;
  std::function<void()> wake_;

  mutable std::mutex mutex_;
  std::condition_variable puller_;
  // Under mutex_:
  std::vector<Slot> slots_{};
  Publications publications_;
  std::vector<Message> arrived_{};
  std::vector<Reply> replies_{};
  std::vector<std::pair<Ticket, Publication>> unsent_{};
  std::vector<std::pair<ConnectionEvent, std::string>> events_{};
  std::vector<ServiceRequest> asked_{};
  std::size_t parked_ = 0;
  bool urgent_ = false;
  bool stopping_ = false;
  bool connected_ = false;
  bool woken_for_messages_ = false;
  bool woken_for_confirmations_ = false;
  NatsBrokerCounters counters_{};
  MonoTime connect_at_{};  // when there is no connection

  // Of the puller thread:
  std::unique_ptr<Connection> connection_{};
  std::uint64_t generation_ = 0;
  MonoTime connected_at_{};
  Duration backoff_{};
  Random random_;
  std::thread thread_{};
};

}  // namespace sendonce
