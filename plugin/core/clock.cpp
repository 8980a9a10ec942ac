#include "plugin/core/clock.hpp"

#include <ctime>

namespace sendonce {
namespace {

Duration read(clockid_t id) {
  timespec t{};
  ::clock_gettime(id, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

class SystemClock final : public Clock {
 public:
  [[nodiscard]] WallTime wall() const override { return WallTime(read(CLOCK_REALTIME)); }
  [[nodiscard]] MonoTime mono() const override { return MonoTime(read(CLOCK_MONOTONIC)); }
};

}  // namespace

std::unique_ptr<Clock> make_system_clock() {
  return std::make_unique<SystemClock>();
}

}  // namespace sendonce
