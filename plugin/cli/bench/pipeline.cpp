// bench pipeline: how much CPU a notification costs from the stream to its ack, and how fast a full
// stream drains. Real nats-server, real daemon, fake provider, in turns with and without events.
#include <array>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <unordered_map>

#include <nlohmann/json.hpp>
#include <sysexits.h>

#include "plugin/broker/nats/nats_broker.hpp"
#include "plugin/cli/bench/h2load.hpp"
#include "plugin/cli/bench/measure.hpp"
#include "plugin/cli/bench/ratio.hpp"
#include "plugin/cli/commands.hpp"
#include "plugin/cli/demo/world.hpp"
#include "plugin/cli/output.hpp"
#include "plugin/core/random.hpp"
#include "plugin/core/text.hpp"
#include "plugin/module/compose.hpp"
#include "tests/support/eventually.hpp"

namespace sendonce::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kWindow = 4000;  // publications on their way

enum class Mode : std::uint8_t { core, everything, paced };
constexpr std::array<const char*, 3> kModes{"exceptions", "all", "exceptions, paced"};

struct Run {
  double cpu_us = 0;
  double rate = 0;
  double rss_mb = 0;
  double provider_cpu_us = 0;
  double server_cpu_us = 0;
  double h2load_cpu_us = 0;  // of a bare request to the same provider, just before
  double delay_ms = 0;       // paced: median from the publication to the provider
};

class PipelineBench {
 public:
  PipelineBench(const Common& common, const BenchOptions& options)
      : common_(common), options_(options) {}
  int run();

 private:
  Result<Run> measure(Mode mode);
  Result<void> fill(const World& world, std::uint32_t rate);
  Result<void> drain(World& world, std::uint32_t rate, Run& run);
  [[nodiscard]] double delay_ms(const World& world) const;
  [[nodiscard]] double mid(Mode mode, double Run::* member) const;
  [[nodiscard]] std::vector<Ratio> ratios() const;
  [[nodiscard]] std::string json(const MachineFacts& facts) const;
  [[nodiscard]] std::string text(const MachineFacts& facts) const;

  const Common& common_;
  const BenchOptions& options_;
  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::unique_ptr<Log> log_ = make_null_log();
  std::uint64_t serial_ = 0;
  std::unordered_map<std::string, WallTime> published_{};  // by token, of the last round
  std::array<std::vector<Run>, 3> runs_{};                 // by mode
};

std::string token_of(std::uint64_t n) {
  Random random(n + 1);
  std::string token;
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t word = random.next();
    append_hex(token, {reinterpret_cast<const char*>(&word), sizeof word});
  }
  return token;
}

// One subject, as one kind of message has. nats-server 2.9 looks, at every ack, for the next
// message of the same subject: with 64 that take turns it needs 22 us a message instead of 10.
Publication event(std::uint64_t n) {
  const std::string id = std::to_string(n);
  return {.subject = "notify.bench.push",
          .body = R"({"event_id":"ord-)" + id + R"(-shipped","recipient":"user_)" + id +
                  R"(","channel":"push","template":"order_shipped",)" +
                  R"("targets":[{"provider":"apns","token":")" + token_of(n) +
                  R"(","registered_at":"2026-11-01T08:00:00Z","ref":"dev-)" + id +
                  R"("}],"notification":{"title":"On its way","body":"Your order )" + id +
                  R"( has left the warehouse and will arrive tomorrow.","data":{"order":")" + id +
                  R"("}}})"};
}

