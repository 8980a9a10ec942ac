// What the application says of one device (docs/formats.md, "Device reports";
// config/schema/device-report.schema.json is the normative form). Total, bounded, strict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/ids.hpp"
#include "plugin/message/json.hpp"
#include "plugin/message/notification.hpp"
#include "plugin/message/target_decoder.hpp"

namespace sendonce {

enum class ReportedState : std::uint8_t { active, suspect, revoked };
[[nodiscard]] std::string_view name(ReportedState state);

struct DeviceReport {
  Target target{};  // its provider or kind; the destination, unless there is a hash
  std::optional<DestinationForm> form{};  // of the destination
  std::optional<DeviceHash> hash{};
  ReportedState state = ReportedState::active;
  std::string reason{};  // may be empty
  std::optional<WallTime> at{};
};

// Keeps its buffers from report to report. One thread.
class DeviceReportDecoder {
 public:
  DeviceReportDecoder();

  // invalid: the text has the JSON path of the fault and what is allowed there, never a value. What
  // only a provider can judge is left to it.
  [[nodiscard]] Result<DeviceReport> decode(std::string_view bytes);

 private:
  JsonParser parser_;
};

}  // namespace sendonce
