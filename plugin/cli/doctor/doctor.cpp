// `sendonce doctor`: what is wrong, and the command that repairs it.
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <unistd.h>

#include "config/credentials.hpp"
#include "plugin/cli/commands.hpp"
#include "plugin/cli/doctor/checks.hpp"

namespace sendonce::cli {
namespace {

constexpr const char* kCredentialStore = "/etc/credstore";

// Root beside the packaged service: its credentials are where its unit takes them from.
void find_credentials() {
  std::error_code ignored;
  if (credentials_directory().empty() && std::filesystem::is_directory(kCredentialStore, ignored))
    ::setenv("CREDENTIALS_DIRECTORY", kCredentialStore, 0);  // NOLINT(concurrency-mt-unsafe)
}

bool wants_colours() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing else runs yet
  return ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
}

}  // namespace

int doctor(const Common& common, const DoctorOptions& options) {
  find_credentials();
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
