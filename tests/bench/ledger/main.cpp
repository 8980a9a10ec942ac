// How fast the ledger claims and settles durably, beside other stores with the same durability and
// batches, in one run: all stores are filled, then measured in turns, and medians are quoted.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "plugin/core/clock.hpp"
#include "plugin/core/random.hpp"
#include "tests/bench/ledger/bench_store.hpp"
#include "tests/bench/ledger/machine.hpp"

namespace sendonce::bench {

void fill_key(std::uint64_t number, char* to) {
  Random random(number * 0x12345U + 7);
  for (std::size_t i = 0; i < 32; i += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(to + i, &word, sizeof word);
  }
}

namespace {

struct Options {
  std::string directory = ".";
  std::vector<std::uint64_t> rows{0, 1'000'000};
  std::uint64_t batch = 100;
  double seconds = 3;
  int repeat = 3;
  std::vector<std::string> stores{"sendonce", "sqlite", "redis", "postgres"};
  std::string postgres{};
  bool json = false;
};

struct Figure {
  double rate = 0;     // claim + outcome pairs a second
  double cpu_us = 0;   // a pair, client and server
  double foreign = 0;  // CPU of other processes while it ran, in cores
};

struct Contender {
  std::unique_ptr<BenchStore> store{};
  std::uint64_t next = 0;
  std::int64_t settle_from = -1;
  std::vector<Figure> figures{};
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

Result<std::unique_ptr<BenchStore>> make(const Options& options, const std::string& name,
                                         const std::string& directory) {
  if (name == "sendonce") return make_sendonce(directory);
  if (name == "sqlite") return make_sqlite(directory);
  if (name == "redis") return make_redis(directory);
  if (name == "postgres") return make_postgres(options.postgres);
  return fail(Errc::invalid, "no store " + name);
}

// The outcome of a claim is recorded two batches later, as it is when a provider answers at once.
Result<Figure> measure(Contender& contender, const Options& options, const Clock& clock) {
  constexpr std::int64_t kLag = 2;
  const auto batch = static_cast<std::int64_t>(options.batch);
  const CpuUse cpu_from = cpu_use();
  const double server_from = contender.store->server_cpu_seconds();
  const MonoTime from = clock.mono();
  std::uint64_t pairs = 0;
  std::chrono::duration<double> elapsed{};
  while (elapsed.count() < options.seconds) {
    const auto lagging = static_cast<std::int64_t>(contender.next) - kLag * batch;
    const bool settle = contender.settle_from >= 0 && lagging >= contender.settle_from;
    SO_CHECK(contender.store->batch(contender.next, options.batch, settle ? lagging : -1));
    if (contender.settle_from < 0)
      contender.settle_from = static_cast<std::int64_t>(contender.next);
    contender.next += options.batch;
    if (settle) pairs += options.batch;
    elapsed = clock.mono() - from;
  }
  const CpuUse cpu_to = cpu_use();
  const double server = contender.store->server_cpu_seconds() - server_from;
  const double own = cpu_to.own - cpu_from.own;
  const auto count = static_cast<double>(pairs);
  return Figure{
      .rate = count / elapsed.count(),
      .cpu_us = (own + server) * 1e6 / count,
      .foreign = std::max(0.0, (cpu_to.all - cpu_from.all - own - server) / elapsed.count())};
}

void report(const Options& options, std::uint64_t rows, const Contender& contender) {
  std::vector<double> rates;
  std::vector<double> cpus;
  std::vector<double> foreign;
  for (const Figure& figure : contender.figures) {
    rates.push_back(figure.rate);
    cpus.push_back(figure.cpu_us);
    foreign.push_back(figure.foreign);
  }
  const std::string name(contender.store->name());
  const std::string detail = contender.store->detail();
  if (options.json) {
    std::printf(R"({"store":"%s","rows":%llu,"batch":%llu,"pairs_per_second":%.0f,)"
                R"("cpu_us_per_pair":%.2f,"foreign_cores":%.2f,"detail":"%s"})"
                "\n",
                name.c_str(), static_cast<unsigned long long>(rows),
                static_cast<unsigned long long>(options.batch), median(rates), median(cpus),
                median(foreign), detail.c_str());
  } else {
    std::printf("%-26s %9llu rows  %9.0f pairs/s  %7.2f us CPU a pair  %.2f cores elsewhere  %s\n",
                name.c_str(), static_cast<unsigned long long>(rows), median(rates), median(cpus),
                median(foreign), detail.c_str());
  }
}

int run_at(const Options& options, std::uint64_t rows, const Clock& clock) {
  namespace fs = std::filesystem;
  const std::string root = options.directory + "/bench-ledger";
  fs::remove_all(root);
  std::vector<Contender> contenders;
  for (const std::string& name : options.stores) {
    const std::string directory = root + "/" + name;
    fs::create_directories(directory);
    auto store = make(options, name, directory);
    if (!store) {
      std::fprintf(stderr, "not compared: %s\n", store.error().text.c_str());
      if (store.error().code != Errc::unavailable) return 1;
      continue;
    }
    if (auto loaded = (*store)->preload(rows); !loaded) {
      std::fprintf(stderr, "%s: %s\n", name.c_str(), loaded.error().text.c_str());
      return 1;
    }
    contenders.push_back(
        {.store = std::move(*store), .next = rows, .settle_from = -1, .figures = {}});
  }
  for (int i = 0; i < options.repeat; ++i) {
    for (Contender& contender : contenders) {
      auto figure = measure(contender, options, clock);
      if (!figure) {
        std::fprintf(stderr, "%s\n", figure.error().text.c_str());
        return 1;
      }
      contender.figures.push_back(*figure);
    }
  }
  for (const Contender& contender : contenders) report(options, rows, contender);
  contenders.clear();
  fs::remove_all(root);
  return 0;
}

}  // namespace
}  // namespace sendonce::bench

int main(int argc, char** argv) {
  using namespace sendonce;
  bench::Options options;
  CLI::App app{"Durable claims and outcomes: the ledger beside other stores"};
  app.add_option("--dir", options.directory, "Where to put the files; a real disk");
  app.add_option("--rows", options.rows, "Rows in the store before it is measured")->delimiter(',');
  app.add_option("--batch", options.batch, "Claims a transaction");
  app.add_option("--seconds", options.seconds, "Length of one measurement");
  app.add_option("--repeat", options.repeat, "Measurements a store, in turns");
  app.add_option("--stores", options.stores, "sendonce, sqlite, redis, postgres")->delimiter(',');
  app.add_option("--postgres", options.postgres, "libpq connection string of a running server");
  app.add_flag("--json", options.json, "One JSON object a line");
  CLI11_PARSE(app, argc, argv);
  const auto clock = make_system_clock();
  std::fprintf(stderr, "file system %s, fdatasync p50 %.0f us\n",
               bench::file_system_of(options.directory).c_str(),
               bench::fdatasync_p50_us(options.directory));
  for (const std::uint64_t rows : options.rows) {
    if (const int rc = bench::run_at(options, rows, *clock); rc != 0) return rc;
  }
  return 0;
}
