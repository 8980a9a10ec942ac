// What a truth run does, made from its options and seed. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/core/crash_point.hpp"
#include "plugin/core/error.hpp"

namespace sendonce::truth {

// Faults of the processes, each a step of the plan; and of the provider, at work all the time.
enum class Fault : std::uint8_t {
  kill,          // of the daemon, SIGKILL, in mid-flight
  crash_points,  // the daemon kills itself at each named point
  stop,          // SIGSTOP of the daemon, longer than its lease
  nats,          // nats-server killed and started again
  disk_full,     // under the ledger
  clock,         // the daemon's wall clock forward, back, right again
  resets,
  goaway,
  stalls,
  status_5xx,
  status_429,
};
inline constexpr std::array<std::string_view, 11> kFaults = {
    "kill",   "crash-points", "stop",   "nats", "disk-full", "clock",
    "resets", "goaway",       "stalls", "5xx",  "429"};

[[nodiscard]] constexpr std::string_view name(Fault fault) {
  return kFaults[static_cast<std::size_t>(fault)];
}

struct Options {
  std::string policy = "both";  // give-up, resend, both
  std::uint32_t kills = 20;
  std::uint32_t messages = 3'000;
  std::vector<Fault> faults{};
  std::uint64_t seed = 1;

  [[nodiscard]] bool has(Fault fault) const;
};

// Comma-separated names, or "all". invalid: names them all.
[[nodiscard]] Result<std::vector<Fault>> parse_faults(std::string_view list);

struct Step {
  Fault fault = Fault::kill;
  CrashPoint point{};  // of crash_points
  std::uint32_t passes = 1;
  std::uint32_t messages = 0;  // published while it is being prepared
  // How much of that the provider has to see before it happens: in mid-flight.
  std::uint32_t requests = 0;
};

// Every step in the order of the seed; their messages add up to those of the options.
[[nodiscard]] std::vector<Step> make_plan(const Options& options);

// The [class.*] part of the configuration and the provider's script.
[[nodiscard]] std::string classes_of(const Options& options);
[[nodiscard]] std::string script_of(const Options& options);

}  // namespace sendonce::truth
