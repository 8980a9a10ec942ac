// What `sendonce tail` follows in the daemon: attempts as they settle, and the log.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/log.hpp"
#include "plugin/module/admin/admin_protocol.hpp"
#include "plugin/module/line_feed.hpp"
#include "plugin/pipeline/attempt_watch.hpp"

namespace sendonce {

// Each attempt as a line of JSON. No destination, no payload.
class AttemptFeed final : public AttemptWatch {
 public:
  explicit AttemptFeed(const Clock& clock) : lines_(clock) {}
  [[nodiscard]] bool wanted() const noexcept override { return lines_.wanted(); }
  void settled(const SettledAttempt& attempt) override;
  [[nodiscard]] LineFeed& lines() { return lines_; }

 private:
  LineFeed lines_;
};

// A log event as a line of JSON.
[[nodiscard]] std::string log_line(WallTime at, Level level, std::string_view event,
                                   std::span<const Field> fields);

// The verbs that read a feed: `after` is the `next` of the answer before.
[[nodiscard]] Result<void> read_feed(LineFeed& feed, const AdminRequest& request,
                                     AdminReply& reply);

}  // namespace sendonce
