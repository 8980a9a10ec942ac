// sendonce-truth: what the provider saw, against what the ledger and the streams say, after faults.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <sysexits.h>

#include "plugin/cli/output.hpp"
#include "tests/truth/play.hpp"
#include "tests/truth/program.hpp"

namespace sendonce::truth {
namespace {

constexpr std::size_t kShown = 30;  // of broken promises

constexpr const char* kDescription =
    "Plays messages through a real nats-server, sendonced and the fake provider, with faults, and\n"
    "then compares what the provider recorded with the ledger, the outcome stream and the\n"
    "dead-letter stream, key by key.";

constexpr const char* kFooter = R"(
Faults: kill, crash-points (each named point once), stop (SIGSTOP longer than a lease), nats (killed
and started again), disk-full (needs root for a loop mount), clock (steps of 30 s); of the provider:
resets, goaway, stalls, 5xx, 429; all.

Examples:
  tests/truth/run --policy both --kills 20 --messages 3000 --faults all --seed 7
  tests/truth/run --policy give-up --kills 200 --messages 100000 --faults kill,crash-points,5xx

Exit: 0 every promise holds; 70 one is broken: each is printed with its story, by the short form of
its key; 69 something that is needed does not start; 64 usage.)";

struct Arguments {
  PlayOptions play{};
  std::string faults = "all";
  bool json = false;
  bool suite = false;
};

nlohmann::ordered_json json_of(const Arguments& arguments, Play& play,
                               const std::vector<cli::ClassTally>& classes,
                               const std::vector<cli::Broken>& broken) {
  nlohmann::ordered_json out{{"policy", arguments.play.plan.policy},
                             {"seed", arguments.play.plan.seed},
                             {"messages", arguments.play.plan.messages},
                             {"done", play.done()},
                             {"skipped", play.skipped()},
                             {"classes", nlohmann::ordered_json::parse(cli::tally_json(classes))},
                             {"holds", broken.empty()}};
  out["broken"] = nlohmann::ordered_json::array();
  for (const cli::Broken& b : broken)
    out["broken"].push_back(
        {{"promise", b.promise}, {"key", b.key}, {"class", b.message_class}, {"story", b.story}});
  return out;
}

void print(const Arguments& arguments, Play& play, const std::vector<cli::ClassTally>& classes,
           const std::vector<cli::Broken>& broken) {
  if (arguments.json) {
    std::printf("%s\n", json_of(arguments, play, classes, broken).dump().c_str());
    return;
  }
  std::printf("%s\n", cli::tally_table(classes).c_str());
  for (const auto& [what, times] : play.done())
    std::printf("%6llu  %s\n", static_cast<unsigned long long>(times), what.c_str());
  for (const std::string& why : play.skipped()) std::printf("skipped: %s\n", why.c_str());
  if (broken.empty()) {
    std::printf("Every promise holds.\n");
  } else {
    std::printf("Broken promises: %zu\n%s", broken.size(),
                cli::broken_text(broken, kShown).c_str());
  }
}

int play_once(const Arguments& arguments) {
  Play play(arguments.play);
  const auto played = play.run();
  if (!played) {
    std::fprintf(stderr, "\nsendonce-truth: %s\nthe daemon's last words:\n%s\n",
                 played.error().text.c_str(), play.daemons_last_words().c_str());
  }
  const std::string kept = play.close();
  if (!kept.empty()) std::fprintf(stderr, "kept: %s\n", kept.c_str());
  if (!played) return played.error().code == Errc::unavailable ? EX_UNAVAILABLE : EX_SOFTWARE;
  const auto classes = play.tally().finish();
  const auto broken = cli::audit(play.tally(), play.context());
  print(arguments, play, classes, broken);
  return broken.empty() ? EX_OK : EX_SOFTWARE;
}

// What ctest runs: short, or with SENDONCE_TEST_LONG=1 the long one under each policy.
int play_suite(Arguments& arguments) {
  const char* length = std::getenv("SENDONCE_TEST_LONG");
  if (length == nullptr || *length != '1') return play_once(arguments);
  arguments.play.plan.kills = 200;
  arguments.play.plan.messages = 100'000;
  int worst = EX_OK;
  for (const char* policy : {"give-up", "resend"}) {
    arguments.play.plan.policy = policy;
    worst = std::max(worst, play_once(arguments));
  }
  return worst;
}

int run(int argc, char** argv) {
  Arguments a;
  Options& plan = a.play.plan;
  CLI::App app(kDescription, "sendonce-truth");
  app.footer(kFooter);
  app.add_option("--policy", plan.policy, "When in doubt: give-up, resend, or a class of each")
      ->check(CLI::IsMember({"give-up", "resend", "both"}))
      ->capture_default_str();
  app.add_option("--kills", plan.kills, "How often to kill the daemon")->capture_default_str();
  app.add_option("--messages", plan.messages, "How many to publish, about")->capture_default_str();
  app.add_option("--faults", a.faults, "Which, with commas between")->capture_default_str();
  app.add_option("--seed", plan.seed, "Of messages and faults")->capture_default_str();
  app.add_flag("--json", a.json, "One JSON object instead of tables");
  app.add_flag("--keep", a.play.keep, "Keep logs, record and ledger");
  app.add_flag("--suite", a.suite, "The fixed run; long with SENDONCE_TEST_LONG=1");
  app.add_option("--clock-step", a.play.clock_step, "The library that steps the daemon's clock")
      ->default_val(cli::beside_us("clock_step.so"));
  if (const auto ended = parse(app, argc, argv)) return *ended;
  auto faults = parse_faults(a.faults);
  if (!faults) {
    std::fprintf(stderr, "sendonce-truth: %s\n", faults.error().text.c_str());
    return EX_USAGE;
  }
  plan.faults = std::move(*faults);
  return a.suite ? play_suite(a) : play_once(a);
}

}  // namespace
}  // namespace sendonce::truth

int main(int argc, char** argv) {
  return sendonce::truth::guarded(sendonce::truth::run, argc, argv);
}
