// sendonced: the thin host of libsendonce under a service manager. Everything goes through the C
// interface, as in any other host.
//
// Signals: SIGTERM, SIGINT drain and stop; a second one stops at once. SIGHUP reloads; a bad
// configuration is refused and the old one stays. They are taken from a signalfd, so no handler
// runs.
#include <array>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <poll.h>
#include <sys/signalfd.h>
#include <sysexits.h>
#include <unistd.h>

#include "plugin/cli/usage.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/log.hpp"
#include "plugin/host/service_manager.hpp"
#include "sendonce/abi/host.h"

// jemalloc reads it when the process starts. One arena: what one thread allocates another frees
// (docs/adr/0010-jemalloc-in-the-daemon.md).
extern "C" [[gnu::visibility("default")]] const char* malloc_conf;
const char* malloc_conf = "narenas:1";

namespace sendonce {
namespace {

// [instance] drain is at most 10 minutes, and what is flushed after it takes seconds. The library
// ends by itself when its own time is over; a unit's TimeoutStopSec must not cut calls off.
constexpr Duration kLongestStop = std::chrono::minutes(11);

struct Options {
  std::string config = "/etc/sendonce/sendonce.toml";
  std::string log_format = "logfmt";
  std::string log_level = "info";
};

std::string_view view(const sendonce_str& s) {
  return {s.data, s.size};
}

class Text {
 public:
  [[nodiscard]] sendonce_text* get() { return &text_; }
  [[nodiscard]] std::string str() const { return text_.size == 0 ? std::string() : buffer_.data(); }

 private:
  std::array<char, 4096> buffer_{};
  sendonce_text text_{buffer_.data(), buffer_.size(), 0};
};

std::uint32_t log_flags(Level least) {
  switch (least) {
    case Level::debug:
      return SENDONCE_HOST_LOG_DEBUG;
    case Level::info:
      return 0;
    case Level::warn:
      return SENDONCE_HOST_LOG_WARN;
    case Level::error:
      return SENDONCE_HOST_LOG_ERROR;
  }
  return 0;
}

int exit_code_of(sendonce_rc rc) {
  switch (rc) {
    case SENDONCE_OK:
      return EX_OK;
    case SENDONCE_E_INVALID:
      return EX_CONFIG;
    case SENDONCE_E_UNAVAILABLE:
      return EX_UNAVAILABLE;
    case SENDONCE_E_EXHAUSTED:
    case SENDONCE_E_CORRUPT:
      return EX_IOERR;
    case SENDONCE_E_DENIED:
      return EX_NOPERM;
    case SENDONCE_E_BUSY:
      return EX_TEMPFAIL;
    default:
      return EX_SOFTWARE;
  }
}

class Daemon {
 public:
  Daemon(Options options, const sendonce_module_api& api)
      : options_(std::move(options)),
        api_(api),
        log_(make_stderr_log(level(), format(), ::getenv("JOURNAL_STREAM") != nullptr)),
        manager_(ServiceManager::from_environment()) {}

  int run();

 private:
  static void on_log(void* self, const sendonce_log_event* event);
  static void on_state(void* self, const sendonce_state_event* event);
  [[nodiscard]] Level level() const;
  [[nodiscard]] LogFormat format() const {
    return options_.log_format == "json" ? LogFormat::json : LogFormat::logfmt;
  }
  int failed(std::string_view event, sendonce_rc rc, const Text& error);
  int serve(int signals);
  void reload();
  int stop(int signals);

