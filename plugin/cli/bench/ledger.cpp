// bench ledger: what a durable claim and outcome cost, empty and with millions of rows. The same
// load on other stores is in tests/bench/ledger, so that this program need not link them.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include <nlohmann/json.hpp>
#include <sysexits.h>

#include "plugin/cli/bench/ledger_lane.hpp"
#include "plugin/cli/bench/ledger_load.hpp"
#include "plugin/cli/bench/ledger_own.hpp"
#include "plugin/cli/bench/measure.hpp"
#include "plugin/cli/bench/ratio.hpp"
#include "plugin/cli/commands.hpp"
#include "plugin/cli/output.hpp"
#include "plugin/core/random.hpp"

namespace sendonce::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t kScratchRows = 300'000;  // what is expired comes from here
constexpr std::uint64_t kRedelivered = 100'000;  // a redelivery is of a message of late
constexpr std::size_t kProducers = 64;
constexpr double kOpenRate = 10'000;
constexpr auto kBeyondRetention = std::chrono::hours(73);

// One number of rows, measured once a round.
struct Level {
  std::uint64_t rows = 0;
  Contender contender{};
  std::vector<LoadFigure> pairs{};
};

// Of the other ratios, one value a round.
struct Samples {
  std::vector<double> open_s_per_million{};
  std::vector<double> duplicate_us{}, old_duplicate_us{}, claim_us{};
  std::vector<double> expired_us{}, claim_beside_us{};
  std::vector<double> alone{}, together{};  // claims a second
  std::vector<double> p50_us{}, p99_us{}, sync_us{};
};

class LedgerBench {
 public:
  LedgerBench(const Common& common, const BenchLedgerOptions& options)
      : common_(common), options_(options) {}
  int run();

 private:
  Result<void> prepare();
  Result<OwnStore*> fresh(Contender& contender, const std::string& name) const;
  Result<void> round();
  Result<double> duplicate_us(OwnStore& store, std::uint64_t end, std::uint64_t among);
  Result<void> measure_fullest();
  Result<void> measure_expiry();
  Result<void> measure_lane();
  [[nodiscard]] OwnStore& store_of(const Contender& contender) const;
  [[nodiscard]] std::vector<Ratio> ratios() const;
  void report() const;
  [[nodiscard]] LoadOptions load() const {
    return {.batch = options_.batch, .seconds = options_.seconds};
  }
  [[nodiscard]] std::string path(const std::string& name) const { return root_ + "/" + name; }

  const Common& common_;
  const BenchLedgerOptions& options_;
  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::string root_{};
  MachineFacts facts_{};
  Random random_{1};
  std::vector<Level> levels_{};  // fewest rows first
  Contender scratch_{};
  Samples samples_{};
  std::size_t row_bytes_ = 0;
  double file_bytes_ = 0;  // a row of the fullest
  double index_bytes_ = 0;
};

std::string kept_name(std::uint64_t rows) {
  return "rows-" + std::to_string(rows);
}

Result<void> LedgerBench::prepare() {
  const std::string directory = options_.directory.empty() ? "." : options_.directory;
  SO_TRY(facts_, look_at_machine(directory));
  root_ = fs::absolute(directory) / "sendonce-bench-ledger";
  if (!options_.keep) fs::remove_all(root_);  // of a run that was cut short
  std::vector<std::uint64_t> rows = options_.rows;
  std::ranges::sort(rows);
  for (const std::uint64_t n : rows) {
    Level& level = levels_.emplace_back();
    level.rows = n;
    if (n == 0) continue;  // made anew in every round
    fs::create_directories(path(kept_name(n)));
    SO_TRY(auto store, OwnStore::make(path(kept_name(n))));
    if (store->rows() < n)
      std::fprintf(stderr, "filling %s rows\n", number(static_cast<double>(n), 0).c_str());
    SO_CHECK(store->preload(n));
    level.contender = {.store = std::move(store), .next = 0};
    level.contender.next = store_of(level.contender).rows();
  }
  SO_TRY(OwnStore * scratch, fresh(scratch_, "scratch"));
  SO_CHECK(scratch->preload(kScratchRows));
  scratch_.next = scratch->rows();
  return {};
}

OwnStore& LedgerBench::store_of(const Contender& contender) const {
  return static_cast<OwnStore&>(*contender.store);
}

Result<OwnStore*> LedgerBench::fresh(Contender& contender, const std::string& name) const {
  contender = {};
  std::error_code ignored;
  fs::remove_all(path(name), ignored);
  fs::create_directories(path(name));
  SO_TRY(auto store, OwnStore::make(path(name)));
  contender.store = std::move(store);
  return &store_of(contender);
}

