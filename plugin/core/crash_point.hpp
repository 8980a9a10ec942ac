// Named places in the order of things (docs/guarantees.md, "The laws") at which a test build kills
// its own process: with SENDONCE_CRASH_AT=NAME[:N] in the environment it gets SIGKILL at the Nth
// pass (default: the first). A release build has none of it: SENDONCE_CRASH_POINTS is not set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#ifdef SENDONCE_CRASH_POINTS
#include <atomic>
#endif

namespace sendonce {

enum class CrashPoint : std::uint8_t {
  message_pulled,   // the engine has taken a message, and nothing is claimed
  claim_durable,    // nothing of the request has been handed to the transport
  request_written,  // to its last byte
  answer_read,      // and not yet handed to the ledger
  commit_begun,     // the batch is written, not yet durable
  commit_done,      // durable, and nobody has been told
  settle_durable,   // the engine knows; the outbox has not published
  event_read,       // an outbox entry is about to be published
  event_confirmed,  // by the stream, and still in the outbox
  copy_due,         // failed, durably; the dead-letter copy is about to be published
  copy_confirmed,   // by the stream, and not recorded
  copy_recorded,    // durably; not acked
  ack_due,          // every delivery has ended, durably
  ack_sent,         // handed to the connection
};
inline constexpr std::array<std::string_view, 14> kCrashPoints = {
    "message-pulled", "claim-durable",  "request-written", "answer-read",     "commit-begun",
    "commit-done",    "settle-durable", "event-read",      "event-confirmed", "copy-due",
    "copy-confirmed", "copy-recorded",  "ack-due",         "ack-sent"};
static_assert(static_cast<std::size_t>(CrashPoint::ack_sent) + 1 == kCrashPoints.size());

#ifdef SENDONCE_CRASH_POINTS

namespace crash_points {
inline constexpr std::uint8_t kNone = 0xff;
inline constexpr std::uint8_t kUnread = 0xfe;  // the environment has not been looked at
extern std::atomic<std::uint8_t> armed;
void pass(CrashPoint point) noexcept;
}  // namespace crash_points

inline void crash_point(CrashPoint point) noexcept {
  if (crash_points::armed.load(std::memory_order_relaxed) != crash_points::kNone) [[unlikely]]
    crash_points::pass(point);
}

#else

constexpr void crash_point(CrashPoint /*point*/) noexcept {}

#endif

}  // namespace sendonce
