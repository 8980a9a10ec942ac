// What every bench needs: CPU time of processes, medians, and the facts of the machine without
// which a figure says nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"

namespace sendonce::cli {

// User and system time so far; empty when the process is gone.
[[nodiscard]] std::optional<Duration> cpu_of(pid_t pid);
[[nodiscard]] Duration cpu_of_this_process();
[[nodiscard]] Duration cpu_of_children();  // that have been waited for
// Anonymous resident memory, in bytes.
[[nodiscard]] std::uint64_t rss_anon_of(pid_t pid);
// Of all processes on this machine, since boot.
[[nodiscard]] Duration cpu_of_machine();

// What this process and the machine have used so far, or between two looks.
struct Usage {
  double own_seconds = 0;    // CPU of this process
  double all_seconds = 0;    // of the whole machine
  double written_bytes = 0;  // by this process, to a disk
  [[nodiscard]] static Usage now();
  friend Usage operator-(const Usage& to, const Usage& from) {
    return {.own_seconds = to.own_seconds - from.own_seconds,
            .all_seconds = to.all_seconds - from.all_seconds,
            .written_bytes = to.written_bytes - from.written_bytes};
  }
};

[[nodiscard]] double median(std::vector<double> values);
// Thousands separated; `digits` behind the point.
[[nodiscard]] std::string number(double value, int digits);

// The [class.*] part of a bench's configuration, with room for `calls` at once and as many more on
// their way in or out.
[[nodiscard]] std::string bench_class(bool events, std::uint64_t calls);

struct MachineFacts {
  unsigned cores = 0;
  std::string file_system{};    // of the directory
  double fdatasync_p50_us = 0;  // the same 4 KiB written and synced
};
[[nodiscard]] Result<MachineFacts> look_at_machine(const std::string& directory);
[[nodiscard]] std::string facts_line(const MachineFacts& facts);

}  // namespace sendonce::cli
