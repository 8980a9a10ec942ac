// What `sendonce setup` would change, as a pure function of what is wanted and what is there.
// Streams and consumers that exist keep every setting that does not contradict us.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugin/broker/nats/api_json.hpp"
#include "plugin/core/clock.hpp"

namespace sendonce {

enum class Retention : std::uint8_t { limits, work_queue, interest };

struct DesiredStream {
  std::string name{};
  std::vector<std::string> subjects{};
  // Only for a stream that has to be made:
  std::string description{};
  Retention retention = Retention::limits;
  Duration max_age{};  // 0: for ever
  std::uint32_t replicas = 1;
  // At least this; 0: the server's default.
  Duration duplicate_window{};
};

// Where a new consumer begins on a stream that holds messages already.
struct StartFrom {
  enum class Kind : std::uint8_t { beginning, now, time };
  Kind kind = Kind::beginning;
  WallTime time{};
};

struct DesiredConsumer {
  std::string class_name{};  // for --adopt and texts
  std::string stream{};
  std::string durable{};  // sendonce_<scope>
  std::string filter_subject{};
  Duration ack_wait{};
  std::uint32_t max_ack_pending = 100'000;
  std::optional<StartFrom> from{};  // --from; needed for a new one on a stream that holds messages
  bool adopt = false;               // --adopt: take it over from another ledger
  bool recreate = false;            // --recreate: delete it first where it cannot be changed
  // Of its stream, if that has to be made:
  std::string holds = "notification events";
  bool shared = false;  // every instance has a consumer that gets all of it
};

struct SetupRequest {
  std::string ledger_id{};
  std::vector<DesiredStream> streams{};
  std::vector<DesiredConsumer> consumers{};
};

// What is there, by name and by (stream, durable).
struct SetupPresent {
  std::map<std::string, StreamInfo> streams{};
  std::map<std::pair<std::string, std::string>, ConsumerInfo> consumers{};
};

enum class ChangeAction : std::uint8_t { none, create, update, remove, refuse };

// A line of the diff. `from` and `to` are for people.
struct SetupChange {
  ChangeAction action = ChangeAction::none;
  std::string object{};  // "stream NOTIFY", "consumer NOTIFY/sendonce_otp"
  std::string field{};   // empty: the object as a whole
  std::string from{};
  std::string to{};
  std::string text{};  // with refuse: why, and what to do; with an adoption: what it means
};

// A request to the JetStream API that makes one object what it should be.
struct SetupCall {
  std::string object{};
  std::string api{};  // behind the API prefix: "STREAM.CREATE.NOTIFY"
  std::string body{};
};

struct SetupPlan {
  std::vector<SetupChange> changes{};  // one with action `none` for an object that is right
  std::vector<SetupCall> calls{};      // in this order
  std::vector<std::string> adopted{};  // classes whose ledger must store `adopted_at`
  [[nodiscard]] bool refused() const;
  [[nodiscard]] bool nothing_to_do() const { return calls.empty() && !refused(); }
};

[[nodiscard]] SetupPlan plan_setup(const SetupRequest& wanted, const SetupPresent& present);

// The streams that a sidecar needs: each class's stream with the subjects of its classes, and
// those for events and dead letters. Streams that setup makes for classes are work queues: what is
// acked is gone, and a consumer that has to be made again does not replay what was delivered. Of a
// shared one it is gone when every consumer has acked it.
[[nodiscard]] std::vector<DesiredStream> desired_streams(
    const std::vector<DesiredConsumer>& consumers, const std::string& outcomes_stream,
    const std::string& dead_letter_stream);

[[nodiscard]] std::string_view name(ChangeAction action);

}  // namespace sendonce
