// Plays a plan: a real nats-server, the real daemon, the fake provider as witness, and the faults.
// What came of it is collected in a tally for the audit (plugin/cli/demo/audit.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugin/cli/demo/audit.hpp"
#include "plugin/cli/demo/tally.hpp"
#include "plugin/cli/demo/traffic.hpp"
#include "plugin/cli/demo/world.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/random.hpp"
#include "tests/support/small_disk.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/truth/heartbeat.hpp"
#include "tests/truth/plan.hpp"

namespace sendonce::truth {

struct PlayOptions {
  Options plan{};
  std::string clock_step{};  // the library to preload for the clock fault
  bool keep = false;         // the directory, with logs, record and ledger
};

class Play {
 public:
  explicit Play(PlayOptions options);

  [[nodiscard]] Result<void> run();

  [[nodiscard]] cli::Tally& tally() { return tally_; }
  [[nodiscard]] const cli::AuditContext& context() const { return context_; }
  // How often each fault was done; the crash points by their names.
  [[nodiscard]] const std::map<std::string, std::uint64_t>& done() const { return done_; }
  [[nodiscard]] const std::vector<std::string>& skipped() const { return skipped_; }
  [[nodiscard]] std::string daemons_last_words() const;
  // Ends the processes; says where the directory is, if it was to be kept.
  std::string close();

 private:
  // A message on the stream, until its deliveries have ended.
  struct Owed {
    std::uint64_t seq = 0;
    std::vector<std::string> refs{};
  };

  Result<void> prepare();
  Result<void> mount_disk(cli::WorldOptions& options);
  Result<void> play_step(const Step& step);
  Result<void> start_daemon(std::vector<std::string> environment = {});
  Result<void> publish(std::uint32_t messages);
  Result<void> publish_one();
  Result<std::uint64_t> store(const cli::Outgoing& message);
  [[nodiscard]] std::uint64_t requests_seen() const;
  void wait_for_requests(std::uint64_t wanted) const;

  // The faults of the processes.
  Result<void> kill(const Step& step);
  Result<void> crash(const Step& step);
  Result<void> stop(const Step& step);
  Result<void> nats(const Step& step);
  Result<void> fill_disk(const Step& step);
  Result<void> step_clock(const Step& step);
  void daemon_died(std::string fault);
  Result<void> look_for_early_acks();

  Result<void> reconnect();
  Result<void> wait_until_settled();
  Result<void> collect();
  void set_clock(Duration offset) const;
  void pass_time(Duration time) const;

  PlayOptions options_;
  Random random_;
  std::unique_ptr<Clock> clock_ = make_system_clock();
  cli::Tally tally_{};
  cli::Traffic traffic_;
  cli::AuditContext context_{};
  test::TempDir dir_{};
  test::SmallDisk disk_{};  // before the world, which is on it
  std::unique_ptr<cli::World> world_{};
  std::unique_ptr<Publisher> client_{};
  std::vector<Owed> owed_{};
  std::vector<cli::Outgoing> again_{};  // to be published once more, later
  std::map<std::string, std::uint64_t> done_{};
  std::vector<std::string> skipped_{};
  std::uint32_t published_ = 0;
  std::uint64_t ids_ = 0;
  bool on_disk_ = false;
  Heartbeat heartbeat_{};
};

}  // namespace sendonce::truth
