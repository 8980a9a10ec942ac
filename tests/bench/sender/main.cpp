// Our HTTP/2 sender beside others on the same fake provider, in one run and in turns: h2load,
// libcurl's own HTTP/2 (P3), @parse/node-apn (P6 of docs/performance.md).
#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <sysexits.h>

#include "plugin/cli/bench/measure.hpp"
#include "plugin/cli/bench/own_sender.hpp"
#include "plugin/cli/bench/ratio.hpp"
#include "plugin/cli/output.hpp"
#include "tests/bench/sender/curl_sender.hpp"

namespace sendonce::bench {
namespace {

using cli::LoadRun;

struct Options {
  std::uint64_t requests = 200'000;
  std::uint32_t streams = 100;
  int rounds = 3;
  std::vector<std::string> senders{"sendonce", "h2load", "libcurl", "node-apn"};
  std::string node_modules{};
  cli::ProviderPlace provider{};  // one that runs already
  bool json = false;
};

struct Sender {
  std::string name{};
  std::function<Result<LoadRun>()> run{};
  std::vector<LoadRun> runs{};
};

Result<std::unique_ptr<cli::World>> make_world() {
  return cli::World::make(
      {.classes = cli::bench_class(false, 0), .record = false, .lenient = true, .setup = false});
}

// It mints a provider token of its own, which APNs takes from the same team and key only every 20
// minutes: to a provider of its own.
Result<LoadRun> run_node_apn(const Options& options, const Clock& clock) {
  if (options.node_modules.empty())
    return fail(Errc::unavailable,
                "npm install @parse/node-apn somewhere, and name the place with --node-modules");
  SO_TRY(const auto world, make_world());
  const std::string& endpoint = world->config().providers.front().endpoint;
  const std::string out = world->path("node.out");
  const Duration before = cli::cpu_of_children();
  const MonoTime start = clock.mono();
  SO_TRY(auto process,
         test::Process::start(
             {.program = "node",
              .args = {SENDONCE_SOURCE_DIR "/tests/bench/sender/node_apn.mjs", options.node_modules,
                       endpoint.substr(endpoint.rfind(':') + 1), world->path("ca.pem"),
                       world->path("apns.p8"), std::to_string(options.requests)},
              .output = out}));
  if (!process.wait(std::chrono::minutes(5))) return fail(Errc::unavailable, "it does not end");
  const std::string text = test::read_file(out);
  std::uint64_t accepted = 0;
  if (std::sscanf(text.c_str(), "%lu", &accepted) != 1)
    return fail(Errc::unavailable, "it said: " + text);
  const auto n = static_cast<double>(options.requests);
  const std::chrono::duration<double, std::micro> used = cli::cpu_of_children() - before;
  return LoadRun{
      .requests_per_second = n / std::chrono::duration<double>(clock.mono() - start).count(),
      .cpu_us = used.count() / n,
      .failed = options.requests - accepted};
}

double cpu_us(const std::vector<Sender>& all, std::string_view name) {
  const auto at = std::ranges::find(all, name, &Sender::name);
  if (at == all.end() || at->runs.empty()) return 0;
  std::vector<double> values;
  for (const LoadRun& r : at->runs) values.push_back(r.cpu_us);
  return cli::median(std::move(values));
}

void report(const Options& options, const std::vector<Sender>& all) {
  cli::Table table({"sender", "CPU us/request", "requests/s", "failed"});
  for (const Sender& s : all)
    for (const LoadRun& r : s.runs)
      table.add({s.name, cli::number(r.cpu_us, 2), cli::number(r.requests_per_second, 0),
                 std::to_string(r.failed)});
  std::vector<cli::Ratio> ratios;
  const double own = cpu_us(all, "sendonce");
  if (const double other = cpu_us(all, "h2load"); own > 0 && other > 0)
    ratios.push_back({"P1", "CPU a request : h2load", own / other, 1.0, 1.5});
  if (const double other = cpu_us(all, "libcurl"); own > 0 && other > 0)
    ratios.push_back({"P3", "CPU a request : libcurl", own / other, 0.1, 0.2});
  if (options.json) {
    std::printf("%s\n", cli::ratio_json(ratios).c_str());
    return;
  }
  std::printf("%s\n%s", table.text().c_str(), cli::ratio_lines(ratios).c_str());
  const double h2load = cpu_us(all, "h2load");
  const double node = cpu_us(all, "node-apn");
  if (h2load > 0 && node > 0)
    std::printf("P6 is P5 of `sendonce bench pipeline` times %.4f, h2load : node-apn\n",
                h2load / node);
}

// One that cannot run here is named and left out.
void measure(const Options& options, std::vector<Sender>& all) {
  for (int round = 0; round < options.rounds; ++round) {
    for (Sender& sender : all) {
      std::fprintf(stderr, "round %d of %d: %s\n", round + 1, options.rounds, sender.name.c_str());
      if (const auto run = sender.run())
        sender.runs.push_back(*run);
      else
        std::fprintf(stderr, "not compared: %s: %s\n", sender.name.c_str(),
                     run.error().text.c_str());
    }
  }
}

int run(const Options& o) {
  const auto clock = make_system_clock();
  std::unique_ptr<cli::World> world;
  if (o.provider.endpoint.empty()) {
    auto made = make_world();
    if (!made) return cli::failed(made.error());
    world = std::move(*made);
  }
  const auto load = cli::H2load::make(world ? cli::place_of(*world) : o.provider, *clock);
  if (!load) return cli::failed(load.error());
  std::vector<Sender> all;
  for (const std::string& name : o.senders) {
    if (name == "sendonce")
      all.push_back({name, [&]() -> Result<LoadRun> {
                       SO_TRY(const cli::OwnRun own,
                              cli::run_own_sender(*load, *clock, o.requests, 1, o.streams));
                       return own;
                     }});
    if (name == "h2load")
      all.push_back({name, [&] { return load->run(o.requests, 1, o.streams); }});
    if (name == "libcurl")
      all.push_back({name, [&] { return run_curl_sender(*load, *clock, o.requests, o.streams); }});
    if (name == "node-apn") all.push_back({name, [&] { return run_node_apn(o, *clock); }});
  }
  measure(o, all);
  report(o, all);
  return EX_OK;
}

}  // namespace
}  // namespace sendonce::bench

int main(int argc, char** argv) {
  sendonce::bench::Options options;
  CLI::App app("Our HTTP/2 sender beside others on the same fake provider, in turns.");
  app.add_option("--requests", options.requests, "Requests a round")->capture_default_str();
  app.add_option("--streams", options.streams, "Streams of the one connection")
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "Rounds; medians are compared")->capture_default_str();
  app.add_option("--senders", options.senders, "Which; the others are left out")->delimiter(',');
  app.add_option("--node-modules", options.node_modules, "Where @parse/node-apn is installed");
  auto* provider = app.add_option("--provider", options.provider.endpoint,
                                  "A fake provider that runs already: its URL");
  app.add_option("--credentials", options.provider.directory, "The directory of its ca.pem")
      ->needs(provider);
  app.add_flag("--json", options.json, "The ratios as JSON");
  app.footer("\nexample: bench_sender --requests 100000 --node-modules ~/apn");
  CLI11_PARSE(app, argc, argv);
  return sendonce::bench::run(options);
}
