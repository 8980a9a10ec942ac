// One class's pull consumer as seen from here: what to ask the server next, and what each answer
// means. Every decision about a lane, no I/O, no thread, no clock of its own; NatsBroker steps it
// under its lock. An action for every status is in docs/operations.md, "Pull statuses".
//
// Credit: the engine says how many messages it would take; what was asked for and not yet come,
// and what has come and was not yet taken, counts against it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "plugin/broker/broker.hpp"
#include "plugin/broker/nats/ack_reply.hpp"
#include "plugin/broker/nats/api_json.hpp"
#include "plugin/broker/nats/consumer_check.hpp"
#include "plugin/broker/nats/pull_status.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/ids.hpp"
#include "plugin/core/random.hpp"

namespace sendonce {

struct PullSettings {
  Duration expires = std::chrono::seconds(30);       // of a pull request
  Duration heartbeat = std::chrono::seconds(5);      // at most half of expires
  std::uint64_t max_bytes = 8U << 20U;               // of one request
  Duration info_interval = std::chrono::seconds(5);  // between CONSUMER.INFO
  Duration info_timeout = std::chrono::seconds(5);
  Duration stalled_after = std::chrono::seconds(30);
};

struct PullRequest {
  std::uint64_t id = 0;
  std::uint64_t batch = 0;
  Duration expires{};
  Duration heartbeat{};
  std::uint64_t max_bytes = 0;  // 0: no limit
};

// What to send now.
struct LaneStep {
  std::optional<PullRequest> pull{};
  std::optional<std::uint64_t> ask_stream{};    // STREAM.INFO, under this round number
  std::optional<std::uint64_t> ask_consumer{};  // CONSUMER.INFO
  bool probe_ack = false;                       // find out whether acks are permitted
};

// What CONSUMER.INFO came to, for what waits for it: messages that arrived and acks that are due.
enum class Binding : std::uint8_t {
  unsettled,  // keep them
  same,       // same stream, same consumer: let them go
  changed,    // another incarnation: forget them
};

enum class AckFate : std::uint8_t { send, keep, forget };

class Lane {
 public:
  Lane(ClassIndex message_class, ConsumerExpectation expected, PullSettings settings,
       std::uint64_t seed);

  void connected(MonoTime now);  // also after each reconnect
  void disconnected(std::string why);
  // Stays in force until the next call, but for what is taken meanwhile.
  void set_credit(std::size_t messages);
  void taken(MonoTime now, std::size_t kept);  // all that arrived, but for `kept`
  void dropped(std::size_t messages);          // that had arrived and were kept
  void stop() { stopped_ = true; }             // asks for no more

  // False: keep the message until the next Binding that is not `unsettled`.
  [[nodiscard]] bool on_message(MonoTime now, const AckReply& reply);
  void on_status(MonoTime now, std::uint64_t request, int code, std::string_view description);
  void on_pull_failed(MonoTime now, std::uint64_t request);
  Binding on_stream_info(MonoTime now, std::uint64_t round, ApiAnswer<StreamInfo> answer);
  Binding on_consumer_info(MonoTime now, std::uint64_t round, ApiAnswer<ConsumerInfo> answer);
  void on_denied(MonoTime now, std::string what);

  [[nodiscard]] LaneStep step(MonoTime now);
  [[nodiscard]] MonoTime next_step() const;  // step no later than this
  [[nodiscard]] bool wants_pull() const;     // step now

  // May an ack for a message of this incarnation be sent now? `forget`: never.
  [[nodiscard]] AckFate ack_fate(std::uint32_t incarnation) const;
  // Something an operator should read once, since the last call.
  [[nodiscard]] std::optional<std::string> take_notice();

  [[nodiscard]] LaneState state() const;
  [[nodiscard]] std::uint32_t incarnation() const { return incarnation_; }
  [[nodiscard]] ClassIndex message_class() const { return message_class_; }
  [[nodiscard]] const ConsumerExpectation& expected() const { return expected_; }
  [[nodiscard]] bool is(const AckReply& reply) const {
    return reply.stream == expected_.stream && reply.consumer == expected_.durable;
  }

