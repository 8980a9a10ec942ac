#include "tests/simulation/seeds.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "plugin/core/assert.hpp"
#include "plugin/core/unique_fd.hpp"

namespace sendonce::sim {
namespace {

std::uint64_t seed_at_work = 0;

constexpr std::uint64_t kLongestSeed = 120;  // seconds of the processor; they take hundredths

unsigned long long wide(std::uint64_t n) {
  return n;
}

// A broken invariant, a fault of our own, or a seed without an end: say which it was.
extern "C" void on_end(int signal) {
  char text[128];
  const int size = std::snprintf(
      text, sizeof text, "seed %llu: %s\n  repeat: sendonce-sim --seed %llu --trace\n",
      wide(seed_at_work), signal == SIGVTALRM ? "does not end" : "aborted", wide(seed_at_work));
  if (size > 0) static_cast<void>(!::write(STDERR_FILENO, text, static_cast<std::size_t>(size)));
  ::_exit(EX_SOFTWARE);
}

// ---- what a process tells the one that started it: a JSON document a line ----------------------

nlohmann::json json_of(const Totals& t) {
  return {{"probes", t.probes.hits},    {"crashes", t.probes.crashes}, {"census", t.census},
          {"played", t.played},         {"failed", t.failed},          {"lives", t.lives},
          {"hours", t.simulated_hours}, {"cut_short", t.cut_short}};
}

Totals totals_of(const nlohmann::json& j) {
  Totals t;
  t.probes.hits = j.at("probes").get<decltype(t.probes.hits)>();
  t.probes.crashes = j.at("crashes").get<decltype(t.probes.crashes)>();
  t.census = j.at("census").get<decltype(t.census)>();
  t.played = j.at("played").get<std::uint64_t>();
  t.failed = j.at("failed").get<std::uint64_t>();
  t.lives = j.at("lives").get<std::uint64_t>();
  t.simulated_hours = j.at("hours").get<double>();
  t.cut_short = j.at("cut_short").get<bool>();
  return t;
}

// ---- how far it is --------------------------------------------------------------------------

class Progress {
 public:
  explicit Progress(std::uint64_t all) : all_(all) {}
  ~Progress() {
    if (terminal_) std::printf("\r");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void played(std::uint64_t done) {
    const std::uint64_t step = terminal_ ? 50 : 10'000;
    if (done / step == shown_ / step) return;
    shown_ = done;
    std::printf("%s%llu of %llu seeds%s", terminal_ ? "\r" : "", wide(done), wide(all_),
                terminal_ ? "" : "\n");
    std::fflush(stdout);
  }

 private:
  const bool terminal_ = ::isatty(STDOUT_FILENO) != 0;
  const std::uint64_t all_;
  std::uint64_t shown_ = 0;
};

// ---- one process, and several -----------------------------------------------------------------

// Every `jobs`th seed of the range, beginning with number `share`.
Totals play_share(const PlayOptions& options, unsigned share,
                  const std::function<void(std::uint64_t)>& progress) {
  Totals totals;
  for (std::uint64_t i = share; i < options.range.size(); i += options.jobs) {
    const std::uint64_t seed = options.range[i];
    const Outcome outcome = play(seed, false);
    totals.add(outcome);
    if (!report(seed, outcome)) {
      ++totals.failed;
      totals.cut_short = !options.keep_going;
      if (totals.cut_short) break;
    }
    progress(totals.played);
  }
  return totals;
}

[[noreturn]] void be_a_player(const PlayOptions& options, unsigned share, int to) {
  constexpr std::uint64_t kTellEvery = 10;
  const auto tell = [to](const nlohmann::json& what) {
    const std::string line = what.dump() + "\n";
    if (::write(to, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
      ::_exit(EX_IOERR);  // nobody listens any more
  };
  const Totals totals = play_share(options, share, [&](std::uint64_t played) {
    if (played % kTellEvery == 0) tell(played);
  });
  tell(json_of(totals));
  std::fflush(stdout);
  ::_exit(totals.failed == 0 ? EX_OK : EX_SOFTWARE);
}

class Player {
 public:
  Player(const PlayOptions& options, unsigned share) {
    int ends[2];
    SO_ASSERT(::pipe(ends) == 0);
    from_ = UniqueFd(ends[0]);
    const UniqueFd to(ends[1]);
    std::fflush(stdout);
    pid_ = ::fork();
    SO_ASSERT(pid_ >= 0);
    if (pid_ == 0) be_a_player(options, share, to.get());
  }

  [[nodiscard]] bool talking() const { return from_.get() >= 0; }
  [[nodiscard]] int fd() const { return from_.get(); }
  [[nodiscard]] std::uint64_t played() const { return played_; }

  // Reads what is there. At its end the process is waited for.
  void listen() {
    char bytes[4096];
    const ssize_t size = ::read(from_.get(), bytes, sizeof bytes);
    if (size > 0) {
      text_.append(bytes, static_cast<std::size_t>(size));
      for (auto end = text_.find('\n'); end != std::string::npos; end = text_.find('\n')) {
        take(nlohmann::json::parse(text_.substr(0, end)));
        text_.erase(0, end + 1);
      }
      return;
    }
    from_.reset();
    static_cast<void>(::waitpid(pid_, nullptr, 0));
  }

  void stop() const { static_cast<void>(::kill(pid_, SIGTERM)); }

  // Of one that died without a last word: what it had played, and a failure.
  [[nodiscard]] Totals totals() const {
    if (totals_) return *totals_;
    Totals died;
    died.played = played_;
    died.failed = 1;
    died.cut_short = true;
    return died;
  }
  [[nodiscard]] bool failed() const { return !talking() && totals().failed != 0; }

 private:
  void take(const nlohmann::json& said) {
    if (said.is_number()) {
      played_ = said.get<std::uint64_t>();
      return;
    }
    totals_ = totals_of(said);
    played_ = totals_->played;
  }

  UniqueFd from_{};
  pid_t pid_ = -1;
  std::string text_{};
  std::uint64_t played_ = 0;
  std::optional<Totals> totals_{};
};

// Until one of them has said something or left. False: none is left.
bool listen_to(std::vector<Player>& players) {
  std::vector<pollfd> waits;
  std::vector<Player*> who;
  for (Player& p : players) {
    if (!p.talking()) continue;
    waits.push_back({.fd = p.fd(), .events = POLLIN, .revents = 0});
    who.push_back(&p);
  }
  if (waits.empty()) return false;
  if (::poll(waits.data(), waits.size(), -1) < 0) return true;
  for (std::size_t i = 0; i < waits.size(); ++i)
    if (waits[i].revents != 0) who[i]->listen();
  return true;
}

Totals play_in_processes(const PlayOptions& options, Progress& progress) {
  std::vector<Player> players;
  for (unsigned share = 0; share < options.jobs; ++share) players.emplace_back(options, share);
  bool stopping = false;
  while (listen_to(players)) {
    std::uint64_t played = 0;
    bool failed = false;
    for (const Player& p : players) {
      played += p.played();
      failed = failed || p.failed();
    }
    progress.played(played);
    if (!failed || options.keep_going || stopping) continue;
    stopping = true;
    for (const Player& p : players)
      if (p.talking()) p.stop();
  }
  Totals totals;
  for (const Player& p : players) totals.add(p.totals());
  return totals;
}

}  // namespace

void Totals::add(const Outcome& outcome) {
  probes.add(outcome.probes);
  for (const auto& [what, n] : outcome.census) census[what] += n;
  ++played;
  lives += outcome.lives;
  simulated_hours += std::chrono::duration<double>(outcome.simulated).count() / 3600;
}

void Totals::add(const Totals& other) {
  probes.add(other.probes);
  for (const auto& [what, n] : other.census) census[what] += n;
  played += other.played;
  failed += other.failed;
  lives += other.lives;
  simulated_hours += other.simulated_hours;
  cut_short = cut_short || other.cut_short;
}

void watch_seeds() {
  for (const int signal : {SIGABRT, SIGSEGV, SIGVTALRM})
    static_cast<void>(std::signal(signal, on_end));
}

Outcome play(std::uint64_t seed, bool trace) {
  seed_at_work = seed;
  const itimerval most{.it_interval = {}, .it_value = {.tv_sec = kLongestSeed, .tv_usec = 0}};
  static_cast<void>(::setitimer(ITIMER_VIRTUAL, &most, nullptr));
  return simulate(seed, trace);
}

bool report(std::uint64_t seed, const Outcome& outcome) {
  if (!outcome.broken) return true;
  const std::string law =
      outcome.broken->law == 0 ? "" : "law " + std::to_string(outcome.broken->law) + ": ";
  std::printf("seed %llu: BROKEN: %s%s\n  repeat: sendonce-sim --seed %llu --trace\n", wide(seed),
              law.c_str(), outcome.broken->text.c_str(), wide(seed));
  return false;
}

Totals play_all(const PlayOptions& options) {
  Progress progress(options.range.size());
  if (options.jobs > 1) return play_in_processes(options, progress);
  return play_share(options, 0, [&](std::uint64_t played) { progress.played(played); });
}

}  // namespace sendonce::sim
