#include "tests/truth/heartbeat.hpp"

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include <poll.h>

#include "plugin/core/clock.hpp"

namespace sendonce::truth {
namespace {

using std::chrono::milliseconds;

constexpr int kBeatMs = 20;
constexpr Duration kStill = milliseconds(500);
constexpr Duration kWakes = milliseconds(500);  // what comes late comes now

// By SIGSTOP: the letter after the name in parentheses (proc(5)).
bool is_stopped(pid_t process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(in, line);
  const std::size_t name = line.rfind(") ");
  return name != std::string::npos && name + 2 < line.size() && line[name + 2] == 'T';
}

}  // namespace

Heartbeat::Heartbeat() : thread_([this] { beat(); }) {}

Heartbeat::~Heartbeat() {
  static_cast<void>(stop());
}

void Heartbeat::watch(pid_t daemon, pid_t provider, pid_t server) {
  watched_[0] = daemon;
  watched_[1] = provider;
  watched_[2] = server;
}

std::vector<cli::Disturbance> Heartbeat::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  return std::exchange(stills_, {});
}

bool Heartbeat::stopped_by_somebody() const {
  return std::ranges::any_of(watched_, [](const std::atomic<pid_t>& process) {
    return process.load() > 0 && is_stopped(process.load());
  });
}

void Heartbeat::beat() {
  const std::unique_ptr<Clock> clock = make_system_clock();
  WallTime last = clock->wall();
  while (!stopping_.load()) {
    ::poll(nullptr, 0, kBeatMs);
    const bool stopped = stopped_by_somebody();
    const WallTime now = clock->wall();
    if (stopped || now - last > kStill) {
      const bool goes_on = !stills_.empty() && stills_.back().to >= last;
      if (!goes_on) stills_.push_back({.fault = "stood still", .from = last});
      stills_.back().to = now + kWakes;
    }
    last = now;
  }
}

}  // namespace sendonce::truth