Result<void> LedgerBench::round() {
  for (Level& level : levels_) {
    if (level.rows == 0) {
      SO_TRY(const OwnStore* store, fresh(level.contender, kept_name(0)));
      static_cast<void>(store);
    }
    SO_TRY(const LoadFigure figure, run_load(level.contender, Work::pairs, load(), *clock_));
    level.pairs.push_back(figure);
  }
  SO_CHECK(measure_fullest());
  SO_CHECK(measure_lane());
  return measure_expiry();
}

// What claims of keys that have ended cost, of the newest `among`.
Result<double> LedgerBench::duplicate_us(OwnStore& store, std::uint64_t end, std::uint64_t among) {
  among = std::min(among, end);
  std::vector<std::uint64_t> numbers(options_.batch);
  std::uint64_t done = 0;
  const MonoTime start = clock_->mono();
  const Usage from = Usage::now();
  while (std::chrono::duration<double>(clock_->mono() - start).count() < options_.seconds / 2) {
    for (std::uint64_t& n : numbers) n = end - 1 - random_.below(among);
    SO_CHECK(store.duplicates(numbers));
    done += numbers.size();
  }
  return (Usage::now() - from).own_seconds * 1e6 / static_cast<double>(done);
}

// P19, P20.
Result<void> LedgerBench::measure_fullest() {
  Contender& contender = levels_.back().contender;
  OwnStore& store = store_of(contender);
  SO_CHECK(store.settle_open());
  SO_TRY(const Duration opening, store.reopen());
  const double millions = static_cast<double>(store.rows()) / 1e6;
  samples_.open_s_per_million.push_back(std::chrono::duration<double>(opening).count() / millions);
  SO_TRY(const double newest, duplicate_us(store, contender.next, kRedelivered));
  samples_.duplicate_us.push_back(newest);
  SO_TRY(const double any, duplicate_us(store, contender.next, contender.next));
  samples_.old_duplicate_us.push_back(any);
  SO_TRY(const LoadFigure claims, run_load(contender, Work::claims, load(), *clock_));
  samples_.claim_us.push_back(claims.cpu_us);
  SO_CHECK(store.settle_open());
  SO_TRY(row_bytes_, store.row_bytes());
  file_bytes_ = store.file_bytes_a_row();
  index_bytes_ = store.index_bytes_a_row();
  return {};
}

// P14, P15.
Result<void> LedgerBench::measure_lane() {
  OwnStore& store = store_of(scratch_);
  const double seconds = options_.seconds;
  SO_TRY(const LaneFigure alone, closed_loop(store, scratch_.next, 1, seconds));
  SO_TRY(const LaneFigure together, closed_loop(store, scratch_.next, kProducers, seconds));
  SO_TRY(const MachineFacts facts, look_at_machine(root_));
  SO_TRY(const LaneFigure open, open_loop(store, scratch_.next, kOpenRate, seconds));
  samples_.alone.push_back(alone.rate);
  samples_.together.push_back(together.rate);
  samples_.sync_us.push_back(facts.fdatasync_p50_us);
  samples_.p50_us.push_back(open.p50_us);
  samples_.p99_us.push_back(open.p99_us);
  return {};
}

// P17.
Result<void> LedgerBench::measure_expiry() {
  OwnStore& store = store_of(scratch_);
  SO_TRY(const LoadFigure claims, run_load(scratch_, Work::claims, load(), *clock_));
  SO_CHECK(store.settle_open());
  SO_CHECK(store.advance(scratch_.next++, kBeyondRetention));
  const std::uint64_t share = kScratchRows / options_.repeat;
  std::uint64_t expired = 0;
  const Usage from = Usage::now();
  while (expired + options_.batch <= share) {
    SO_TRY(const std::size_t now, store.expire(options_.batch));
    if (now == 0) return fail(Errc::internal, "bench: nothing expires");
    expired += now;
  }
  const double seconds = (Usage::now() - from).own_seconds;
  samples_.claim_beside_us.push_back(claims.cpu_us);
  samples_.expired_us.push_back(seconds * 1e6 / static_cast<double>(expired));
  return {};
}

std::vector<Ratio> LedgerBench::ratios() const {
  const Samples& s = samples_;
  const Level& least = levels_.front();
  const Level& most = levels_.back();
  const std::string rows = number(static_cast<double>(most.rows), 0) + " rows";
  std::vector<Ratio> all;
  if (least.rows == 0 && most.rows > 0)
    all.push_back({.id = "P12",
                   .what = "rate empty : at " + rows,
                   .value = medians(least.pairs).rate / medians(most.pairs).rate,
                   .goal = 1.6,
                   .floor = 2.5});
  all.push_back({.id = "P13",
                 .what = "disk bytes a pair : bytes of a row, at " + rows,
                 .value = medians(most.pairs).disk_bytes / static_cast<double>(row_bytes_),
                 .goal = 8,
                 .floor = 16});
  all.push_back({.id = "P14",
                 .what = "claims/s, 64 closed producers : 1",
                 .value = median(s.together) / median(s.alone),
                 .goal = 12,
                 .floor = 8});
  all.push_back({.id = "P15",
                 .what = "claim p50 at 10,000/s : fdatasync p50",
                 .value = median(s.p50_us) / median(s.sync_us),
                 .goal = 4,
                 .floor = 8});
  all.push_back({.id = "P17",
                 .what = "CPU of a row's expiry : of a claim",
                 .value = median(s.expired_us) / median(s.claim_beside_us),
                 .goal = 0.6,
                 .floor = 1});
  all.push_back({.id = "P19",
                 .what = "CPU of a duplicate : of a new claim, at " + rows,
                 .value = median(s.duplicate_us) / median(s.claim_us),
                 .goal = 0.3,
                 .floor = 0.6});
  all.push_back({.id = "P20",
                 .what = "opening, s a million rows, with " + rows,
                 .value = median(s.open_s_per_million),
                 .goal = 0.25,
                 .floor = 0.5});
  return all;
}

