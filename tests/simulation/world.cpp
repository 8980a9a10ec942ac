#include "tests/simulation/world.hpp"

#include <cstdio>
#include <utility>

namespace sendonce::sim {
namespace {

// 2026-11-29T12:00:00Z, less the hour at which the monotonic clock begins.
constexpr WallTime kEpoch{std::chrono::seconds(1'795'953'600 - 3600)};
constexpr MonoTime kBegin{std::chrono::hours(1)};

}  // namespace

void broken(int law, std::string text) {
  throw Broken{.law = law, .text = std::move(text)};
}

WallTime World::true_wall() const {
  return kEpoch + mono_.time_since_epoch();
}

WallTime World::wall() const {
  const auto since = static_cast<double>((mono_ - drifts_since_).count());
  return true_wall() + wall_offset_ + Duration(static_cast<Duration::rep>(since * drift_));
}

void World::set_drift(double rate) {
  wall_offset_ = wall() - true_wall();
  drifts_since_ = mono_;
  drift_ = rate;
}

void World::step_wall(Duration by) {
  if (before_step) before_step();
  wall_offset_ += by;
}

void World::right_clock() {
  if (before_step) before_step();
  set_drift(0);
  wall_offset_ = Duration(0);
}

void World::after(Duration delay, std::function<void()> what) {
  events_.push({.at = mono_ + delay, .number = ++numbers_, .what = std::move(what)});
}

bool World::run_next(MonoTime until) {
  if (events_.empty() || events_.top().at > until) {
    mono_ = std::max(mono_, until);
    return false;
  }
  const Event event = events_.top();
  events_.pop();
  mono_ = std::max(mono_, event.at);
  event.what();
  return true;
}

void World::run_until(MonoTime until) {
  while (run_next(until)) {
  }
}

void World::arm_stall(std::uint64_t gates, Duration length) {
  gates_to_stall_ = gates;
  stall_ = length;
}

void World::gate(Port port, Edge edge) {
  ++gates_passed_;
  if (gates_to_stall_ != 0 && --gates_to_stall_ == 0) {
    if (trace_)
      tell("process", "stands still for " + text_of(stall_) + " at " + std::string(name(port)));
    run_until(mono_ + stall_);
  }
  const bool here = !crash_place_ || (crash_place_->port == port && crash_place_->edge == edge);
  if (here && gates_to_crash_ != 0 && --gates_to_crash_ == 0) {
    ++probes_.crashes[static_cast<std::size_t>(port) * 2 + (edge == Edge::after ? 1 : 0)];
    throw Crash{(edge == Edge::before ? "before " : "after ") + std::string(name(port))};
  }
}

void World::tell(std::string_view who, const std::string& what) const {
  if (!trace_) return;
  std::printf("%11.6f  %-9.*s %s\n", std::chrono::duration<double>(mono_ - kBegin).count(),
              static_cast<int>(who.size()), who.data(), what.c_str());
}

std::string text_of(Duration d) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f s", std::chrono::duration<double>(d).count());
  return text;
}

}  // namespace sendonce::sim
