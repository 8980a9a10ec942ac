// sendonce-soak: does anything grow?
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <fstream>

#include <CLI/CLI.hpp>
#include <sysexits.h>

#include "plugin/cli/output.hpp"
#include "tests/truth/program.hpp"
#include "tests/truth/soak.hpp"

namespace sendonce::truth {
namespace {

constexpr const char* kFooter = R"(
Faults: the provider resets, stalls, leaves, answers 5xx and 429; nats-server is killed every 97 s, the
daemon stopped for 3 s every 61 s. Rows are forgotten after 75 s. After a warm-up of 135 s no line
through the measurements (least squares) may rise by more than what is allowed.

Example:
  tests/truth/soak --minutes 30 --csv soak.csv --svg docs/soak.svg

Exit: 0 nothing grows; 70 something does; 69 something that is needed does not start; 64 usage.)";

// The number of rows goes up and down over minutes: of less time a line says nothing.
constexpr std::size_t kLongEnough = 4;  // times the warm-up

struct Arguments {
  SoakOptions soak{};
  std::string csv{};
  std::string svg{};
};

std::string text_of(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f", value);
  return text.data();
}

bool print(const Soak& soak) {
  cli::Table table({"", "unit", "mean", "grew by", "may grow by", ""});
  bool grows = false;
  for (const Series& s : soak.series()) {
    const Trend t = trend(s, soak.times(), soak.warm_up());
    grows = grows || t.grows;
    table.add({s.name, s.unit, text_of(t.mean), text_of(t.growth), text_of(t.allowed),
               t.grows ? "GROWS" : ""});
  }
  std::printf(
      "%s\n%llu messages; nats-server killed %llu times, the daemon stopped %llu times; "
      "%zu samples, %zu of them warming up\n",
      table.text().c_str(), static_cast<unsigned long long>(soak.published()),
      static_cast<unsigned long long>(soak.nats_kills()),
      static_cast<unsigned long long>(soak.freezes()), soak.times().size(),
      std::min(soak.warm_up(), soak.times().size()));
  return grows;
}

int play(const Arguments& arguments) {
  Soak soak(arguments.soak);
  const auto done = soak.run();
  std::fprintf(stderr, "\n");
  if (!done) {
    std::fprintf(stderr, "sendonce-soak: %s\nthe daemon's last words:\n%s\n",
                 done.error().text.c_str(), soak.daemons_last_words().c_str());
    return done.error().code == Errc::unavailable ? EX_UNAVAILABLE : EX_SOFTWARE;
  }
  if (!arguments.csv.empty()) std::ofstream(arguments.csv) << csv(soak.times(), soak.series());
  if (!arguments.svg.empty()) std::ofstream(arguments.svg) << svg(soak.times(), soak.series());
  const bool grows = print(soak);
  if (soak.times().size() < soak.warm_up() * kLongEnough) {
    std::fprintf(stderr, "sendonce-soak: too short to say whether anything grows\n");
    return EX_OK;
  }
  return grows ? EX_SOFTWARE : EX_OK;
}

int run(int argc, char** argv) {
  Arguments a;
  CLI::App app("A daemon under load and faults: memory, descriptors, threads, ledger, connections.",
               "sendonce-soak");
  app.footer(kFooter);
  app.add_option("--minutes", a.soak.minutes, "How long")->capture_default_str();
  app.add_option("--rate", a.soak.rate, "Messages a second")->capture_default_str();
  app.add_option("--seed", a.soak.seed, "Of the messages")->capture_default_str();
  app.add_option("--csv", a.csv, "Write the measurements there");
  app.add_option("--svg", a.svg, "Write a plot of them there");
  if (const auto ended = parse(app, argc, argv)) return *ended;
  return play(a);
}

}  // namespace
}  // namespace sendonce::truth

int main(int argc, char** argv) {
  return sendonce::truth::guarded(sendonce::truth::run, argc, argv);
}
