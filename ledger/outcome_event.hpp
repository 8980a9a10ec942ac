// Outcome and device events as CloudEvents 1.0 in JSON (docs/formats.md, "Events"). Events of one
// commit with the same subject travel together, as one batch of the JSON batch format
// (application/cloudevents-batch+json, CloudEvents JSON format 1.0, section 4).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/binding.hpp"
#include "ledger/device.hpp"
#include "ledger/ledger.hpp"
#include "ledger/row.hpp"

namespace sendonce {

inline constexpr std::size_t kEventsPerEntry = 64;
inline constexpr std::string_view kOutcomeEventType = "dev.sendonce.outcome.v1";
inline constexpr std::string_view kDeviceEventType = "dev.sendonce.device.v1";

[[nodiscard]] std::string outcome_subject(const Row& row);
// sendonce.device.<kind>.<change>
[[nodiscard]] std::string device_subject(std::string_view kind, std::string_view change);

// What a device event tells beside its table row.
struct DeviceEvent {
  DeviceHash hash{};
  DeviceRow device{};
  std::string_view kind{};
  std::string_view ref{};
  std::string_view reason{};
  std::string_view provider{};
  bool provider_time = false;  // `device.since` is the provider's time, not ours
  bool reported = false;       // it is the application's
  Fence fence{};               // of the attempt that found out; makes the event's id
  std::string_view traceparent{};
};

// A send to a device that is bound to another recipient.
struct ReuseEvent {
  DeviceHash hash{};
  DeviceBinding binding{};  // `told` is the recipient of the send
  std::optional<WallTime> registered_at{};
  bool refused = false;
  std::string_view kind{};
  std::string_view ref{};
  std::string_view provider{};
  std::string_view event_id{};
  Fence fence{};  // makes the event's id
  std::string_view traceparent{};
};

// The message behind an event; both may be empty.
struct EventOrigin {
  std::string_view event_id{};
  std::string_view traceparent{};  // CloudEvents distributed tracing extension
};

// Collects the events of one transaction. Not thread-safe; reused from batch to batch.
class EventBatch {
 public:
  // `source` is `sendonce/<ledger id>`.
  explicit EventBatch(std::string source) : source_(std::move(source)) {}

  void begin(WallTime now);
  // A row that has just ended or changed.
  void add_outcome(const Row& row, const EventOrigin& origin);
  void add_device(const DeviceEvent& event);
  void add_reuse(const ReuseEvent& event);

  struct Entry {
    std::string subject{};
    std::string body{};  // complete JSON after finish()
    std::size_t events = 0;
  };
  // Closes the bodies. The entries stay valid until begin().
  [[nodiscard]] const std::vector<Entry>& finish();

 private:
  std::string& body_for(std::string subject);
  void open_event(std::string& body, std::string_view type, std::string_view traceparent);
  void open_device(std::string& body, const DeviceHash& hash, Fence fence,
                   std::string_view traceparent);

  std::string source_;
  std::string time_{};  // of the batch, RFC 3339
  std::vector<Entry> entries_{};
};

}  // namespace sendonce
