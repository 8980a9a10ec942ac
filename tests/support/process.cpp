#include "tests/support/process.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/core/assert.hpp"

namespace sendonce::test {
namespace {

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (std::string& s : strings) out.push_back(s.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> merged_environment(const std::vector<std::string>& added) {
  std::vector<std::string> out = added;  // getenv finds the first of two
  for (char** entry = environ; *entry != nullptr; ++entry) out.emplace_back(*entry);
  return out;
}

int open_output(const std::filesystem::path& file) {
  if (file.empty()) return ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  return ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

struct ChildPlan {
  const char* program = nullptr;
  char** argv = nullptr;
  char** envp = nullptr;
  int out = -1;
  int err = -1;
  int report = -1;  // gets errno when the program cannot be executed
  pid_t parent = -1;
};

// Between fork and exec: only calls that are safe in a signal handler.
[[noreturn]] void become(const ChildPlan& plan) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != plan.parent) ::_exit(127);  // the parent died before prctl
  sigset_t none;
  ::sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);  // NOLINT(concurrency-mt-unsafe): one thread after fork
  ::dup2(plan.out, STDOUT_FILENO);
  ::dup2(plan.err, STDERR_FILENO);
  ::execve(plan.program, plan.argv, plan.envp);
  const int error = errno;
  const ssize_t ignored = ::write(plan.report, &error, sizeof error);
  static_cast<void>(ignored);
  ::_exit(127);
}

Exit exit_of(int status) {
  if (WIFSIGNALED(status)) return {.code = -1, .signal = WTERMSIG(status)};
  return {.code = WEXITSTATUS(status), .signal = 0};
}

}  // namespace

Result<Process> Process::start(const ProcessOptions& options) {
  const std::filesystem::path program = find_program(options.program);
  if (program.empty()) return fail(Errc::unavailable, options.program + ": program not found");
  std::vector<std::string> args = options.args;
  args.insert(args.begin(), options.program);
  std::vector<std::string> environment = merged_environment(options.environment);
  const std::vector<char*> argv = pointers(args);
  const std::vector<char*> envp = pointers(environment);
  const int out = open_output(options.output);
  if (out < 0) return fail(Errc::unavailable, options.output.string() + ": cannot be written");
  const int err =
      options.errors.empty() ? ::fcntl(out, F_DUPFD_CLOEXEC, 3) : open_output(options.errors);
  if (err < 0) {
    ::close(out);
    return fail(Errc::unavailable, options.errors.string() + ": cannot be written");
  }
  int report[2] = {-1, -1};
  SO_ASSERT(::pipe2(report, O_CLOEXEC) == 0);
  const ChildPlan plan{.program = program.c_str(),
                       .argv = const_cast<char**>(argv.data()),
                       .envp = const_cast<char**>(envp.data()),
                       .out = out,
                       .err = err,
                       .report = report[1],
                       .parent = ::getpid()};
  const pid_t pid = ::fork();
  if (pid == 0) become(plan);
  ::close(report[1]);
  ::close(out);
  ::close(err);
  int error = pid < 0 ? errno : 0;
  if (pid > 0 && ::read(report[0], &error, sizeof error) != sizeof error) error = 0;
  ::close(report[0]);
  if (error != 0) {
    if (pid > 0) ::waitpid(pid, nullptr, 0);
    return fail(Errc::unavailable, program.string() + ": " + ::strerrordesc_np(error));
  }
  // By number: <sys/pidfd.h> of glibc 2.36 declares its functions without C linkage.
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U));
  SO_ASSERT(pidfd >= 0);
  return Process(pid, pidfd);
}

Process::~Process() {
  close();
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::exchange(other.pidfd_, -1)),
      exit_(std::exchange(other.exit_, std::nullopt)) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    close();
    pid_ = std::exchange(other.pid_, -1);
    pidfd_ = std::exchange(other.pidfd_, -1);
    exit_ = std::exchange(other.exit_, std::nullopt);
  }
  return *this;
}

void Process::close() noexcept {
  if (pidfd_ < 0) return;
  kill();
  ::close(std::exchange(pidfd_, -1));
}

bool Process::running() {
  return pid_ > 0 && !wait(std::chrono::milliseconds(0));
}

void Process::signal(int number) {
  if (running()) ::syscall(SYS_pidfd_send_signal, pidfd_, number, nullptr, 0U);
}

void Process::freeze() {
  signal(SIGSTOP);
}
void Process::thaw() {
  signal(SIGCONT);
}

void Process::kill() {
  signal(SIGKILL);
  if (pid_ > 0) SO_ASSERT(wait(std::chrono::minutes(1)).has_value());
}

std::optional<Exit> Process::terminate(std::chrono::milliseconds within) {
  signal(SIGTERM);
  std::optional<Exit> exit = wait(within);
  if (!exit) kill();
  return exit;
}

std::optional<Exit> Process::wait(std::chrono::milliseconds within) {
  if (exit_ || pid_ <= 0) return exit_;
  pollfd ended{.fd = pidfd_, .events = POLLIN, .revents = 0};
  int ready = 0;
  do {
    ready = ::poll(&ended, 1, static_cast<int>(within.count()));
  } while (ready < 0 && errno == EINTR);
  if (ready <= 0) return std::nullopt;
  int status = 0;
  SO_ASSERT(::waitpid(pid_, &status, 0) == pid_);
  exit_ = exit_of(status);
  return exit_;
}

std::filesystem::path find_program(std::string_view name) {
  if (name.find('/') != std::string_view::npos) return name;
  const char* path = ::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nobody calls setenv
  std::string places = path == nullptr ? "/usr/bin:/bin" : path;
  places += ":/usr/sbin:/usr/local/sbin:/sbin";
  std::string_view rest = places;
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::filesystem::path candidate = std::filesystem::path(rest.substr(0, colon)) / name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    rest = colon == std::string_view::npos ? std::string_view{} : rest.substr(colon + 1);
  }
  return {};
}

}  // namespace sendonce::test
