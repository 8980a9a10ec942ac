#include "plugin/cli/bench/ledger_load.hpp"

#include <algorithm>

#include "plugin/cli/bench/measure.hpp"

namespace sendonce::cli {

Result<LoadFigure> run_load(Contender& contender, Work work, const LoadOptions& options,
                            const Clock& clock) {
  // The outcome of a claim comes two batches later, as it does when a provider answers at once.
  const std::uint64_t lag = 2 * options.batch;
  BenchStore& store = *contender.store;
  const std::uint64_t first = contender.next;
  const double server_from = store.server_cpu_seconds();
  const Usage from = Usage::now();
  const MonoTime start = clock.mono();
  std::uint64_t done = 0;
  std::chrono::duration<double> elapsed{};
  while (elapsed.count() < options.seconds) {
    const bool settle = work == Work::pairs && contender.next >= first + lag;
    SO_CHECK(store.batch(contender.next, options.batch,
                         settle ? static_cast<std::int64_t>(contender.next - lag) : -1));
    contender.next += options.batch;
    if (settle || work == Work::claims) done += options.batch;
    elapsed = clock.mono() - start;
  }
  const Usage used = Usage::now() - from;
  const double server = store.server_cpu_seconds() - server_from;
  const auto count = static_cast<double>(std::max<std::uint64_t>(done, 1));
  return LoadFigure{.rate = static_cast<double>(done) / elapsed.count(),
                    .cpu_us = (used.own_seconds + server) * 1e6 / count,
                    .disk_bytes = used.written_bytes / count,
                    .foreign_cores = std::max(
                        0.0, (used.all_seconds - used.own_seconds - server) / elapsed.count())};
}

LoadFigure medians(const std::vector<LoadFigure>& figures) {
  const auto mid = [&figures](double LoadFigure::* member) {
    std::vector<double> values;
    for (const LoadFigure& f : figures) values.push_back(f.*member);
    return median(std::move(values));
  };
  return {.rate = mid(&LoadFigure::rate),
          .cpu_us = mid(&LoadFigure::cpu_us),
          .disk_bytes = mid(&LoadFigure::disk_bytes),
          .foreign_cores = mid(&LoadFigure::foreign_cores)};
}

}  // namespace sendonce::cli
