// The reply subject of a JetStream message: who it came from, and where its ack goes.
// Forms: nats-architecture-and-design ADR-15 ("JetStream Subject Transformation", ack replies):
//   $JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<time>.<pending>
//   $JS.ACK.<domain>.<account hash>.<stream>.<consumer>.<delivered>...<pending>[.<random>]
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "plugin/core/clock.hpp"

namespace sendonce {

// Views point into the text that was parsed.
struct AckReply {
  std::string_view stream{};
  std::string_view consumer{};
  std::uint32_t delivered = 0;
  std::uint64_t stream_seq = 0;
  std::uint64_t consumer_seq = 0;  // grows with every delivery of one life of the consumer
  WallTime stored_at{};
  std::uint64_t pending = 0;
};

// Empty for anything that is not an ack reply.
[[nodiscard]] std::optional<AckReply> parse_ack_reply(std::string_view reply);

}  // namespace sendonce
