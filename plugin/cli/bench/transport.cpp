// bench transport: our sender against h2load, the same provider, the same requests, in turns.
#include <cstdio>

#include <nlohmann/json.hpp>
#include <sysexits.h>

#include "plugin/cli/bench/h2load.hpp"
#include "plugin/cli/bench/measure.hpp"
#include "plugin/cli/commands.hpp"
#include "plugin/cli/demo/world.hpp"
#include "plugin/cli/output.hpp"
#include "plugin/transport/h2/h2_transport.hpp"

namespace sendonce::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr ProviderIndex kProvider{0};

struct Run : LoadRun {
  std::uint64_t connects = 0;
  double foreign_cpu = 0;  // share of one core that others used
};

class TransportBench {
 public:
  TransportBench(const Common& common, const BenchOptions& options)
      : common_(common), options_(options) {}
  int run();

 private:
  Result<void> prepare();
  Result<Run> ours();
  void report(const std::vector<Run>& own, const std::vector<LoadRun>& reference) const;

  const Common& common_;
  const BenchOptions& options_;
  std::unique_ptr<World> world_{};
  std::unique_ptr<H2load> load_{};
  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::unique_ptr<Log> log_ = make_null_log();
};

Result<void> TransportBench::prepare() {
  SO_TRY(world_, World::make({.fakeprov = options_.fakeprov,
                              .classes = bench_class(false, 0),
                              .record = false,
                              .lenient = true,
                              .latency_ms = options_.latency_ms}));
  SO_TRY(H2load load, H2load::make(*world_, *clock_));
  load_ = std::make_unique<H2load>(std::move(load));
  return {};
}

Result<Run> TransportBench::ours() {
  SO_TRY(auto transport, H2Transport::create(*clock_, *log_, 1));
  const ProviderConfig& p = world_->config().providers.front();
  SO_CHECK(transport->add_provider(kProvider, {.name = p.name,
                                               .endpoint = p.endpoint,
                                               .ca_file = p.ca,
                                               .connections = options_.connections,
                                               .streams = options_.streams,
                                               .queue = 0,
                                               .one_stream_first = true}));
  Run run;
  std::vector<Completion> done;
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;
  const Duration machine = cpu_of_machine();
  const Duration cpu = cpu_of_this_process();
  const MonoTime start = clock_->mono();
  transport->warm_up(kProvider);
  while (answered < options_.requests) {
    for (std::size_t room = transport->state(kProvider).room; room > 0 && sent < options_.requests;
         --room) {
      if (!transport->submit(Ticket(sent), kProvider, load_->request(sent),
                             std::chrono::seconds(30)))
        break;
      ++sent;
    }
    transport->poll(done, std::chrono::milliseconds(100));
    for (const Completion& c : done) {
      const auto* answer = std::get_if<HttpAnswer>(&c.result);
      if (answer == nullptr || answer->status != 200) ++run.failed;
    }
    answered += done.size();
    done.clear();
    if (clock_->mono() - start > std::chrono::minutes(5))
      return fail(Errc::unavailable, "no progress within 5 minutes");
  }
  const auto seconds = std::chrono::duration<double>(clock_->mono() - start).count();
  const Duration used = cpu_of_this_process() - cpu;
  run.connects = transport->state(kProvider).connects;
  run.requests_per_second = static_cast<double>(options_.requests) / seconds;
  run.cpu_us = std::chrono::duration<double, std::micro>(used).count() /
               static_cast<double>(options_.requests);
  run.foreign_cpu =
      std::chrono::duration<double>(cpu_of_machine() - machine - used).count() / seconds;
  return run;
}

void TransportBench::report(const std::vector<Run>& own,
                            const std::vector<LoadRun>& reference) const {
  std::vector<double> own_cpu;
  std::vector<double> own_rate;
  std::vector<double> reference_cpu;
  std::vector<double> reference_rate;
  for (const Run& r : own) {
    own_cpu.push_back(r.cpu_us);
    own_rate.push_back(r.requests_per_second);
  }
  for (const LoadRun& r : reference) {
    reference_cpu.push_back(r.cpu_us);
    reference_rate.push_back(r.requests_per_second);
  }
  const double p1 = median(own_cpu) / median(reference_cpu);
  const double p2 = median(own_rate) / median(reference_rate);
  if (common_.json) {
    const Json j{{"requests", options_.requests},
                 {"rounds", own.size()},
                 {"connections", options_.connections},
                 {"streams", options_.streams},
                 {"cpu_us", median(own_cpu)},
                 {"h2load_cpu_us", median(reference_cpu)},
                 {"rate", median(own_rate)},
                 {"h2load_rate", median(reference_rate)},
                 {"p1_cpu_ratio", p1},
                 {"p2_rate_ratio", p2}};
    std::printf("%s\n", j.dump().c_str());
    return;
  }
  Table table({"sender", "CPU us/request", "requests/s", "failed", "connections", "foreign cores"});
  for (std::size_t i = 0; i < own.size(); ++i) {
    table.add({"sendonce", number(own[i].cpu_us, 2), number(own[i].requests_per_second, 0),
               std::to_string(own[i].failed), std::to_string(own[i].connects),
               number(own[i].foreign_cpu, 2)});
    table.add({"h2load", number(reference[i].cpu_us, 2),
               number(reference[i].requests_per_second, 0), std::to_string(reference[i].failed),
               std::to_string(options_.connections), "-"});
  }
  std::printf(
      "%s\nP1 CPU : h2load = %.2f (goal 1.0, floor 1.5)   P2 rate : h2load = %.2f (goal 0.9, floor "
      "0.7)\n",
      table.text().c_str(), p1, p2);
}

int TransportBench::run() {
  if (const auto ready = prepare(); !ready) return failed(ready.error());
  std::vector<Run> own;
  std::vector<LoadRun> reference;
  for (std::uint32_t round = 0; round < options_.rounds; ++round) {
    std::fprintf(stderr, "round %u of %u\n", round + 1, options_.rounds);
    const auto mine = ours();
    if (!mine) return failed(mine.error());
    own.push_back(*mine);
    const auto theirs = load_->run(options_.requests, options_.connections, options_.streams);
    if (!theirs) return failed(theirs.error());
    reference.push_back(*theirs);
  }
  report(own, reference);
  return EX_OK;
}

}  // namespace

int bench_transport(const Common& common, const BenchOptions& options) {
  return TransportBench(common, options).run();
}

}  // namespace sendonce::cli