void LedgerBench::report() const {
  const Samples& s = samples_;
  if (common_.json) {
    Json loads = Json::array();
    for (const Level& level : levels_) {
      const LoadFigure f = medians(level.pairs);
      loads.push_back({{"rows", level.rows},
                       {"pairs_per_second", f.rate},
                       {"cpu_us_per_pair", f.cpu_us},
                       {"disk_bytes_per_pair", f.disk_bytes},
                       {"foreign_cores", f.foreign_cores}});
    }
    const Json j{{"file_system", facts_.file_system},
                 {"fdatasync_p50_us", facts_.fdatasync_p50_us},
                 {"cores", facts_.cores},
                 {"batch", options_.batch},
                 {"loads", loads},
                 {"row_bytes", row_bytes_},
                 {"file_bytes_per_row", file_bytes_},
                 {"index_bytes_per_row", index_bytes_},
                 {"claim_cpu_us", median(s.claim_us)},
                 {"duplicate_cpu_us", median(s.duplicate_us)},
                 {"duplicate_of_any_age_cpu_us", median(s.old_duplicate_us)},
                 {"claim_p50_us", median(s.p50_us)},
                 {"claim_p99_us", median(s.p99_us)},
                 {"claims_per_second_alone", median(s.alone)},
                 {"claims_per_second_together", median(s.together)},
                 {"ratios", Json::parse(ratio_json(ratios()))}};
    std::printf("%s\n", j.dump().c_str());
    return;
  }
  Table table({"rows", "pairs/s", "CPU us/pair", "disk bytes/pair", "foreign cores"});
  for (const Level& level : levels_) {
    const LoadFigure f = medians(level.pairs);
    table.add({number(static_cast<double>(level.rows), 0), number(f.rate, 0), number(f.cpu_us, 2),
               number(f.disk_bytes, 0), number(f.foreign_cores, 2)});
  }
  std::printf("%s\n%s\n", facts_line(facts_).c_str(), table.text().c_str());
  std::printf("a row: %zu B, %s B in the file, %s B in memory\n", row_bytes_,
              number(file_bytes_, 0).c_str(), number(index_bytes_, 1).c_str());
  std::printf("claims: %s/s alone, %s/s 64 at once; at 10,000/s p50 %s us, p99 %s us\n",
              number(median(s.alone), 0).c_str(), number(median(s.together), 0).c_str(),
              number(median(s.p50_us), 0).c_str(), number(median(s.p99_us), 0).c_str());
  std::printf("CPU us: a claim %s, a duplicate %s, of any age %s, an expiry %s\n\n%s",
              number(median(s.claim_us), 2).c_str(), number(median(s.duplicate_us), 2).c_str(),
              number(median(s.old_duplicate_us), 2).c_str(),
              number(median(s.expired_us), 2).c_str(), ratio_lines(ratios()).c_str());
}

int LedgerBench::run() {
  auto ready = prepare();
  for (std::uint32_t i = 0; ready && i < options_.repeat; ++i) {
    std::fprintf(stderr, "round %u of %u\n", i + 1, options_.repeat);
    ready = round();
  }
  if (ready) report();
  const bool keep = options_.keep && ready;
  for (const Level& level : levels_) {
    if (keep && level.rows > 0) static_cast<void>(store_of(level.contender).settle_open());
  }
  levels_.clear();
  scratch_ = {};
  std::error_code ignored;
  if (!root_.empty()) {
    for (const std::string& made : {path("scratch"), path(kept_name(0)), keep ? "" : root_})
      fs::remove_all(made, ignored);
  }
  return ready ? EX_OK : failed(ready.error());
}

}  // namespace

int bench_ledger(const Common& common, const BenchLedgerOptions& options) {
  if (options.rows.empty() || options.repeat == 0 || options.batch == 0 || options.batch > 1000)
    return failed({.code = Errc::invalid,
                   .text = "bench ledger: give --rows, a --repeat, and a --batch of 1 to 1000"});
  return LedgerBench(common, options).run();
}

}  // namespace sendonce::cli
