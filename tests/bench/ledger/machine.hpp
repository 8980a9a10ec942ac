// What a figure depends on beside the code: the disk, and who else is at work.
#pragma once

#include <string>

namespace sendonce::bench {

struct CpuUse {
  double own = 0;  // seconds of this process
  double all = 0;  // seconds of the whole machine, idle not counted
};
[[nodiscard]] CpuUse cpu_use();

[[nodiscard]] std::string file_system_of(const std::string& directory);
// Median of writing 4 KiB over and over and syncing it, microseconds.
[[nodiscard]] double fdatasync_p50_us(const std::string& directory);

}  // namespace sendonce::bench
