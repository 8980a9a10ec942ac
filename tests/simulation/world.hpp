// Time, chance and what is going to happen: everything a simulated run depends on, from one seed.
// Single-threaded; events run when somebody waits.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/core/clock.hpp"
#include "plugin/core/random.hpp"
#include "tests/simulation/probes.hpp"

namespace sendonce::sim {

// Thrown out of a port call: the process dies here.
struct Crash {
  std::string where{};
};

// A law of docs/guarantees.md does not hold (1 to 14), or another property (0).
struct Broken {
  int law = 0;
  std::string text{};
};
[[noreturn]] void broken(int law, std::string text);

enum class Edge : std::uint8_t { before, after };

class World final : public Clock {
 public:
  World(std::uint64_t seed, bool trace) : random_(seed), trace_(trace) {}

  // ---- time --------------------------------------------------------------------------------
  [[nodiscard]] WallTime wall() const override;  // of the machine that sendonce runs on
  [[nodiscard]] MonoTime mono() const override { return mono_; }
  [[nodiscard]] WallTime true_wall() const;  // of everybody else's
  void step_wall(Duration by);
  void set_drift(double rate);          // 0: none; 1e-4: a tenth of a millisecond a second
  void right_clock();                   // as NTP does in the end
  std::function<void()> before_step{};  // of the wall clock, by either

  void after(Duration delay, std::function<void()> what);
  void run_until(MonoTime until);
  // Runs the next event if it is due by `until`, and is then at its time; else is at `until`.
  bool run_next(MonoTime until);

  // ---- chance ------------------------------------------------------------------------------
  [[nodiscard]] Random& random() { return random_; }
  bool chance(double probability) { return random_.chance(probability); }
  std::uint64_t below(std::uint64_t n) { return random_.below(n); }
  Duration between(Duration least, Duration most) { return least + random_.jitter(most - least); }

  // ---- the process dies or stands still at a port call ---------------------------------------
  // At the `gates`th port call from here; with a place, at the `gates`th of that kind.
  struct Place {
    Port port{};
    Edge edge = Edge::before;
  };
  void arm_crash(std::uint64_t gates, std::optional<Place> place) {
    gates_to_crash_ = gates;
    crash_place_ = place;
  }
  void arm_stall(std::uint64_t gates, Duration length);
  void disarm() { gates_to_crash_ = gates_to_stall_ = 0; }
  void gate(Port port, Edge edge);
  [[nodiscard]] std::uint64_t gates_passed() const { return gates_passed_; }

  // ---- the story ---------------------------------------------------------------------------
  [[nodiscard]] bool tracing() const { return trace_; }
  void tell(std::string_view who, const std::string& what) const;
  void hit(Probe probe) { ++probes_.hits[static_cast<std::size_t>(probe)]; }
  [[nodiscard]] const Probes& probes() const { return probes_; }

 private:
  struct Event {
    MonoTime at{};
    std::uint64_t number = 0;
    std::function<void()> what{};
    friend bool operator>(const Event& a, const Event& b) {
      return a.at != b.at ? a.at > b.at : a.number > b.number;
    }
  };

  MonoTime mono_{std::chrono::hours(1)};
  Duration wall_offset_{0};
  double drift_ = 0;
  MonoTime drifts_since_{};
  Random random_;
  bool trace_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_{};
  std::uint64_t numbers_ = 0;
  std::uint64_t gates_to_crash_ = 0;
  std::optional<Place> crash_place_{};
  std::uint64_t gates_to_stall_ = 0;
  std::uint64_t gates_passed_ = 0;
  Duration stall_{};
  Probes probes_{};
};

// "12.345 s", for the story.
[[nodiscard]] std::string text_of(Duration d);

}  // namespace sendonce::sim
