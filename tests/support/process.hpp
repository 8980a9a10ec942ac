// A child process that a test owns: it dies with the object, and with the thread that started it.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "plugin/core/error.hpp"

namespace sendonce::test {

struct ProcessOptions {
  std::string program{};                   // a path, or a name looked up in PATH
  std::vector<std::string> args{};         // without argv[0]
  std::vector<std::string> environment{};  // "NAME=value", added to ours
  std::filesystem::path output{};          // stdout, appended; empty: /dev/null
  std::filesystem::path errors{};          // stderr, appended; empty: same as `output`
};

// How a process ended.
struct Exit {
  int code = -1;   // of exit(), when signal is 0
  int signal = 0;  // that ended it
};

// One thread at a time. The kernel sends the child SIGKILL when the *thread* that called start()
// ends (PR_SET_PDEATHSIG), so start children from the test's main thread.
class Process {
 public:
  // Fails `unavailable` when the program cannot be executed.
  [[nodiscard]] static Result<Process> start(const ProcessOptions& options);

  Process() = default;
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] bool running();
  // Sends a signal; nothing happens when the process has ended.
  void signal(int number);
  void freeze();  // SIGSTOP
  void thaw();    // SIGCONT
  // SIGKILL, and waits for the end.
  void kill();
  // SIGTERM, and waits; SIGKILL when it has not ended in time. Empty when it had to be killed.
  std::optional<Exit> terminate(std::chrono::milliseconds within = std::chrono::seconds(10));
  // Empty when it is still running at the deadline.
  std::optional<Exit> wait(std::chrono::milliseconds within = std::chrono::seconds(10));

 private:
  Process(pid_t pid, int pidfd) : pid_(pid), pidfd_(pidfd) {}
  void close() noexcept;

  pid_t pid_ = -1;
  int pidfd_ = -1;  // readable when the process has ended
  std::optional<Exit> exit_{};
};

// The path of a program: $PATH, then /usr/sbin, /usr/local/sbin, /sbin. Empty when not found.
[[nodiscard]] std::filesystem::path find_program(std::string_view name);

}  // namespace sendonce::test
