// bench transport: our sender against h2load, the same provider, the same requests, in turns.
#include <algorithm>
#include <cstdio>
#include <utility>

#include <nlohmann/json.hpp>
#include <sysexits.h>

#include "plugin/cli/bench/h2load.hpp"
#include "plugin/cli/bench/measure.hpp"
#include "plugin/cli/bench/own_sender.hpp"
#include "plugin/cli/bench/ratio.hpp"
#include "plugin/cli/commands.hpp"
#include "plugin/cli/demo/world.hpp"
#include "plugin/cli/output.hpp"

namespace sendonce::cli {
namespace {

using Json = nlohmann::ordered_json;

class TransportBench {
 public:
  TransportBench(const Common& common, const BenchOptions& options)
      : common_(common), options_(options) {}
  int run();

 private:
  Result<void> measure(const H2load& load);
  [[nodiscard]] std::vector<Ratio> ratios() const;
  [[nodiscard]] std::string json() const;
  [[nodiscard]] std::string text() const;

  const Common& common_;
  const BenchOptions& options_;
  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::vector<OwnRun> own_{};
  std::vector<LoadRun> reference_{};
};

template <typename Run>
double mid(const std::vector<Run>& runs, double LoadRun::* member) {
  std::vector<double> values;
  for (const LoadRun& r : runs) values.push_back(r.*member);
  return median(std::move(values));
}

double most(const std::vector<OwnRun>& runs, std::uint64_t OwnRun::* member) {
  std::uint64_t n = 0;
  for (const OwnRun& r : runs) n = std::max(n, r.*member);
  return static_cast<double>(n);
}

std::vector<Ratio> TransportBench::ratios() const {
  const double rate = mid(own_, &LoadRun::requests_per_second);
  std::vector<Ratio> out{
      {"P1", "CPU a request : h2load",
       mid(own_, &LoadRun::cpu_us) / mid(reference_, &LoadRun::cpu_us), 1.0, 1.5},
      {"P2", "rate : h2load", rate / mid(reference_, &LoadRun::requests_per_second), 0.9, 0.7}};
  const double connections = options_.connections;
  if (options_.latency_ms > 0) {
    const double ceiling = connections * options_.streams * 1000 / options_.latency_ms;
    out.push_back({"P16", "rate : streams / latency", rate / ceiling, 0.9, 0.8});
  }
  out.push_back({"P22", "connections", most(own_, &OwnRun::connections), connections, connections});
  out.push_back({"P22", "RST_STREAM sent", most(own_, &OwnRun::resets), 0, 0});
  return out;
}

std::string TransportBench::json() const {
  const Json j{{"requests", options_.requests},
               {"rounds", own_.size()},
               {"connections", options_.connections},
               {"streams", options_.streams},
               {"cpu_us", mid(own_, &LoadRun::cpu_us)},
               {"h2load_cpu_us", mid(reference_, &LoadRun::cpu_us)},
               {"rate", mid(own_, &LoadRun::requests_per_second)},
               {"h2load_rate", mid(reference_, &LoadRun::requests_per_second)},
               {"ratios", Json::parse(ratio_json(ratios()))}};
  return j.dump() + "\n";
}

std::string TransportBench::text() const {
  Table table({"sender", "CPU us/request", "requests/s", "failed", "foreign cores"});
  const auto add = [&](const char* name, const LoadRun& r, const std::string& foreign) {
    table.add({name, number(r.cpu_us, 2), number(r.requests_per_second, 0),
               std::to_string(r.failed), foreign});
  };
  for (std::size_t i = 0; i < own_.size(); ++i) {
    add("sendonce", own_[i], number(own_[i].foreign_cpu, 2));
    add("h2load", reference_[i], "-");
  }
  return table.text() + "\n" + ratio_lines(ratios());
}

Result<void> TransportBench::measure(const H2load& load) {
  const BenchOptions& o = options_;
  for (std::uint32_t round = 0; round < o.rounds; ++round) {
    std::fprintf(stderr, "round %u of %u\n", round + 1, o.rounds);
    SO_TRY(const OwnRun own, run_own_sender(load, *clock_, o.requests, o.connections, o.streams));
    own_.push_back(own);
    SO_TRY(const LoadRun reference, load.run(o.requests, o.connections, o.streams));
    reference_.push_back(reference);
  }
  return {};
}

int TransportBench::run() {
  const auto world = World::make({.fakeprov = options_.fakeprov,
                                  .classes = bench_class(false, 0),
                                  .record = false,
                                  .lenient = true,
                                  .latency_ms = options_.latency_ms});
  if (!world) return failed(world.error());
  const auto load = H2load::make(place_of(**world), *clock_);
  if (!load) return failed(load.error());
  if (const auto done = measure(*load); !done) return failed(done.error());
  std::fputs((common_.json ? json() : text()).c_str(), stdout);
  return EX_OK;
}

}  // namespace

int bench_transport(const Common& common, const BenchOptions& options) {
  return TransportBench(common, options).run();
}

}  // namespace sendonce::cli