  Options options_;
  const sendonce_module_api& api_;
  std::unique_ptr<Log> log_;
  ServiceManager manager_;
  std::unique_ptr<Clock> clock_ = make_system_clock();
  sendonce_instance* instance_ = nullptr;
  std::optional<int> failed_with_{};
};

Level Daemon::level() const {
  for (const Level l : {Level::debug, Level::info, Level::warn, Level::error})
    if (name(l) == options_.log_level) return l;
  return Level::info;
}

void Daemon::on_log(void* self, const sendonce_log_event* event) {
  std::vector<Field> fields;
  for (std::uint64_t i = 0; i < event->field_count; ++i)
    fields.emplace_back(view(event->fields[i].key), view(event->fields[i].value));
  auto& log = *static_cast<Daemon*>(self)->log_;
  const auto of = static_cast<Level>(event->level);
  if (log.enabled(of)) log.write(of, view(event->event), fields);
}

void Daemon::on_state(void* self, const sendonce_state_event* event) {
  auto& me = *static_cast<Daemon*>(self);
  if (event->state == SENDONCE_STATE_FAILED) me.failed_with_ = event->exit_code;
  me.manager_.status(view(event->reason));
}

int Daemon::failed(std::string_view event, sendonce_rc rc, const Text& error) {
  log_->error(event, {{"error", error.str()}});
  return exit_code_of(rc);
}

int Daemon::run() {
  sigset_t taken;
  sigemptyset(&taken);
  for (const int s : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&taken, s);
  sigprocmask(SIG_BLOCK, &taken, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  const int signals = ::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);

  sendonce_host host{};
  host.struct_size = sizeof host;
  host.abi_minor = SENDONCE_ABI_MINOR;
  host.flags = log_flags(level());
  host.admin_fd = -1;
  host.name = "sendonced";
  host.ctx = this;
  host.log = on_log;
  host.state = on_state;
  Text error;
  sendonce_rc rc = api_.open(&host, options_.config.c_str(), &instance_, error.get());
  if (rc != SENDONCE_OK) return failed("daemon.config_refused", rc, error);
  rc = api_.start(instance_, error.get());
  (void)api_.pump(instance_, 1000);
  const int code = rc == SENDONCE_OK ? serve(signals) : failed("daemon.start_failed", rc, error);
  api_.close(instance_);
  return code;
}

int Daemon::serve(int signals) {
  constexpr int kPumpMs = 250;
  MonoTime fed{};
  manager_.ready("started");
  while (!failed_with_) {
    pollfd waiting{signals, POLLIN, 0};
    (void)::poll(&waiting, 1, kPumpMs);
    signalfd_siginfo info{};
    if (::read(signals, &info, sizeof info) == sizeof info) {
      if (info.ssi_signo != SIGHUP) return stop(signals);
      reload();
    }
    const bool progress = api_.pump(instance_, 1000) == SENDONCE_OK;
    const auto patience = manager_.watchdog();
    if (progress && patience && clock_->mono() - fed >= *patience) {
      fed = clock_->mono();
      manager_.alive();
    }
  }
  // One class is refused; the calls of the others need not end in doubt. A lost ledger is another
  // matter: there nothing can be recorded any more.
  const int code = *failed_with_;
  if (code == EX_CONFIG) static_cast<void>(stop(signals));
  return code;
}

void Daemon::reload() {
  Text error;
  manager_.reloading(clock_->mono());
  const sendonce_rc rc = api_.reload(instance_, error.get());
  if (rc == SENDONCE_OK) {
    log_->info("daemon.reloaded");
    manager_.ready("reloaded");
  } else {
    failed("daemon.reload_refused", rc, error);
    manager_.ready("reload refused, the old configuration stays");
  }
}

// A second signal ends the process where it stands: the ledger is made for that.
int Daemon::stop(int signals) {
  manager_.stopping(kLongestStop);
  log_->info("daemon.stopping");
  ::close(signals);
  sigset_t freed;
  sigemptyset(&freed);
  for (const int s : {SIGTERM, SIGINT}) sigaddset(&freed, s);
  sigprocmask(SIG_UNBLOCK, &freed, nullptr);
  Text error;
  const sendonce_rc rc = api_.drain(instance_, SENDONCE_DRAIN_CONFIGURED, error.get());
  (void)api_.pump(instance_, 100'000);
  if (rc != SENDONCE_OK) log_->warn("daemon.stopped_in_doubt", {{"error", error.str()}});
  log_->info("daemon.stopped");
  return EX_OK;
}

int main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "sendonced: delivers notifications from NATS JetStream, at most once per key\n\n"
      "example: sendonced --config /etc/sendonce/sendonce.toml",
      "sendonced");
  app.add_option("-c,--config", options.config, "configuration file")->capture_default_str();
  app.add_option("--log-format", options.log_format, "logfmt or json")
      ->check(CLI::IsMember({"logfmt", "json"}))
      ->capture_default_str();
  app.add_option("--log-level", options.log_level, "debug, info, warn or error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  const sendonce_module_api* api = sendonce_module_v1(SENDONCE_ABI_MINOR);
  if (api == nullptr) {
    std::fprintf(stderr, "sendonced: libsendonce is older than this program\n");
    return EX_SOFTWARE;
  }
  app.set_version_flag("--version", std::string("sendonced ") + api->version);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return cli::usage_failed(app, e);
  }
  return Daemon(std::move(options), *api).run();
}

}  // namespace
}  // namespace sendonce

int main(int argc, char** argv) {
  return sendonce::main(argc, argv);
}
