#include "tests/bench/ledger/machine.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "ledger/descriptor.hpp"
#include "plugin/core/clock.hpp"

namespace sendonce::bench {

CpuUse cpu_use() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  CpuUse use;
  use.own = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  std::ifstream stat("/proc/stat");
  std::string word;
  stat >> word;
  std::array<double, 8> ticks{};  // user nice system idle iowait irq softirq steal
  for (double& t : ticks) stat >> t;
  use.all = (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) /
            static_cast<double>(::sysconf(_SC_CLK_TCK));
  return use;
}

std::string file_system_of(const std::string& directory) {
  struct statfs fs{};
  if (::statfs(directory.c_str(), &fs) != 0) return "?";
  switch (static_cast<std::uint32_t>(fs.f_type)) {
    case 0xEF53:
      return "ext4";
    case 0x58465342:
      return "xfs";
    case 0x9123683E:
      return "btrfs";
    case 0x01021994:
      return "tmpfs (no disk: figures mean nothing)";
    default:
      return "type " + std::to_string(fs.f_type);
  }
}

double fdatasync_p50_us(const std::string& directory) {
  const std::string path = directory + "/fdatasync";
  const Descriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const std::vector<char> page(4096, 'x');
  const auto clock = make_system_clock();
  std::vector<double> times;
  for (int i = 0; i < 200; ++i) {
    const MonoTime from = clock->mono();
    if (::pwrite(fd.get(), page.data(), page.size(), 0) != 4096 || ::fdatasync(fd.get()) != 0)
      return 0;
    times.push_back(std::chrono::duration<double, std::micro>(clock->mono() - from).count());
  }
  ::unlink(path.c_str());
  std::ranges::nth_element(times, times.begin() + 100);
  return times[100];
}

}  // namespace sendonce::bench
