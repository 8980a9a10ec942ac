// The world of `sendonce demo`: a private nats-server, the fake provider and the daemon, each a
// real process on a free loopback port, all below one directory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "config/schema.hpp"
#include "plugin/broker/nats/publisher.hpp"
#include "plugin/cli/commands.hpp"
#include "plugin/core/error.hpp"
#include "tests/support/nats_fixture.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_dir.hpp"

namespace sendonce::cli {

struct WorldOptions {
  std::string sendonced{};
  std::string fakeprov{};
  std::string script{};   // faults of the provider (TOML)
  std::string classes{};  // the [class.*] part of the configuration
  bool record = true;
  bool lenient = false;
  std::uint32_t latency_ms = 0;
  std::uint32_t connections = 1;
  std::uint32_t streams = 500;
  std::string directory{};  // to put everything below; default: the system's temporary one
};

class World {
 public:
  // Everything but the daemon runs; streams and consumers are made.
  [[nodiscard]] static Result<std::unique_ptr<World>> make(const WorldOptions& options);

  [[nodiscard]] Result<void> start_daemon();
  void kill_daemon() { daemon_.kill(); }  // SIGKILL
  [[nodiscard]] bool stop_daemon();       // SIGTERM; false: it did not end well
  [[nodiscard]] bool stop_provider();     // its record is complete afterwards
  [[nodiscard]] bool daemon_runs() { return daemon_.running(); }
  [[nodiscard]] pid_t daemon_pid() const { return daemon_.pid(); }
  [[nodiscard]] pid_t provider_pid() const { return provider_.pid(); }
  [[nodiscard]] pid_t server_pid() { return server_->process().pid(); }

  [[nodiscard]] Result<std::unique_ptr<Publisher>> connect() const;
  // The status of the daemon as JSON.
  [[nodiscard]] Result<std::string> status() const;

  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] std::string path(std::string_view name) const { return (dir_ / name).string(); }
  [[nodiscard]] std::string config_path() const { return path("sendonce.toml"); }
  [[nodiscard]] std::string record_path() const { return path("provider.jsonl"); }
  [[nodiscard]] std::string daemon_log() const { return path("sendonced.log"); }
  [[nodiscard]] std::string log_tail() const;  // of the daemon
  // Ends the processes and leaves the directory where it is.
  void keep();

 private:
  World() = default;
  [[nodiscard]] Result<void> start_provider();
  [[nodiscard]] Result<void> write_config();

  WorldOptions options_{};
  test::TempDir dir_{};
  std::unique_ptr<test::NatsServer> server_{};
  test::Process provider_{};
  test::Process daemon_{};
  std::uint16_t provider_port_ = 0;
  Config config_{};
};

// Beside the running program, else in PATH.
[[nodiscard]] std::string beside_us(std::string_view program);

}  // namespace sendonce::cli
