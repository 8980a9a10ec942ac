// What the host is told: log events and changes of state. Queued for pump(), or handed over at once
// when the host asked for that; without a log callback log events go to stderr.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "plugin/core/clock.hpp"
#include "plugin/core/log.hpp"
#include "plugin/module/line_feed.hpp"
#include "sendonce/abi/host.h"

namespace sendonce {

struct InstanceState {
  std::int32_t state = SENDONCE_STATE_STARTING;
  std::int32_t exit_code = 0;
  std::string reason{};
  friend bool operator==(const InstanceState&, const InstanceState&) = default;
};

class HostEvents final : public Log {
 public:
  HostEvents(const sendonce_host& host, const Clock& clock);

  // Any thread.
  void write(Level level, std::string_view event, std::span<const Field> fields) override;
  [[nodiscard]] bool enabled(Level level) const override;
  void change(InstanceState state);
  [[nodiscard]] InstanceState state() const;

  // What is logged from now on, for people who follow it.
  [[nodiscard]] LineFeed& feed() { return feed_; }

  // Hands out at most `most` queued events. One thread.
  void pump(std::size_t most);

 private:
  struct LogEvent {
    Level level = Level::info;
    WallTime at{};
    std::string event{};
    std::vector<std::pair<std::string, std::string>> fields{};
  };
  using Event = std::variant<LogEvent, InstanceState>;

  void post(Event event);
  void hand_out(const Event& event) const;

  sendonce_host host_;
  const Clock& clock_;
  Level least_;
  LineFeed feed_;
  std::unique_ptr<Log> stderr_log_{};  // without a host callback
  mutable std::mutex mutex_{};
  std::deque<Event> queue_{};
  std::uint64_t dropped_ = 0;
  InstanceState state_{};
};

}  // namespace sendonce