// Through the broker adapter's asynchronous publishing: the one-by-one kind would take minutes.
// `rate`: so many a second, 0 for as fast as it goes.
Result<void> PipelineBench::fill(const World& world, std::uint32_t rate) {
  SO_TRY(ConnectionOptions connection, connection_of(world.config(), {}));
  std::mutex mutex;
  std::condition_variable changed;
  bool woken = false;
  NatsBroker broker({.connection = std::move(connection)}, *clock_, *log_, [&] {
    const std::lock_guard lock(mutex);
    woken = true;
    changed.notify_one();
  });
  broker.start();
  std::uint64_t sent = 0;
  std::uint64_t confirmed = 0;
  std::vector<Confirmation> confirmations;
  const MonoTime start = clock_->mono();
  published_.clear();
  while (confirmed < options_.requests) {
    const auto due = static_cast<std::uint64_t>(
        std::chrono::duration<double>(clock_->mono() - start).count() * rate);
    const std::uint64_t last = rate == 0 ? options_.requests : std::min(options_.requests, due);
    while (sent < last && sent - confirmed < kWindow) {
      if (rate > 0) published_.emplace(token_of(serial_), clock_->wall());
      broker.publish(Ticket(++sent), event(serial_++));
    }
    {
      std::unique_lock lock(mutex);
      changed.wait_for(lock, std::chrono::milliseconds(rate == 0 ? 1000 : 1),
                       [&] { return woken; });
      woken = false;
    }
    broker.take_confirmations(confirmations);
    for (const Confirmation& c : confirmations) {
      if (c.result) continue;
      broker.stop();
      return fail(c.result.error().code, "publishing: " + c.result.error().text);
    }
    confirmed += confirmations.size();
    confirmations.clear();
  }
  broker.stop();
  return {};
}

// The daemon takes what is on the stream, or is published while it runs.
Result<void> PipelineBench::drain(World& world, std::uint32_t rate, Run& run) {
  SO_TRY(const auto client, world.connect());
  SO_CHECK(world.start_daemon());
  if (rate > 0) {
    if (!test::eventually([&] { return world.status().has_value(); }, std::chrono::seconds(20)))
      return fail(Errc::unavailable, "the daemon does not start:\n" + world.log_tail());
    SO_CHECK(fill(world, rate));
  }
  std::uint64_t rss = 0;
  Duration cpu{};
  const bool done = test::eventually(
      [&] {
        const auto left = world.unsettled(*client);
        rss = std::max(rss, rss_anon_of(world.daemon_pid()));
        cpu = cpu_of(world.daemon_pid()).value_or(cpu);
        return !world.daemon_runs() || (left && *left == 0);
      },
      std::chrono::minutes(5), std::chrono::milliseconds(50));
  if (!done || !world.daemon_runs())
    return fail(Errc::unavailable, "the stream did not drain:\n" + world.log_tail());
  run.cpu_us = std::chrono::duration<double, std::micro>(cpu).count() /
               static_cast<double>(options_.requests);
  run.rss_mb = static_cast<double>(rss) / 1e6;
  return {};
}

double PipelineBench::delay_ms(const World& world) const {
  std::ifstream record(world.record_path());
  std::vector<double> delays;
  for (std::string line; std::getline(record, line);) {
    const Json j = Json::parse(line, nullptr, false);
    if (!j.is_object()) continue;
    const auto at = published_.find(j.value("destination", ""));
    if (at == published_.end()) continue;
    const WallTime arrived{std::chrono::nanoseconds(j.value("time_ns", std::int64_t{0}))};
    delays.push_back(std::chrono::duration<double, std::milli>(arrived - at->second).count());
  }
  return delays.empty() ? 0 : median(std::move(delays));
}

Result<Run> PipelineBench::measure(Mode mode) {
  const bool paced = mode == Mode::paced;
  SO_TRY(
      const auto world,
      World::make({.fakeprov = options_.fakeprov,
                   .classes = bench_class(mode == Mode::everything,
                                          std::uint64_t{options_.connections} * options_.streams),
                   .record = paced,
                   .lenient = true,
                   .latency_ms = options_.latency_ms,
                   .connections = options_.connections,
                   .streams = options_.streams,
                   .directory = options_.directory}));
  if (!paced) SO_CHECK(fill(*world, 0));
  SO_TRY(const H2load load, H2load::make(place_of(*world), *clock_));
  SO_TRY(const LoadRun bare, load.run(options_.requests, 1, 100));
  const Duration provider = cpu_of(world->provider_pid()).value_or(Duration{});
  const Duration server = cpu_of(world->server_pid()).value_or(Duration{});
  const MonoTime start = clock_->mono();
  Run run{.h2load_cpu_us = bare.cpu_us};
  SO_CHECK(drain(*world, paced ? options_.rate : 0, run));
  const auto n = static_cast<double>(options_.requests);
  run.rate = n / std::chrono::duration<double>(clock_->mono() - start).count();
  const auto us = [&](Duration d) {
    return std::chrono::duration<double, std::micro>(d).count() / n;
  };
  run.provider_cpu_us = us(cpu_of(world->provider_pid()).value_or(Duration{}) - provider);
  run.server_cpu_us = us(cpu_of(world->server_pid()).value_or(Duration{}) - server);
  (void)world->stop_daemon();
  if (paced) {
    (void)world->stop_provider();
    run.delay_ms = delay_ms(*world);
  }
  return run;
}

