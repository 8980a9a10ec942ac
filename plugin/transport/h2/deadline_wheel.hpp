// Deadlines of open calls, in a hashed wheel: arming and disarming are a few stores, since nearly
// every call ends long before its deadline. Deadlines are met up to one tick (17 ms) late, never
// early.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "plugin/transport/h2/call.hpp"

namespace sendonce {

class DeadlineWheel {
 public:
  explicit DeadlineWheel(MonoTime now) : tick_(tick_of(now)) {}

  void arm(Call& call) noexcept;
  void disarm(Call& call) noexcept;
  // Disarms and appends every call whose deadline is not after `now`.
  void expire(MonoTime now, std::vector<Call*>& due);
  // When expire() may next have something to do; a lower bound.
  [[nodiscard]] std::optional<MonoTime> next() const noexcept;

 private:
  static constexpr unsigned kTickShift = 24;  // 2^24 ns
  static constexpr std::uint64_t kSlots = 1024;
  static constexpr std::uint64_t kWords = kSlots / 64;

  [[nodiscard]] static std::uint64_t tick_of(MonoTime t) noexcept {
    return static_cast<std::uint64_t>(t.time_since_epoch().count()) >> kTickShift;
  }
  void sweep(std::uint64_t slot, MonoTime now, std::vector<Call*>& due);

  std::uint64_t tick_;  // slots before it are swept
  std::array<Call*, kSlots> slots_{};
  std::array<std::uint64_t, kWords> used_{};
};

}  // namespace sendonce
