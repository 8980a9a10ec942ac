// bench pipeline: how much CPU a notification costs from the stream to its ack, and how fast a full
// stream drains. Real nats-server, real daemon, fake provider, in turns with and without events.
#include <condition_variable>
#include <cstdio>
#include <mutex>

#include <nlohmann/json.hpp>
#include <sysexits.h>

#include "plugin/broker/nats/nats_broker.hpp"
#include "plugin/cli/bench/h2load.hpp"
#include "plugin/cli/bench/measure.hpp"
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

struct Run {
  double cpu_us = 0;
  double rate = 0;
  double rss_mb = 0;
  double provider_cpu_us = 0;
  double server_cpu_us = 0;
  double h2load_cpu_us = 0;  // of a bare request to the same provider, just before
};

class PipelineBench {
 public:
  PipelineBench(const Common& common, const BenchOptions& options)
      : common_(common), options_(options) {}
  int run();

 private:
  Result<Run> measure(bool events);
  Result<void> fill(const World& world);
  void report(const std::vector<Run>& core, const std::vector<Run>& everything,
              const MachineFacts& facts) const;

  const Common& common_;
  const BenchOptions& options_;
  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::unique_ptr<Log> log_ = make_null_log();
  std::uint64_t serial_ = 0;
};

// One subject, as one kind of message has. nats-server 2.9 looks, at every ack, for the next
// message of the same subject: with 64 that take turns it needs 22 us a message instead of 10.
Publication event(std::uint64_t n) {
  Random random(n + 1);
  std::string token;
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t word = random.next();
    append_hex(token, {reinterpret_cast<const char*>(&word), sizeof word});
  }
  const std::string id = std::to_string(n);
  return {.subject = "notify.bench.push",
          .body = R"({"event_id":"ord-)" + id + R"(-shipped","recipient":"user_)" + id +
                  R"(","channel":"push","template":"order_shipped",)" +
                  R"("targets":[{"provider":"apns","token":")" + token +
                  R"(","registered_at":"2026-11-01T08:00:00Z","ref":"dev-)" + id +
                  R"("}],"notification":{"title":"On its way","body":"Your order )" + id +
                  R"( has left the warehouse and will arrive tomorrow.","data":{"order":")" + id +
                  R"("}}})"};
}

