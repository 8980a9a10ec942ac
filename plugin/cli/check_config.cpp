#include <cstdio>

#include <nlohmann/json.hpp>
#include <sysexits.h>

#include "config/effective.hpp"
#include "config/estimate.hpp"
#include "config/reference.hpp"
#include "plugin/cli/commands.hpp"
#include "plugin/cli/output.hpp"
#include "plugin/module/check.hpp"

namespace sendonce::cli {
namespace {

constexpr int kFindings = 2;  // sysexits has no code for "fine, but"

using Json = nlohmann::ordered_json;

std::string mebibytes(std::uint64_t bytes) {
  return std::to_string((bytes + (1U << 20U) - 1) >> 20U);
}

double seconds_of(Duration d) {
  return std::chrono::duration<double>(d).count();
}

std::string seconds_text(Duration d) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", seconds_of(d));
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

void print_json(const std::string& path, const LoadResult& loaded, double rate) {
  Json out{{"file", path}, {"usable", loaded.config.has_value()}, {"findings", Json::array()}};
  for (const Finding& f : loaded.findings)
    out["findings"].push_back({{"severity", name(f.severity)},
                               {"file", f.at.file},
                               {"line", f.at.line},
                               {"column", f.at.column},
                               {"field", f.field},
                               {"text", f.text},
                               {"remedy", f.remedy}});
  if (loaded.config) {
    out["classes"] = Json::array();
    for (const ClassEstimate& e : estimate(*loaded.config, rate))
      out["classes"].push_back({{"name", e.name},
                                {"rate_per_second", e.rate_per_second},
                                {"rows", e.rows},
                                {"file_bytes", e.file_bytes},
                                {"index_bytes", e.index_bytes},
                                {"start_s", seconds_of(e.start_warm)}});
  }
  std::printf("%s\n", out.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
}

}  // namespace

int check_config(const Common& common, const CheckConfigOptions& options) {
  if (options.reference) {
    std::printf("%s", config_reference().c_str());
    return EX_OK;
  }
  const LoadResult loaded = check_installation(common.config);
  if (common.json) {
    print_json(common.config, loaded, options.rate_per_second);
  } else {
    print_findings(loaded.findings, Severity::warning);
  }
  if (!loaded.config) return exit_code_of_config(to_error(loaded.findings).code);
  if (options.print_effective) {
    std::printf("%s", effective_toml(*loaded.config).c_str());
  } else if (!common.json) {
    print_estimates(*loaded.config, options.rate_per_second);
    std::printf("%s: %s\n", common.config.c_str(),
                loaded.findings.empty() ? "no findings" : "usable, with warnings");
  }
  return options.strict && !loaded.findings.empty() ? kFindings : EX_OK;
}

}  // namespace sendonce::cli
