// A real nats-server for a test, with JetStream on a store of its own, that can be stopped, killed,
// frozen and started again on the same port and store.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "plugin/core/error.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_dir.hpp"

namespace sendonce::test {

struct NatsOptions {
  bool jetstream = true;
  std::string domain{};  // of JetStream; empty: none
  std::string user{};    // empty: no authentication
  std::string password{};
  std::string extra{};  // configuration text, appended as it is
};

// One thread at a time. $SENDONCE_NATS_SERVER names the program, else `nats-server` is looked up.
class NatsServer {
 public:
  // Blocks until the server has answered a connection with its INFO line (at most 20 s).
  [[nodiscard]] static Result<NatsServer> start(NatsOptions options = {});

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  // nats://127.0.0.1:PORT, without credentials.
  [[nodiscard]] std::string url() const;
  // host:port, for configuration keys that take no scheme.
  [[nodiscard]] std::string address() const;
  [[nodiscard]] std::string log() const;  // what the server has written so far
  [[nodiscard]] Process& process() noexcept { return process_; }

  void stop();       // SIGTERM: an orderly end
  void kill();       // SIGKILL
  void freeze();     // SIGSTOP: connections stay open, nothing answers
  void thaw();       // SIGCONT
  void lame_duck();  // SIGUSR2: the server asks its clients to go, then ends
  // Starts it again on the same port and store; it is killed before if it still runs.
  [[nodiscard]] Result<void> restart();
  // More configuration text in the place of NatsOptions::extra, from the next restart() on.
  void configure(std::string extra) { options_.extra = std::move(extra); }
  // The store is deleted: with restart() this is a server that has forgotten everything.
  void wipe_store();

 private:
  NatsServer() = default;
  [[nodiscard]] std::string configuration() const;
  [[nodiscard]] Result<void> launch();
  [[nodiscard]] bool answers() const;
  [[nodiscard]] std::uint16_t port_from_file() const;

  NatsOptions options_{};
  TempDir dir_{};
  std::uint16_t port_ = 0;
  Process process_{};  // last: ends before its directory goes
};

}  // namespace sendonce::test
