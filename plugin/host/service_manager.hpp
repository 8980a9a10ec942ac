// What a service manager wants to hear: the datagram protocol of sd_notify(3), with systemd's
// library left out because one datagram needs none.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plugin/core/clock.hpp"

namespace sendonce {

class ServiceManager {
 public:
  // From NOTIFY_SOCKET and WATCHDOG_USEC/WATCHDOG_PID, read once; does nothing without them.
  [[nodiscard]] static ServiceManager from_environment();

  void ready(std::string_view status) const { say("READY=1\nSTATUS=" + std::string(status)); }
  void status(std::string_view text) const { say("STATUS=" + std::string(text)); }
  void reloading(MonoTime now) const;
  // `patience`: how long the stop may take, whatever the unit's TimeoutStopSec says.
  void stopping(Duration patience) const;
  void alive() const { say("WATCHDOG=1"); }
  // How often alive() is expected: half of the watchdog's patience. Empty: no watchdog.
  [[nodiscard]] std::optional<Duration> watchdog() const { return watchdog_; }

 private:
  void say(const std::string& message) const;

  std::string socket_{};
  std::optional<Duration> watchdog_{};
};

}  // namespace sendonce
