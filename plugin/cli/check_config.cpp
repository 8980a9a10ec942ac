#include <cstdio>

#include <sysexits.h>

#include "config/effective.hpp"
#include "config/estimate.hpp"
#include "config/reference.hpp"
#include "plugin/cli/commands.hpp"
#include "plugin/cli/output.hpp"

namespace sendonce::cli {
namespace {

constexpr int kFindings = 2;  // sysexits has no code for "fine, but"

std::string mebibytes(std::uint64_t bytes) {
  return std::to_string((bytes + (1U << 20U) - 1) >> 20U);
}

std::string seconds_text(Duration d) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", std::chrono::duration<double>(d).count());
  return text;
}

void print_estimates(const Config& config, double rate) {
  Table table({"class", "rate/s", "rows", "file MiB", "index MiB", "start s"});
  for (const ClassEstimate& e : estimate(config, rate))
    table.add({e.name, std::to_string(static_cast<std::uint64_t>(e.rate_per_second)),
               std::to_string(e.rows), mebibytes(e.file_bytes), mebibytes(e.index_bytes),
               seconds_text(e.start_warm)});
  std::printf("%s", table.text().c_str());
}

}  // namespace

int check_config(const Common& common, const CheckConfigOptions& options) {
  if (options.reference) {
    std::printf("%s", config_reference().c_str());
    return EX_OK;
  }
  const LoadResult loaded = load_config(common.config, Surroundings::look);
  for (const Finding& f : loaded.findings) std::fprintf(stderr, "%s\n", to_text(f).c_str());
  if (!loaded.config) return EX_CONFIG;
  if (options.print_effective) {
    std::printf("%s", effective_toml(*loaded.config).c_str());
  } else {
    print_estimates(*loaded.config, options.rate_per_second);
    std::printf("%s: %s\n", common.config.c_str(),
                loaded.findings.empty() ? "no findings" : "usable, with warnings");
  }
  return options.strict && !loaded.findings.empty() ? kFindings : EX_OK;
}

}  // namespace sendonce::cli