// Through the broker adapter's asynchronous publishing: the one-by-one kind would take minutes.
Result<void> PipelineBench::fill(const World& world) {
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
  while (confirmed < options_.requests) {
    while (sent < options_.requests && sent - confirmed < kWindow)
      broker.publish(Ticket(++sent), event(serial_++));
    {
      std::unique_lock lock(mutex);
      changed.wait_for(lock, std::chrono::seconds(1), [&] { return woken; });
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

Result<Run> PipelineBench::measure(bool events) {
  SO_TRY(const auto world,
         World::make({.fakeprov = options_.fakeprov,
                      .classes = bench_class(
                          events, std::uint64_t{options_.connections} * options_.streams),
                      .record = false,
                      .lenient = true,
                      .latency_ms = options_.latency_ms,
                      .connections = options_.connections,
                      .streams = options_.streams,
                      .directory = options_.directory}));
  SO_CHECK(fill(*world));
  SO_TRY(const H2load load, H2load::make(*world, *clock_));
  SO_TRY(const LoadRun bare, load.run(options_.requests, 1, 100));
  SO_TRY(const auto client, world->connect());
  const Duration provider = cpu_of(world->provider_pid()).value_or(Duration{});
  const Duration server = cpu_of(world->server_pid()).value_or(Duration{});
  const MonoTime start = clock_->mono();
  SO_CHECK(world->start_daemon());
  std::uint64_t rss = 0;
  Duration cpu{};
  const bool done = test::eventually(
      [&] {
        const auto left = world->unsettled(*client);
        rss = std::max(rss, rss_anon_of(world->daemon_pid()));
        cpu = cpu_of(world->daemon_pid()).value_or(cpu);
        return !world->daemon_runs() || (left && *left == 0);
      },
      std::chrono::minutes(5), std::chrono::milliseconds(50));
  const double seconds = std::chrono::duration<double>(clock_->mono() - start).count();
  if (!done || !world->daemon_runs())
    return fail(Errc::unavailable, "the stream did not drain:\n" + world->log_tail());
  const auto n = static_cast<double>(options_.requests);
  const auto us = [&](Duration d) {
    return std::chrono::duration<double, std::micro>(d).count() / n;
  };
  Run run{.cpu_us = us(cpu),
          .rate = n / seconds,
          .rss_mb = static_cast<double>(rss) / 1e6,
          .provider_cpu_us = us(cpu_of(world->provider_pid()).value_or(Duration{}) - provider),
          .server_cpu_us = us(cpu_of(world->server_pid()).value_or(Duration{}) - server),
          .h2load_cpu_us = bare.cpu_us};
  (void)world->stop_daemon();
  return run;
}

void PipelineBench::report(const std::vector<Run>& core, const std::vector<Run>& everything,
                           const MachineFacts& facts) const {
  const auto mid = [](const std::vector<Run>& runs, double Run::* member) {
    std::vector<double> values;
    for (const Run& r : runs) values.push_back(r.*member);
    return median(std::move(values));
  };
  if (common_.json) {
    const auto side = [&](const std::vector<Run>& runs) {
      return Json{{"cpu_us", mid(runs, &Run::cpu_us)},
                  {"rate", mid(runs, &Run::rate)},
                  {"h2load_cpu_us", mid(runs, &Run::h2load_cpu_us)},
                  {"p5_cpu_ratio", mid(runs, &Run::cpu_us) / mid(runs, &Run::h2load_cpu_us)},
                  {"rss_anon_mb", mid(runs, &Run::rss_mb)}};
    };
    const Json j{{"notifications", options_.requests},
                 {"rounds", core.size()},
                 {"core", side(core)},
                 {"everything", side(everything)},
                 {"file_system", facts.file_system},
                 {"fdatasync_p50_us", facts.fdatasync_p50_us}};
    std::printf("%s\n", j.dump().c_str());
    return;
  }
  Table table({"events", "CPU us", "rate/s", "RssAnon MB", "provider CPU us", "nats-server CPU us",
               "h2load CPU us"});
  const auto add = [&](const char* name, const std::vector<Run>& runs) {
    for (const Run& r : runs)
      table.add({name, number(r.cpu_us, 2), number(r.rate, 0), number(r.rss_mb, 1),
                 number(r.provider_cpu_us, 2), number(r.server_cpu_us, 2),
                 number(r.h2load_cpu_us, 2)});
  };
  add("exceptions", core);
  add("all", everything);
  std::printf("%s\n%s\n", facts_line(facts).c_str(), table.text().c_str());
  std::printf(
      "core:       %s us a notification (goal 10, floor 15), %s/s (goal 60,000, floor 40,000)\n",
      number(mid(core, &Run::cpu_us), 2).c_str(), number(mid(core, &Run::rate), 0).c_str());
  std::printf(
      "everything: %s us a notification (goal 13, floor 18), %.2f x core's rate (goal 0.75, floor "
      "0.5)\n",
      number(mid(everything, &Run::cpu_us), 2).c_str(),
      mid(everything, &Run::rate) / mid(core, &Run::rate));
  std::printf("P5 core : h2load, CPU = %.2f (goal 2.5, floor 4)\n",
              mid(core, &Run::cpu_us) / mid(core, &Run::h2load_cpu_us));
}

int PipelineBench::run() {
  const std::string directory = options_.directory.empty() ? "." : options_.directory;
  const auto facts = look_at_machine(directory);
  if (!facts) return failed(facts.error());
  std::vector<Run> core;
  std::vector<Run> everything;
  for (std::uint32_t round = 0; round < options_.rounds; ++round) {
    for (const bool events : {false, true}) {
      std::fprintf(stderr, "round %u of %u, events = %s\n", round + 1, options_.rounds,
                   events ? "all" : "exceptions");
      const auto run = measure(events);
      if (!run) return failed(run.error());
      (events ? everything : core).push_back(*run);
    }
  }
  report(core, everything, *facts);
  return EX_OK;
}

}  // namespace

int bench_pipeline(const Common& common, const BenchOptions& options) {
  return PipelineBench(common, options).run();
}

}  // namespace sendonce::cli
