// Waiting in tests: on a condition, with a deadline, never for a fixed time.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include <poll.h>

#include "plugin/core/clock.hpp"

namespace sendonce::test {

// True as soon as `condition()` is; false when it was still false at the deadline. The condition is
// looked at once more after the deadline, so that a stalled machine does not fail a good test.
template <class Condition>
[[nodiscard]] bool eventually(Condition&& condition,
                              std::chrono::milliseconds within = std::chrono::seconds(10),
                              std::chrono::milliseconds every = std::chrono::milliseconds(1)) {
  const std::unique_ptr<Clock> clock = make_system_clock();
  const MonoTime deadline = clock->mono() + within;
  while (clock->mono() < deadline) {
    if (condition()) return true;
    ::poll(nullptr, 0, static_cast<int>(every.count()));
  }
  return static_cast<bool>(condition());
}

}  // namespace sendonce::test