 private:
  enum class Phase : std::uint8_t {
    offline,   // no connection
    checking,  // connected, CONSUMER.INFO not yet read
    bound,     // the consumer is the expected one
    missing,   // stream or consumer does not exist
    refused,   // it exists and is not what the class needs
  };
  struct Open {
    std::uint64_t id = 0;
    std::uint64_t left = 0;
    MonoTime heard{};
  };
  // A question about the consumer and, unless bound, its stream.
  struct Round {
    std::uint64_t number = 0;
    MonoTime asked{};
    bool open = false;
    std::optional<StreamInfo> stream{};
    std::optional<ConsumerInfo> consumer{};
  };

  [[nodiscard]] std::size_t outstanding() const;
  [[nodiscard]] std::size_t credit() const { return credit_ - std::min(credit_, used_); }
  [[nodiscard]] bool may_pull() const;
  [[nodiscard]] Duration silence() const { return 2 * settings_.heartbeat + kSilenceSlack; }
  [[nodiscard]] PullRequest make_request(MonoTime now);
  void ask(MonoTime now, LaneStep& step);
  void heard(MonoTime now);
  [[nodiscard]] bool drop_request(std::uint64_t id);
  void back_off(MonoTime now, Duration first, Duration cap);
  void trouble(std::string reason, bool fatal = false);
  void recheck(MonoTime now, std::string why);
  void forget_silent(MonoTime now);
  void adopt_limit(const PullStatus& status, std::string_view description);
  void on_request_over(MonoTime now, const PullStatus& status);
  void on_conflict(MonoTime now, const PullStatus& status, int code, std::string_view description);
  void on_info_error(MonoTime now, const ApiError& error);
  [[nodiscard]] Binding conclude(MonoTime now);
  [[nodiscard]] Binding bind(MonoTime now, const StreamInfo& stream, const ConsumerInfo& info);
  void forgive();
  void watch(MonoTime now, const ConsumerInfo& info);

  static constexpr Duration kSilenceSlack = std::chrono::milliseconds(500);

  ClassIndex message_class_;
  ConsumerExpectation expected_;
  PullSettings settings_;
  Random random_;
  bool stopped_ = false;

  // Why not ready, most important first.
  Phase phase_ = Phase::offline;
  std::string phase_reason_ = "not connected yet";
  std::string denied_{};
  std::string stalled_{};
  std::string trouble_{};
  bool trouble_fatal_ = false;
  bool ever_bound_ = false;
  bool opening_ = true;             // connecting or asking for the first time since
  std::uint64_t denied_round_ = 0;  // when it was last refused
  std::optional<std::string> notice_{};

  std::size_t credit_ = 0;
  std::size_t used_ = 0;  // of it, by what was taken since it was given
  MonoTime used_at_{};
  std::size_t untaken_ = 0;
  std::deque<Open> open_{};  // oldest first: the server fills them in this order
  std::uint64_t last_request_ = 0;
  std::uint64_t batch_limit_ = 0;  // as the server told us; 0: none
  unsigned too_big_ = 0;           // times in a row that the next message did not fit
  unsigned silences_ = 0;          // in a row
  unsigned failures_ = 0;          // in a row, for the back-off
  std::optional<MonoTime> failing_since_{};
  MonoTime pull_after_{};

  Round round_{};
  MonoTime ask_at_{};

  std::uint32_t incarnation_ = 0;
  std::string stream_created_{};
  MonoTime checked_at_{};  // when CONSUMER.INFO has last said that the consumer is ours
  std::string consumer_created_{};
  std::uint64_t consumer_seq_ = 0;  // of the last delivery
  std::uint64_t pending_ = 0;
  std::uint64_t ack_pending_ = 0;
  std::optional<MonoTime> stalled_since_{};
};

}  // namespace sendonce
