// The status messages that a pull request is answered with: ADR-13 (pull subscribe internals) and
// nats-server, server/consumer.go. Only the text tells some of them apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "plugin/core/clock.hpp"

namespace sendonce {

enum class PullEvent : std::uint8_t {
  heartbeat,         // 100
  no_messages,       // 404
  expired,           // 408: the request is over, nothing or only a part came
  over_bytes,        // 409 Batch Completed: the next message did not fit
  too_big,           // 409 Message Size Exceeds MaxBytes: it would not fit at all
  too_many_pulls,    // 409 Exceeded MaxWaiting
  batch_limit,       // 409 Exceeded MaxRequestBatch of N
  expires_limit,     // 409 Exceeded MaxRequestExpires of D
  bytes_limit,       // 409 Exceeded MaxRequestMaxBytes of N
  moving,            // 409 Leadership Change, Server Shutdown
  consumer_deleted,  // 409 Consumer Deleted
  wrong_consumer,    // 409 Consumer is push based, 400, 412, 423
  no_responders,     // 503
  other,
};

struct PullStatus {
  PullEvent event = PullEvent::other;
  std::uint64_t limit = 0;  // with batch_limit and bytes_limit
  Duration duration{};      // with expires_limit
};

[[nodiscard]] PullStatus pull_status(int code, std::string_view description);

// As Go writes durations: "30s", "1m30s", "1.5s", "500ms".
[[nodiscard]] std::optional<Duration> parse_go_duration(std::string_view text);

}  // namespace sendonce
