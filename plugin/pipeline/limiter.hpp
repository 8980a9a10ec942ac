// A token bucket on the monotonic clock. Pure state; the caller brings the time.
#pragma once

#include "plugin/core/clock.hpp"

namespace sendonce {

class Limiter {
 public:
  // 0 per second: no limit. The bucket holds one second's worth, at least one.
  explicit Limiter(double per_second = 0) : per_second_(per_second), tokens_(burst()) {}

  void set_rate(double per_second);
  [[nodiscard]] bool allows(MonoTime now);  // a token is there
  void take();                              // after allows()
  // When the next token will be there; `now` when one is.
  [[nodiscard]] MonoTime next(MonoTime now);
  [[nodiscard]] bool full(MonoTime now);  // nothing is known of it that a new one would not know

 private:
  [[nodiscard]] double burst() const { return per_second_ > 1 ? per_second_ : 1; }
  void refill(MonoTime now);

  double per_second_;
  double tokens_;
  MonoTime refilled_{};
};

}  // namespace sendonce
