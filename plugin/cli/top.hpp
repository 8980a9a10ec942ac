// `sendonce top`: what a running daemon does between two looks at its status. Pure, but for top().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugin/core/error.hpp"

namespace sendonce::cli {

struct TopClass {
  std::string name{};
  std::string state{};  // ready, paused, waiting
  std::string reason{};
  double in_per_s = 0;        // messages that came
  double accepted_per_s = 0;  // deliveries
  std::uint64_t waiting = 0;  // on the stream, or handed back to it
  std::uint64_t in_flight = 0;
  std::uint64_t unknown = 0;  // since the daemon was started, as `failed`
  std::uint64_t failed = 0;
  std::optional<double> oldest_s{};  // of the messages in hand
};

struct TopProvider {
  std::string name{};
  std::string state{};  // up, paused, no connection, held: FAULT
  std::string reason{};
  std::uint64_t connections = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t queued = 0;
  std::vector<std::pair<std::string, double>> verdicts_per_s{};  // those that there were
  std::optional<double> p50_s{};                                 // of the calls meanwhile
  std::optional<double> p99_s{};
};

struct TopView {
  std::string instance{};
  std::string state{};
  std::string reason{};
  std::string time{};
  double seconds = 0;   // between the two looks
  double map_used = 0;  // of the ledger, 0 to 1
  std::uint64_t rows = 0;
  std::uint64_t open_rows = 0;
  std::uint64_t outbox = 0;
  std::vector<TopClass> classes{};
  std::vector<TopProvider> providers{};
};

// From two answers of `status`. A counter that fell is one of another life: it counts from zero.
// corrupt: one of them is no status of a running daemon.
[[nodiscard]] Result<TopView> top_view(std::string_view before, std::string_view after);

// No line is longer than `columns`, which are at least 60.
[[nodiscard]] std::string top_text(const TopView& view, std::size_t columns);
[[nodiscard]] std::string top_json(const TopView& view);  // one line

// The duration, in seconds, that the share `quantile` of the calls did not exceed: by interpolation
// within its bucket. Nothing without calls.
[[nodiscard]] std::optional<double> quantile_of(const std::vector<std::uint64_t>& counts,
                                                const std::vector<double>& bounds, double quantile);

}  // namespace sendonce::cli
