// The ledger beside other stores with the same durability and batches, in one run: all are filled,
// then measured in turns, and medians are compared (P8 to P11 of docs/performance.md).
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "plugin/cli/bench/ledger_load.hpp"
#include "plugin/cli/bench/ledger_own.hpp"
#include "plugin/cli/bench/measure.hpp"
#include "plugin/cli/bench/ratio.hpp"
#include "tests/bench/ledger/bench_store.hpp"

namespace sendonce::bench {
namespace {

namespace fs = std::filesystem;
using cli::Contender;
using cli::LoadFigure;
using cli::Ratio;
using cli::Work;

struct Options {
  std::string directory = ".";
  std::vector<std::uint64_t> rows{0, 1'000'000};
  cli::LoadOptions load{};
  int repeat = 3;
  std::vector<std::string> stores{"sendonce", "sqlite", "redis", "postgres"};
  std::string postgres{};
  bool json = false;
};

struct Entrant {
  std::string name{};
  std::string directory{};
  Contender contender{};
  std::vector<LoadFigure> pairs{};
  std::vector<LoadFigure> claims{};
};

// What we are compared in with one other store, by rows; a zero is no goal.
struct Goal {
  const char* id = "";
  double goal = 0;
  double floor = 0;
};
struct Goals {
  const char* store = "";
  Goal pairs_empty{}, pairs{};    // their rate below ours
  Goal claims_empty{}, claims{};  // the same, claims alone
  Goal cpu{};                     // our CPU a pair : theirs
};
constexpr Goals kGoals[] = {
    {.store = "sqlite",
     .pairs_empty = {"P8", 3, 2},
     .pairs = {"P8", 7, 4},
     .cpu = {"P11", .1, .25}},
    {.store = "redis",
     .pairs_empty = {"P10", 1.4, 1},
     .pairs = {"P10", 1.6, 1.1},
     .cpu = {"P11", .5, .9}},
    {.store = "postgres",
     .pairs = {"P9", 3, 2},
     .claims_empty = {"P9", 1.5, 1},
     .claims = {"P9", 2, 1.3},
     .cpu = {"P11", .2, .4}},
};

Result<std::unique_ptr<BenchStore>> make(const Options& options, const Entrant& entrant) {
  if (entrant.name == "sendonce") return cli::OwnStore::make(entrant.directory);
  if (entrant.name == "sqlite") return make_sqlite(entrant.directory);
  if (entrant.name == "redis") return make_redis(entrant.directory);
  if (entrant.name == "postgres") return make_postgres(options.postgres);
  return fail(Errc::invalid, "no store " + entrant.name);
}

// With `rows` in it and nothing else.
Result<void> renew(const Options& options, std::uint64_t rows, Entrant& entrant) {
  entrant.contender = {};
  fs::remove_all(entrant.directory);
  fs::create_directories(entrant.directory);
  SO_TRY(entrant.contender.store, make(options, entrant));
  entrant.contender.next = rows;
  return entrant.contender.store->preload(rows);
}

Result<std::vector<Entrant>> enter(const Options& options, std::uint64_t rows,
                                   const std::string& root) {
  std::vector<Entrant> all;
  for (const std::string& name : options.stores) {
    Entrant entrant{.name = name, .directory = root + "/" + name};
    if (auto ready = renew(options, rows, entrant); !ready) {
      std::fprintf(stderr, "not compared: %s\n", ready.error().text.c_str());
      if (ready.error().code != Errc::unavailable) return std::unexpected(ready.error());
      continue;
    }
    all.push_back(std::move(entrant));
  }
  return all;
}

Result<void> measure(const Options& options, std::uint64_t rows, std::vector<Entrant>& all,
                     const Clock& clock) {
  for (int i = 0; i < options.repeat; ++i) {
    for (Entrant& entrant : all) {
      // An empty one is so for its first seconds only.
      if (rows == 0) SO_CHECK(renew(options, rows, entrant));
      SO_TRY(const LoadFigure pairs, run_load(entrant.contender, Work::pairs, options.load, clock));
      entrant.pairs.push_back(pairs);
      if (rows == 0) SO_CHECK(renew(options, rows, entrant));
      SO_TRY(const LoadFigure claims,
             run_load(entrant.contender, Work::claims, options.load, clock));
      entrant.claims.push_back(claims);
    }
  }
  return {};
}

std::vector<Ratio> ratios(std::uint64_t rows, const std::vector<Entrant>& all) {
  std::vector<Ratio> out;
  if (all.empty() || all.front().name != "sendonce") return out;
  const LoadFigure our_pairs = medians(all.front().pairs);
  const LoadFigure our_claims = medians(all.front().claims);
  const std::string where = ", " + cli::number(static_cast<double>(rows), 0) + " rows";
  for (const Goals& goals : kGoals) {
    const auto other = std::ranges::find(all, goals.store, &Entrant::name);
    if (other == all.end()) continue;
    const LoadFigure pairs = medians(other->pairs);
    const LoadFigure claims = medians(other->claims);
    const auto add = [&](const Goal& goal, const char* what, double value) {
      if (goal.goal == 0) return;
      out.push_back({.id = goal.id,
                     .what = what + std::string(goals.store) + where,
                     .value = value,
                     .goal = goal.goal,
                     .floor = goal.floor});
    };
    add(rows == 0 ? goals.pairs_empty : goals.pairs, "pairs/s : ", our_pairs.rate / pairs.rate);
    add(rows == 0 ? goals.claims_empty : goals.claims,
        "claims/s : ", our_claims.rate / claims.rate);
    if (rows > 0) add(goals.cpu, "CPU a pair : ", our_pairs.cpu_us / pairs.cpu_us);
  }
  return out;
}

void report(const Options& options, std::uint64_t rows, const std::vector<Entrant>& all) {
  for (const Entrant& entrant : all) {
    const LoadFigure pairs = medians(entrant.pairs);
    const LoadFigure claims = medians(entrant.claims);
    const std::string name(entrant.contender.store->name());
    std::printf(
        options.json
            ? R"({"store":"%s","rows":%llu,"pairs_per_second":%.0f,"cpu_us_per_pair":%.2f,)"
              R"("claims_per_second":%.0f,"cpu_us_per_claim":%.2f,"foreign_cores":%.2f})"
              "\n"
            : "%-24s %9llu rows %9.0f pairs/s %6.2f us CPU %9.0f claims/s %6.2f us CPU  %.2f "
              "cores elsewhere\n",
        name.c_str(), static_cast<unsigned long long>(rows), pairs.rate, pairs.cpu_us, claims.rate,
        claims.cpu_us, pairs.foreign_cores);
  }
  const std::vector<Ratio> compared = ratios(rows, all);
  std::printf("%s\n",
              (options.json ? cli::ratio_json(compared) : cli::ratio_lines(compared)).c_str());
}

int failed(const Error& error) {
  std::fprintf(stderr, "bench_ledger: %s\n", error.text.c_str());
  return 1;
}

int run(const Options& options) {
  const auto clock = make_system_clock();
  // Redis goes to the directory it is given, and would look for a relative one from there.
  const std::string root = fs::absolute(options.directory) / "bench-ledger";
  fs::create_directories(root);
  const auto facts = cli::look_at_machine(root);
  if (!facts) return failed(facts.error());
  std::fprintf(stderr, "%s\n", cli::facts_line(*facts).c_str());
  for (const std::uint64_t rows : options.rows) {
    auto all = enter(options, rows, root);
    if (!all) return failed(all.error());
    if (const auto done = measure(options, rows, *all, *clock); !done) return failed(done.error());
    report(options, rows, *all);
  }
  fs::remove_all(root);
  return 0;
}

}  // namespace
}  // namespace sendonce::bench

int main(int argc, char** argv) {
  sendonce::bench::Options options;
  CLI::App app{"Durable claims and outcomes: the ledger beside other stores"};
  app.add_option("--dir", options.directory, "Where to put the files; a real disk");
  app.add_option("--rows", options.rows, "Rows in the store before it is measured")->delimiter(',');
  app.add_option("--batch", options.load.batch, "Claims a transaction");
  app.add_option("--seconds", options.load.seconds, "Length of one measurement");
  app.add_option("--repeat", options.repeat, "Measurements a store, in turns");
  app.add_option("--stores", options.stores, "sendonce, sqlite, redis, postgres")->delimiter(',');
  app.add_option("--postgres", options.postgres, "libpq connection string of a running server");
  app.add_flag("--json", options.json, "One JSON value a line");
  CLI11_PARSE(app, argc, argv);
  return sendonce::bench::run(options);
}
