#include "config/estimate.hpp"

#include <algorithm>

namespace sendonce {
namespace {

// No ledger holds more; keeps every product below far from an overflow.
constexpr double kRowsMax = 1e12;

}  // namespace

ClassEstimate estimate(const ClassConfig& of, double rate_per_second) {
  const double seconds = std::chrono::duration<double>(of.retention).count();
  ClassEstimate out;
  out.name = of.name;
  out.rate_per_second = rate_per_second;
  out.rows = static_cast<std::uint64_t>(std::clamp(rate_per_second * seconds, 0.0, kRowsMax));
  out.file_bytes = out.rows * kRowBytes;
  out.index_bytes = out.rows * kIndexBytesPerRow;
  out.start_warm = kScanWarm * static_cast<Duration::rep>(out.rows);
  out.start_cold = kScanCold * static_cast<Duration::rep>(out.rows);
  return out;
}

std::vector<ClassEstimate> estimate(const Config& config, double rate_per_second) {
  std::vector<ClassEstimate> out;
  for (const ClassConfig& c : config.classes)
    out.push_back(estimate(c, c.rate_per_second > 0 ? c.rate_per_second : rate_per_second));
  return out;
}

}  // namespace sendonce
