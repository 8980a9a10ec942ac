// The world of `sendonce demo`, and of the tests of the daemon: a private nats-server, the fake
// provider and the daemon, each a real process on a free loopback port, all below one directory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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
  // A provider that runs already and serves both kinds, and the directory with its ca.pem, apns.p8
  // and service-account.json. 0: sendonce-fakeprov is started, and makes them.
  std::uint16_t provider_port = 0;
  std::string credentials{};
  std::string state_dir{};  // default: below the directory
  std::string map_size = "4GiB";
  std::string drain = "10s";
  std::string call_total = "3s";
  std::string provider_options{};  // more lines for both [provider.*]
  std::string log_level = "info";  // of the daemon
  bool setup = true;               // makes the ledger, streams and consumers
};

class World {
 public:
  // Everything but the daemon runs; streams and consumers are made.
  [[nodiscard]] static Result<std::unique_ptr<World>> make(const WorldOptions& options);

  // `environment`: "NAME=value", added to ours.
  [[nodiscard]] Result<void> start_daemon(std::vector<std::string> environment = {});
  void kill_daemon() { daemon_.kill(); }  // SIGKILL
  [[nodiscard]] bool stop_daemon();       // SIGTERM; false: it did not end well
  [[nodiscard]] bool stop_provider();     // its record is complete afterwards
  [[nodiscard]] bool daemon_runs() { return daemon_.running(); }
  [[nodiscard]] test::Process& daemon() { return daemon_; }
  [[nodiscard]] test::NatsServer& server() { return *server_; }
  [[nodiscard]] pid_t daemon_pid() const { return daemon_.pid(); }
  [[nodiscard]] pid_t provider_pid() const { return provider_.pid(); }
  [[nodiscard]] pid_t server_pid() { return server_->process().pid(); }

  [[nodiscard]] Result<std::unique_ptr<Publisher>> connect() const;
  // Messages that the server has not delivered yet, or that are not acked, of all classes.
  [[nodiscard]] Result<std::uint64_t> unsettled(Publisher& client) const;
  // Every event that the ledger knows of is on its stream.
  [[nodiscard]] bool told() const;
  // The status of the daemon as JSON.
  [[nodiscard]] Result<std::string> status() const;

  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] std::string path(std::string_view name) const { return (dir_ / name).string(); }
  [[nodiscard]] std::string state_dir() const {
    return options_.state_dir.empty() ? path("state") : options_.state_dir;
  }
  [[nodiscard]] std::string config_path() const { return path("sendonce.toml"); }
  [[nodiscard]] std::string record_path() const { return path("provider.jsonl"); }
  [[nodiscard]] std::string daemon_log() const { return path("sendonced.log"); }
  // Replaces the configuration file; the daemon knows nothing of it yet.
  void write_config(std::string_view text) const { dir_.write("sendonce.toml", text); }
  [[nodiscard]] std::string log_tail() const;  // of the daemon
  // Ends the processes and leaves the directory where it is.
  void keep();

 private:
  World() = default;
  [[nodiscard]] Result<void> start_provider();
  [[nodiscard]] Result<void> make_config();
  [[nodiscard]] std::string config_text() const;

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
