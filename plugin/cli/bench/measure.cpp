#include "plugin/cli/bench/measure.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "plugin/core/clock.hpp"
#include "plugin/core/unique_fd.hpp"

namespace sendonce::cli {
namespace {

constexpr int kSyncs = 200;

Duration ticks(std::uint64_t n) {
  static const auto kPerSecond = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return std::chrono::nanoseconds(n * 1'000'000'000 / kPerSecond);
}

Duration of(const timeval& t) {
  return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
}

std::string file_system_name(std::uint64_t magic) {
  switch (magic) {
    case 0xEF53:
      return "ext4";
    case 0x58465342:
      return "xfs";
    case 0x9123683E:
      return "btrfs";
    case 0x01021994:
      return "tmpfs (no durability cost is visible here)";
    case 0x794c7630:
      return "overlay";
    default: {
      std::array<char, 32> text{};
      std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(magic));
      return text.data();
    }
  }
}

Result<double> fdatasync_p50(const std::string& directory) {
  const std::string path = directory + "/sendonce-bench.tmp";
  const UniqueFd fd(::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
  if (!fd) return fail(Errc::invalid, directory + ": cannot write there");
  const std::string page(4096, 'x');
  const auto clock = make_system_clock();
  std::vector<double> times;
  for (int i = 0; i < kSyncs; ++i) {
    const MonoTime start = clock->mono();
    // In place: what a database pays for. Appending costs a third more.
    if (::pwrite(fd.get(), page.data(), page.size(), 0) < 0 || ::fdatasync(fd.get()) != 0) break;
    times.push_back(std::chrono::duration<double, std::micro>(clock->mono() - start).count());
  }
  ::unlink(path.c_str());
  if (times.empty()) return fail(Errc::unavailable, directory + ": cannot sync there");
  return median(std::move(times));
}

}  // namespace

std::optional<Duration> cpu_of(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  std::istringstream rest(line.substr(line.rfind(')') + 2));  // the name may hold anything
  std::string skipped;
  for (int i = 0; i < 11; ++i) rest >> skipped;
  std::uint64_t user = 0;
  std::uint64_t system = 0;
  rest >> user >> system;
  return ticks(user + system);
}

Duration cpu_of_this_process() {
  rusage u{};
  ::getrusage(RUSAGE_SELF, &u);
  return of(u.ru_utime) + of(u.ru_stime);
}

Duration cpu_of_children() {
  rusage u{};
  ::getrusage(RUSAGE_CHILDREN, &u);
  return of(u.ru_utime) + of(u.ru_stime);
}

std::uint64_t rss_anon_of(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/status");
  std::string line;
  while (std::getline(in, line))
    if (line.starts_with("RssAnon:")) return std::stoull(line.substr(8)) * 1024;
  return 0;
}

Duration cpu_of_machine() {
  std::ifstream in("/proc/stat");
  std::string name;
  std::array<std::uint64_t, 8> n{};  // user nice system idle iowait irq softirq steal
  in >> name;
  for (auto& v : n) in >> v;
  return ticks(n[0] + n[1] + n[2] + n[5] + n[6]);
}

Usage Usage::now() {
  const auto seconds = [](Duration d) { return std::chrono::duration<double>(d).count(); };
  Usage usage{.own_seconds = seconds(cpu_of_this_process()),
              .all_seconds = seconds(cpu_of_machine())};
  std::ifstream in("/proc/self/io");
  std::string name;
  while (in >> name) {
    std::uint64_t value = 0;
    in >> value;
    if (name == "write_bytes:") usage.written_bytes = static_cast<double>(value);
  }
  return usage;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::string number(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  std::string out = text.data();
  const std::size_t point = std::min(out.find('.'), out.size());
  for (std::size_t at = point; at > 3 && out[at - 4] != '-'; at -= 3) out.insert(at - 3, ",");
  return out;
}

std::string bench_class(bool events, std::uint64_t calls) {
  return std::string(
             "\n[class.bench]\nsubject = \"notify.bench.>\"\nexpires = \"1h\"\nretention = "
             "\"2d\"\n") +
         "claim = \"30s\"\nin_flight = " +
         std::to_string(std::max<std::uint64_t>(2048, 2 * calls)) +
         "\nretry = { horizon = \"30m\" }\n" +
         "ambiguous = { default = \"give-up\" }\nevents = \"" + (events ? "all" : "exceptions") +
         "\"\n";
}

Result<MachineFacts> look_at_machine(const std::string& directory) {
  MachineFacts facts{.cores = std::thread::hardware_concurrency()};
  struct statfs fs{};
  if (::statfs(directory.c_str(), &fs) != 0)
    return fail(Errc::invalid, directory + ": is not there");
  facts.file_system = file_system_name(static_cast<std::uint64_t>(fs.f_type));
  SO_TRY(facts.fdatasync_p50_us, fdatasync_p50(directory));
  return facts;
}

std::string facts_line(const MachineFacts& facts) {
  return std::to_string(facts.cores) + " cores, " + facts.file_system + ", fdatasync p50 " +
         number(facts.fdatasync_p50_us, 0) + " us";
}

}  // namespace sendonce::cli
