// What a class will cost at a given rate. Pure; the figures per row were measured on the ledger's
// file form, rows in time order and an index in memory (docs/performance.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/schema.hpp"

namespace sendonce {

inline constexpr std::uint64_t kRowBytes = 300;         // in the file, receipts and pages included
inline constexpr std::uint64_t kIndexBytesPerRow = 16;  // 8-byte slots, half full on average
inline constexpr std::uint64_t kUsableMapPercent = 85;  // claims stop there
inline constexpr Duration kScanWarm = std::chrono::nanoseconds(150);  // of one row at start
inline constexpr Duration kScanCold = std::chrono::nanoseconds(700);

struct ClassEstimate {
  std::string name{};
  double rate_per_second = 0;
  std::uint64_t rows = 0;  // remembered at a time
  std::uint64_t file_bytes = 0;
  std::uint64_t index_bytes = 0;  // of memory
  Duration start_warm{};          // share of the start that reads this class's rows
  Duration start_cold{};          // with nothing in the page cache
};

// `rate_per_second` counts deliveries: one for each destination of a message.
[[nodiscard]] ClassEstimate estimate(const ClassConfig& of, double rate_per_second);
// Each class at its own `rate`, else at `rate_per_second`.
[[nodiscard]] std::vector<ClassEstimate> estimate(const Config& config, double rate_per_second);

}  // namespace sendonce