double PipelineBench::mid(Mode mode, double Run::* member) const {
  std::vector<double> values;
  for (const Run& r : runs_[static_cast<std::size_t>(mode)]) values.push_back(r.*member);
  return median(std::move(values));
}

std::vector<Ratio> PipelineBench::ratios() const {
  const double core = mid(Mode::core, &Run::cpu_us);
  const double rate = mid(Mode::core, &Run::rate);
  std::vector<Ratio> out{
      {"", "core: CPU us a notification", core, 10, 15},
      {"", "core: notifications a second", rate, 60'000, 40'000},
      {"", "everything: CPU us a notification", mid(Mode::everything, &Run::cpu_us), 13, 18},
      {"", "everything: rate : core's", mid(Mode::everything, &Run::rate) / rate, 0.75, 0.5},
      {"P5", "CPU a notification : h2load's a request", core / mid(Mode::core, &Run::h2load_cpu_us),
       2.5, 4}};
  if (options_.latency_ms > 0) {
    const double ceiling = 1000.0 * options_.connections * options_.streams / options_.latency_ms;
    out.push_back({"P16", "rate : streams / latency", rate / ceiling, 0.9, 0.8});
  }
  if (options_.rate > 0) {
    out.push_back(
        {"P21", "CPU paced : CPU of a full stream", mid(Mode::paced, &Run::cpu_us) / core, 3.5, 6});
    out.push_back({"P21", "paced: ms from publication to provider, median",
                   mid(Mode::paced, &Run::delay_ms), 8, 8});
  }
  return out;
}

std::string PipelineBench::json(const MachineFacts& facts) const {
  const auto side = [this](Mode mode) {
    return Json{{"cpu_us", mid(mode, &Run::cpu_us)},
                {"rate", mid(mode, &Run::rate)},
                {"h2load_cpu_us", mid(mode, &Run::h2load_cpu_us)},
                {"rss_anon_mb", mid(mode, &Run::rss_mb)}};
  };
  const Json j{{"notifications", options_.requests},
               {"rounds", options_.rounds},
               {"core", side(Mode::core)},
               {"everything", side(Mode::everything)},
               {"ratios", Json::parse(ratio_json(ratios()))},
               {"file_system", facts.file_system},
               {"fdatasync_p50_us", facts.fdatasync_p50_us}};
  return j.dump() + "\n";
}

std::string PipelineBench::text(const MachineFacts& facts) const {
  Table table({"events", "CPU us", "rate/s", "RssAnon MB", "provider CPU us", "nats-server CPU us",
               "h2load CPU us"});
  for (std::size_t mode = 0; mode < runs_.size(); ++mode)
    for (const Run& r : runs_[mode])
      table.add({kModes[mode], number(r.cpu_us, 2), number(r.rate, 0), number(r.rss_mb, 1),
                 number(r.provider_cpu_us, 2), number(r.server_cpu_us, 2),
                 number(r.h2load_cpu_us, 2)});
  return facts_line(facts) + "\n" + table.text() + "\n" + ratio_lines(ratios());
}

int PipelineBench::run() {
  const auto facts = look_at_machine(options_.directory.empty() ? "." : options_.directory);
  if (!facts) return failed(facts.error());
  for (std::uint32_t round = 0; round < options_.rounds; ++round) {
    for (const Mode mode : {Mode::core, Mode::everything, Mode::paced}) {
      if (mode == Mode::paced && options_.rate == 0) continue;
      const auto at = static_cast<std::size_t>(mode);
      std::fprintf(stderr, "round %u of %u, events = %s\n", round + 1, options_.rounds, kModes[at]);
      const auto run = measure(mode);
      if (!run) return failed(run.error());
      runs_[at].push_back(*run);
    }
  }
  std::fputs((common_.json ? json(*facts) : text(*facts)).c_str(), stdout);
  return EX_OK;
}

}  // namespace

int bench_pipeline(const Common& common, const BenchOptions& options) {
  return PipelineBench(common, options).run();
}

}  // namespace sendonce::cli
