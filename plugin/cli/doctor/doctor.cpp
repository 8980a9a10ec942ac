// `sendonce doctor`: what is wrong, and the command that repairs it.
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

#include "config/credentials.hpp"
#include "plugin/cli/commands.hpp"
#include "plugin/cli/doctor/checks.hpp"

namespace sendonce::cli {
namespace {

bool wants_colours() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing else runs yet
  return ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
}

}  // namespace

int doctor(const Common& common, const DoctorOptions& options) {
  Patient patient{.path = common.config,
                  .credentials_dir = credentials_directory(),
                  .now = make_system_clock()->wall()};
  Report report;
  if (examine_config(patient, report)) {
    examine_credentials(patient, report);
    examine_clock(patient, report);
    examine_ledger(patient, report);
    examine_daemon(patient, report);
    examine_nats(patient, report);
    if (!options.no_providers) examine_providers(patient, report);
  }
  std::printf("%s%s", common.json ? report.json().c_str() : report.text(wants_colours()).c_str(),
              common.json ? "\n" : "");
  return report.exit_code(options.strict);
}

}  // namespace sendonce::cli
