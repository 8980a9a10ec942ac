// The composition root: owns every part of a running sidecar, starts them in order and stops them
// in reverse. Threads: the engine's, the ledger's, the broker's puller, the admin server's, and one
// for [metrics] listen.
//
// All calls from one thread at a time, but for those marked [any].
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "config/loader.hpp"
#include "config/reload.hpp"
#include "ledger/audit.hpp"
#include "ledger/ledger_thread.hpp"
#include "ledger/lmdb/open.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/module/admin/admin_server.hpp"
#include "plugin/module/admin_verbs.hpp"
#include "plugin/module/compose.hpp"
#include "plugin/module/engine_thread.hpp"
#include "plugin/module/expiry.hpp"
#include "plugin/module/feeds.hpp"
#include "plugin/module/host_errand.hpp"
#include "plugin/module/host_events.hpp"
#include "plugin/module/pauses.hpp"
#include "plugin/transport/h2/h2_transport.hpp"

namespace sendonce {

class Runtime {
 public:
  // `path` is the configuration file, read already into `config`. `admin_fd`: the host's listening
  // socket, which stays the host's; -1: the configured one is made. Starts nothing.
  Runtime(std::string path, Config config, std::string credentials_dir, int admin_fd,
          const Clock& clock, HostEvents& events);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Opens the ledger and starts the threads. On an error nothing is left running.
  [[nodiscard]] Result<void> start();
  [[nodiscard]] Result<void> reload();
  // True: nothing was left in flight. Stops in both cases.
  [[nodiscard]] bool drain(Duration timeout);
  void stop();

  [[nodiscard]] Duration configured_drain() const { return config_.instance.drain; }
  // Reads the parts' state and tells the host when it has changed; carries out a reload that was
  // asked for on the admin socket. False: a thread is stuck.
  [[nodiscard]] bool check();
  [[nodiscard]] std::string status_json() const;   // [any]
  [[nodiscard]] std::string metrics_text() const;  // [any] as of at most half a second ago

 private:
  struct Parts;

  [[nodiscard]] Result<void> make_parts(Parts& parts);
  [[nodiscard]] Result<void> start_parts();
  [[nodiscard]] Result<void> start_admin();
  [[nodiscard]] Result<void> start_listener();
  [[nodiscard]] InstanceState judge() const;
  [[nodiscard]] Result<void> apply_reload();
  void look_at_files();
  [[nodiscard]] Result<void> count_reload();
  void note_reload(AuditEntry entry, const Result<void>& outcome);
  [[nodiscard]] Result<void> reload_as_asked();
  [[nodiscard]] Result<void> handle(const AdminRequest& request, AdminReply& reply);
  [[nodiscard]] Result<void> handle_reload(const AdminRequest& request, AdminReply& reply);
  [[nodiscard]] Result<void> handle_person(const AdminRequest& request, AdminReply& reply);
  [[nodiscard]] Result<DeviceHash> device_hash(std::uint16_t provider, const Target& target) const;
  [[nodiscard]] std::vector<HeldDelivery> held_of(LookupHash event) const;
  [[nodiscard]] HttpReply page(const HttpQuestion& question) const;
  [[nodiscard]] HttpReply readiness() const;
  [[nodiscard]] std::vector<LaneState> lanes() const;

  std::string path_;
  Config config_;
  std::string credentials_dir_;
  int admin_fd_;
  const Clock& clock_;
  HostEvents& events_;
  WallTime started_{};
  mutable std::mutex mutex_{};  // over parts_, config_, file_ends_, metrics_, against [any] calls
  std::unique_ptr<Parts> parts_{};
  HostErrand reload_errand_{};
  std::vector<FileEnd> file_ends_{};
  MonoTime files_looked_at_{};
  std::vector<Change> changes_{};  // of the latest reload that was applied; under mutex_
  std::atomic<std::uint64_t> reloads_applied_{0};
  std::atomic<std::uint64_t> reloads_refused_{0};
  struct Rendered {
    std::string text{};
    MonoTime at{};
  };
  mutable std::optional<Rendered> metrics_{};  // many who ask cost one rendering
  AttemptFeed attempts_;
  Pauses pauses_{};  // admin thread, once started
};

}  // namespace sendonce
