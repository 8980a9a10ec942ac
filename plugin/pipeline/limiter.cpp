#include "plugin/pipeline/limiter.hpp"

#include <algorithm>

namespace sendonce {

void Limiter::set_rate(double per_second) {
  per_second_ = per_second;
  tokens_ = std::min(tokens_, burst());
}

void Limiter::refill(MonoTime now) {
  if (refilled_ == MonoTime{}) refilled_ = now;
  const std::chrono::duration<double> passed = now - refilled_;
  tokens_ = std::min(burst(), tokens_ + passed.count() * per_second_);
  refilled_ = now;
}

bool Limiter::allows(MonoTime now) {
  if (per_second_ <= 0) return true;
  refill(now);
  return tokens_ >= 1;
}

void Limiter::take() {
  if (per_second_ > 0) tokens_ -= 1;
}

bool Limiter::full(MonoTime now) {
  if (per_second_ <= 0) return true;
  refill(now);
  return tokens_ >= burst();
}

MonoTime Limiter::next(MonoTime now) {
  if (allows(now)) return now;
  const std::chrono::duration<double> missing((1 - tokens_) / per_second_);
  return now + std::chrono::ceil<Duration>(missing);
}

}  // namespace sendonce
