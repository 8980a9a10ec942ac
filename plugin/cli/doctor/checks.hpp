// The doctor's examinations. Each reads, and changes nothing: no file, stream, consumer or row, and
// a provider sees a handshake and no request.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/finding.hpp"
#include "config/schema.hpp"
#include "plugin/cli/doctor/report.hpp"
#include "plugin/core/clock.hpp"

namespace sendonce::cli {

// What one examination learns and another needs.
struct Patient {
  std::string path{};  // of the configuration
  Config config{};
  KeyPositions positions{};
  std::string credentials_dir{};
  WallTime now{};
  std::string ledger_id{};  // empty: there is none, or it cannot be read
  bool daemon_runs = false;

  // A command of ours with the same configuration.
  [[nodiscard]] std::string ours(std::string_view command) const;
  // Opens the file that has the provider's table, at its line.
  [[nodiscard]] std::string edit_provider(std::string_view name, std::string_view keys = {}) const;
  // How the daemon is told of a change: by reload, or by a restart of the service.
  [[nodiscard]] std::string restart() const { return "systemctl restart sendonced"; }
};

// Reads the configuration into the patient. False: it cannot be used at all.
[[nodiscard]] bool examine_config(Patient& patient, Report& report);
void examine_credentials(const Patient& patient, Report& report);
void examine_clock(const Patient& patient, Report& report);
// The ledger's files; rows and map are read from them while no daemon has them open.
void examine_ledger(Patient& patient, Report& report);
// What the daemon says of itself: state, classes, holds, and of its ledger.
void examine_daemon(Patient& patient, Report& report);
void examine_nats(Patient& patient, Report& report);
void examine_providers(const Patient& patient, Report& report);

// How a map that runs full is made larger: the commands.
[[nodiscard]] Repair larger_map(const Patient& patient);
// Judges how full a map is; claims stop at 85 %.
void judge_map(const Patient& patient, std::uint64_t used, std::uint64_t map, bool claims_stopped,
               Report& report);

}  // namespace sendonce::cli
