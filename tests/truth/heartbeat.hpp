// Notices when the machine stands still, or when somebody else stops a process of the run: what
// times out then is no fault of the daemon, and has to be told from one.
#pragma once

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <sys/types.h>

#include "plugin/cli/demo/audit.hpp"

namespace sendonce::truth {

class Heartbeat {
 public:
  Heartbeat();
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  // The processes to look at from now on.
  void watch(pid_t daemon, pid_t provider, pid_t server);
  // Every time that one of them, or all, stood still.
  [[nodiscard]] std::vector<cli::Disturbance> stop();

 private:
  void beat();
  [[nodiscard]] bool stopped_by_somebody() const;

  std::atomic<bool> stopping_{false};
  std::array<std::atomic<pid_t>, 3> watched_{};
  std::vector<cli::Disturbance> stills_{};  // of the thread, until it is joined
  std::thread thread_{};                    // last: it uses the others
};

}  // namespace sendonce::truth
