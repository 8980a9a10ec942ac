// Reports of the application about devices (docs/formats.md, "Device reports"), from their message
// to its ack: acked when the ledger holds what was reported, durably; what says nothing is copied
// to the dead letters and then terminated. Stepped by the engine, like everything it decides.
//
// The consumer has max_ack_pending = 1: a report that is delivered again comes before the next one,
// so that an old word never overtakes a newer one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ledger/ledger_lane.hpp"
#include "plugin/broker/broker.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/log.hpp"
#include "plugin/message/device_report.hpp"

namespace sendonce {

// Where reports come from.
struct DeviceReportLane {
  ClassIndex index{};  // at the broker
  std::string name{};  // where classes have theirs
  std::string stream{};
  Duration ack_wait{};
};

struct DeviceReportCounters {
  std::uint64_t applied = 0;
  std::uint64_t unchanged = 0;  // known already, or older than what is known
  std::uint64_t refused = 0;    // dead-lettered
};

class DeviceReports {
 public:
  // The device that a report names. invalid: none of ours, and why.
  struct Named {
    DeviceHash hash{};
    std::string kind{};
    std::string provider{};
  };
  using Namer = std::function<Result<Named>(const DeviceReport& report)>;

  // Without a lane there are no reports, and this does nothing. `broker` and `log` outlive it.
  DeviceReports(Broker& broker, Log& log, std::optional<DeviceReportLane> lane, Namer namer);

  [[nodiscard]] bool is_one(const Message& message) const {
    return lane_ && message.message_class == lane_->index;
  }
  void take(Message&& message);
  void on_recorded(std::uint64_t number, const Result<LedgerReply>& reply);
  void on_copied(std::uint64_t number, const Result<void>& result);
  // Adds what the ledger is to be told. `no_room`: why it cannot take more, empty if it can (see
  // why_no_room): then none is taken, and one in hand waits. A drain ends what is in hand.
  void poll(MonoTime now, bool draining, std::string no_room,
            std::vector<TicketedRequest>& requests);

  [[nodiscard]] bool idle() const { return held_.empty(); }
  [[nodiscard]] const DeviceReportCounters& counters() const { return counters_; }
  [[nodiscard]] const std::string& no_room() const { return no_room_; }

 private:
  enum class Stage : std::uint8_t {
    record,     // the ledger is to be told
    recording,  // it has been
    copy,       // the dead letter is to be published
    copying,    // it has been
    answer,     // the broker is to be told
  };
  struct Held {
    Message message{};
    SetDevice request{};
    std::string refused{};  // why it is no report; empty: it is one
    Stage stage = Stage::record;
    bool without_body = false;  // the dead-letter stream refused it whole
    MonoTime due{};
    MonoTime progressed{};
  };

  [[nodiscard]] Result<SetDevice> read(const Message& message);
  void step(std::uint64_t number, Held& held, bool may_record,
            std::vector<TicketedRequest>& requests);
  void publish_copy(std::uint64_t number, Held& held);
  // True: there is nothing left to do.
  [[nodiscard]] bool answer(const Held& held);
  void look_after();

  Broker& broker_;
  Log& log_;
  std::optional<DeviceReportLane> lane_;
  Namer namer_;
  DeviceReportDecoder decoder_{};
  std::map<std::uint64_t, Held> held_{};  // by a number of ours; one, but for lanes that change
  std::uint64_t last_number_ = 0;
  MonoTime now_{};
  MonoTime looked_after_{};
  std::optional<std::size_t> credit_{};
  std::string no_room_{};
  DeviceReportCounters counters_{};
};

}  // namespace sendonce
