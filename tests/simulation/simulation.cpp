#include "tests/simulation/simulation.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "plugin/core/text.hpp"
#include "tests/simulation/plan.hpp"
#include "tests/simulation/process.hpp"

namespace sendonce::sim {
namespace {

using std::chrono::hours, std::chrono::milliseconds, std::chrono::minutes, std::chrono::seconds;

constexpr Duration kHealthyWithin = minutes(3);  // holds are probed every minute at the least
constexpr Duration kEndsWithin = minutes(75);    // a message is handed back for an hour at most

class Simulation {
 public:
  Simulation(std::uint64_t seed, bool trace)
      : plan_(make_plan(seed)),
        world_(seed, trace),
        book_(world_, make_policies(plan_), kSecret),
        server_(world_, book_, plan_.classes.size()),
        begin_(world_.mono()) {}

  void run();
  [[nodiscard]] Outcome outcome(std::optional<Broken> broken) const;

 private:
  static constexpr const char* kSecret = "0123456789abcdef0123456789abcdef";

  void prepare();
  void schedule();
  void play(MonoTime until, bool until_ended);
  void step();
  void boot();
  void kill(const std::string& where);
  void start_trouble(const TroublePlan& trouble);
  void trouble_of_process(const TroublePlan& trouble);
  void trouble_of_server(const TroublePlan& trouble);
  void between_cycles();
  void make_ghost(Duration length);
  void step_ghosts();
  void end_ghosts();
  void lose_ledger();
  void heal();
  void prove_health();
  [[nodiscard]] bool blocked();
  void remember();
  void replay(double copies);  // of each message, on average
  [[nodiscard]] bool steady_clock() const {
    return plan_.wall_offset == Duration(0) && plan_.drift == 0 &&
           std::ranges::none_of(plan_.troubles, [](const TroublePlan& t) {
             return t.trouble == Trouble::wall_step || t.trouble == Trouble::disconnect;
           });
  }

  Plan plan_;
  World world_;
  LawBook book_;
  Server server_;
  Disk disk_{};
  std::vector<std::unique_ptr<Service>> services_{};
  // What the checkers ask, apart from the providers of any process.
  std::unique_ptr<ApnsTokenSource> tokens_{};
  std::vector<std::unique_ptr<Provider>> references_{};
  std::unique_ptr<Process> process_{};
  struct Ghost {
    std::unique_ptr<Process> process{};
    MonoTime wakes{};
    MonoTime ends{};
  };
  std::vector<Ghost> ghosts_{};
  std::vector<std::unique_ptr<Process>> graveyard_{};  // their requests are still on their way
  MonoTime begin_;
  std::uint32_t lives_ = 0;
  std::uint32_t ledgers_ = 1;
  bool faults_ = true;
  bool draining_ = false;
  // Asked for by an event, done between two cycles of the engine.
  std::optional<Duration> ghost_for_{};
  bool drain_ = false;
  bool lose_ledger_ = false;
  std::optional<std::uint64_t> reload_{};
  std::uint64_t fresh_ = 0;
};

void Simulation::prepare() {
  disk_.tables.resize(plan_.classes.size());
  tokens_ = make_token_source();
  std::vector<LawBook::ProviderFacts> facts;
  for (std::size_t i = 0; i < plan_.providers.size(); ++i) {
    const ProviderConfig& c = plan_.providers[i];
    services_.push_back(std::make_unique<Service>(world_, c.kind));
    services_[i]->set_noise(plan_.service_noise);
    if (c.kind == ProviderKind::apns && plan_.apns_reads_times) services_[i]->read_times();
    references_.push_back(make_provider(plan_, i, *tokens_, nullptr));
    facts.push_back({.kind = c.kind,
                     .name = c.name,
                     .app_scope = references_[i]->app_scope(),
                     .provider = references_[i].get(),
                     .service = services_[i].get(),
                     .breaker_probe = c.breaker_probe,
                     .timeout = c.total});
    for (const std::string& marker : plan_.refused_content) services_[i]->refuse_content(marker);
  }
  book_.set_providers(std::move(facts));
  for (const TokenPlan& t : plan_.tokens)
    for (std::size_t i = 0; i < services_.size(); ++i) {
      if (i != t.provider && !plan_.routed) continue;
      TokenTruth& truth = services_[i]->token(t.text);
      if (t.dead) truth.dead_since = world_.true_wall() - t.dead_for;
      truth.mismatch = t.mismatch;
    }
  for (std::size_t c = 0; c < plan_.classes.size(); ++c) {
    server_.queue(c).ack_wait = plan_.classes[c].ack_wait;
    server_.queue(c).max_ack_pending = plan_.classes[c].max_ack_pending;
  }
  server_.faults() = plan_.server;
  server_.on_news = [this](std::size_t c) {
    if (process_) process_->client().news(c);
  };
  world_.before_step = [this] { book_.before_a_step_of_the_wall(); };
  world_.step_wall(plan_.wall_offset);
  world_.set_drift(plan_.drift);
}

void Simulation::schedule() {
  for (const MessagePlan& m : plan_.messages)
    world_.after(m.at, [this, &m] { server_.publish(m.message_class, m.body); });
  for (const MoodPlan& m : plan_.moods) {
    world_.after(m.begin, [this, &m] {
      if (faults_) services_[m.provider]->set_mood(m.mood);
    });
    world_.after(m.end, [this, &m] {
      if (services_[m.provider]->mood() == m.mood) services_[m.provider]->set_mood(Mood::well);
    });
  }
  for (const TroublePlan& t : plan_.troubles)
    world_.after(t.at, [this, &t] {
      if (faults_) start_trouble(t);
    });
}

void Simulation::boot() {
  ++lives_;
  draining_ = false;
  process_ = std::make_unique<Process>(
      ProcessDeps{world_, book_, server_, disk_, plan_,
                  [&] {
                    std::vector<Service*> services;
                    for (auto& s : services_) services.push_back(s.get());
                    return services;
                  }(),
                  [this]() -> Ledger* { return process_ ? &process_->ledger() : nullptr; },
                  "L" + std::to_string(ledgers_), kSecret},
      lives_);
  if (!faults_) process_->stop_faults();
  world_.tell("process", "life " + std::to_string(lives_) + " begins");
}

void Simulation::kill(const std::string& where) {
  if (!process_) return;
  world_.tell("process", "life " + std::to_string(process_->number()) + " dies " + where);
  world_.disarm();
  process_->die();
  graveyard_.push_back(std::move(process_));
  world_.after(world_.between(milliseconds(1), seconds(20)), [this] {
    if (!process_) boot();
  });
}

void Simulation::step() {
  try {
    step_ghosts();
    if (!process_) {
      world_.run_next(world_.mono() + seconds(1));
      return;
    }
    between_cycles();
    process_->step();
    if (draining_ && process_->engine().drained()) {
      world_.hit(Probe::drained_and_restarted);
      kill("drained");
    }
  } catch (const Crash& crash) {
    kill(crash.where);
    if (std::exchange(lose_ledger_, false)) lose_ledger();
  }
}

void Simulation::between_cycles() {
  if (const auto length = std::exchange(ghost_for_, std::nullopt)) make_ghost(*length);
  if (std::exchange(drain_, false)) {
    process_->engine().drain();
    draining_ = true;
  }
  if (const auto number = std::exchange(reload_, std::nullopt)) {
    world_.hit(Probe::reloaded);
    process_->reload(*number);
  }
}

void Simulation::play(MonoTime until, bool until_ended) {
  while (world_.mono() < until) {
    if (until_ended && process_ && disk_.outbox.empty() && book_.all_ended()) return;
    step();
  }
}

void Simulation::step_ghosts() {
  for (const Ghost& ghost : ghosts_) {
    if (ghost.process->dead()) continue;
    // Never from an event: one may run while the engine of this very ghost is being stepped.
    if (world_.mono() >= ghost.ends) {
      ghost.process->die();
    } else if (world_.mono() >= ghost.wakes && world_.chance(0.3)) {
      ghost.process->engine().poll(Duration::zero());
    }
  }
}

void Simulation::end_ghosts() {
  for (const Ghost& ghost : ghosts_)
    if (!ghost.process->dead()) ghost.process->die();
}

void Simulation::make_ghost(Duration length) {
  if (!process_) return;
  world_.tell("process", "life " + std::to_string(process_->number()) + " stands still");
  world_.disarm();
  process_->become_ghost();
  ghosts_.push_back({.process = std::move(process_),
                     .wakes = world_.mono() + length,
                     .ends = world_.mono() + length + seconds(5)});
  boot();
  if (world_.chance(0.5)) server_.forget_acks_of_late();
}

void Simulation::start_trouble(const TroublePlan& t) {
  if (world_.tracing()) world_.tell("trouble", std::string(name(t.trouble)));
  switch (t.trouble) {
    case Trouble::crash:
    case Trouble::stall:
    case Trouble::kill:
    case Trouble::ghost:
    case Trouble::drain:
    case Trouble::reload:
    case Trouble::ledger_full:
    case Trouble::replies_full:
      return trouble_of_process(t);
    case Trouble::wall_step: {
      const Duration by = t.number % 2 == 0 ? -t.length * 100 : t.length * 60;
      world_.hit(by > Duration(0) ? Probe::wall_stepped_forward : Probe::wall_stepped_back);
      return world_.step_wall(by);
    }
    case Trouble::lose_ledger:
      lose_ledger_ = true;
      throw Crash{"with its ledger"};
    case Trouble::disconnect:
    case Trouble::recreate_consumer:
    case Trouble::recreate_stream:
    case Trouble::purge:
    case Trouble::server_restart:
    case Trouble::outcome_stream_missing:
      return trouble_of_server(t);
  }
}

void Simulation::trouble_of_process(const TroublePlan& t) {
  if (!process_) return;
  const Trouble what = t.trouble;
  if (what == Trouble::crash) world_.arm_crash(t.number, t.place);
  if (what == Trouble::stall) world_.arm_stall(t.number, t.length);
  if (what == Trouble::kill) throw Crash{"by a signal"};
  if (what == Trouble::ghost) ghost_for_ = t.length;
  if (what == Trouble::drain) drain_ = true;
  if (what == Trouble::reload) reload_ = t.number;
  if (what == Trouble::ledger_full) {
    process_->ledger().set_rows_max(1);
    world_.after(t.length, [this] {
      if (process_) process_->ledger().set_rows_max(0);
    });
  }
  if (what == Trouble::replies_full) {
    process_->client().set_full(true);
    world_.after(t.length, [this] {
      if (process_) process_->client().set_full(false);
    });
  }
}

void Simulation::trouble_of_server(const TroublePlan& t) {
  const std::size_t c = t.number % plan_.classes.size();
  const bool holds = !server_.queue(c).messages.empty() && process_;
  const auto learn_soon = [&] {
    world_.after(world_.between(milliseconds(1), seconds(3)), [this, c] {
      if (process_) process_->client().learn(c);
    });
  };
  const Trouble what = t.trouble;
  if (what == Trouble::disconnect) {
    if (process_) process_->client().disconnect();
    world_.after(t.length, [this] {
      if (process_) process_->client().reconnect();
    });
  }
  if (what == Trouble::recreate_consumer) {
    if (holds) world_.hit(Probe::consumer_recreated_while_held);
    server_.recreate_consumer(c);
    learn_soon();
  }
  if (what == Trouble::recreate_stream) {
    if (holds) world_.hit(Probe::stream_recreated_backwards);
    server_.recreate_stream(c);
    learn_soon();
  }
  if (what == Trouble::purge) {
    if (holds) world_.hit(Probe::stream_purged_while_held);
    server_.purge(c);
  }
  if (what == Trouble::server_restart) server_.forget_acks_of_late();
  if (what == Trouble::outcome_stream_missing) {
    server_.faults().outcome_stream_missing = true;
    world_.after(t.length, [this] { server_.faults().outcome_stream_missing = false; });
  }
}

// A new, empty one takes its place, and knows that older messages may have been sent.
void Simulation::lose_ledger() {
  end_ghosts();
  const std::uint32_t incarnation = disk_.incarnation;
  disk_ = Disk{};
  disk_.incarnation = incarnation;
  disk_.tables.resize(plan_.classes.size());
  for (Disk::Table& table : disk_.tables) table.adopted_at = world_.true_wall();
  book_.ledger_lost(world_.true_wall());
  ++ledgers_;
}

void Simulation::heal() {
  world_.tell("world", "everything heals");
  faults_ = false;
  world_.disarm();
  world_.right_clock();
  server_.faults() = ServerFaults{};
  for (auto& service : services_) {
    if (service->mood() == Mood::wrong_environment) kill("to be configured anew");
    if (service->mood() != Mood::well) service->set_mood(Mood::well);
    service->set_noise(0);
  }
  end_ghosts();
  if (!process_) boot();
  process_->stop_faults();
  process_->client().reconnect();
  for (std::size_t c = 0; c < plan_.classes.size(); ++c) process_->client().learn(c);
}

std::string why_not(const EngineReport& report, std::size_t message_class, std::size_t provider) {
  const ProviderReport& p = report.providers[provider];
  return report.classes[message_class].not_ready + ", " + std::to_string(p.queued) + " queued, " +
         std::to_string(p.holds.size()) + " holds, room for " + std::to_string(p.pool.room);
}

// Law 9 beyond deadlines: what is sent now must go out now, at every provider and in every class.
void Simulation::prove_health() {
  play(world_.mono() + kHealthyWithin, false);
  // A clock that was behind has messages handed back for an hour, and few of them fill a small
  // class.
  const MonoTime patience = world_.mono() + hours(1) + kHealthyWithin;
  const auto still_blocked = [&] {
    return !steady_clock() && world_.mono() < patience && blocked();
  };
  while (still_blocked()) step();
  std::vector<const Published*> fresh;
  for (std::size_t c = 0; c < plan_.classes.size(); ++c)
    for (std::size_t p = 0; p < plan_.providers.size(); ++p)
      fresh.push_back(&server_.publish(c, fresh_body(plan_, p, ++fresh_)));
  const MonoTime until = world_.mono() + kHealthyWithin;
  const auto all_acked = [&] {
    return std::ranges::all_of(fresh, [](const Published* m) { return m->acked; });
  };
  while ((world_.mono() < until || still_blocked()) && !all_acked()) step();
  if (steady_clock()) book_.check_nothing_overdue();
  for (const Published* m : fresh) {
    const Known& known = *m->wanted.at(0).known;
    if (known.row && known.row->state == State::accepted) continue;
    broken(9, "a fresh message does not get through: " + short_text(known.key) + " is " +
                  (known.row ? std::string(name(known.row->state)) + ", " + known.row->reason
                             : "not claimed") +
                  "; " +
                  (process_ ? why_not(process_->engine().report(), m->message_class, known.provider)
                            : "no process"));
  }
}

// Law 13: everything is published once more within its retention, after the clock was wrong for a
// while, and nothing may be sent again.
void Simulation::remember() {
  replay(0.3);
  play(world_.mono() + minutes(30), true);
  world_.step_wall(hours(100));
  play(world_.mono() + seconds(10), false);
  world_.right_clock();
  replay(0.3);
  play(world_.mono() + minutes(30), true);
  if (!world_.chance(0.3)) return;
  // Long after: forgotten, by both clocks.
  for (int i = 0; i < 30; ++i) {
    world_.run_until(world_.mono() + minutes(20));
    for (std::size_t c = 0; c < plan_.classes.size(); ++c)
      server_.publish(c, fresh_body(plan_, 0, ++fresh_));
    play(world_.mono() + seconds(2), false);
  }
  play(world_.mono() + minutes(30), true);
}

bool Simulation::blocked() {
  if (!process_) return true;
  // What an earlier life handed back fills the consumer, and this one cannot know. The fresh ones
  // need room beside it.
  for (std::size_t c = 0; c < plan_.classes.size(); ++c)
    if ((server_.unacked(c) + plan_.providers.size()) * 5 >= plan_.classes[c].max_ack_pending * 4)
      return true;
  return std::ranges::any_of(process_->engine().report().classes, [](const auto& c) {
    return c.not_ready == "too many messages wait for a retry" ||
           c.not_ready.starts_with("blocked by");
  });
}

void Simulation::replay(double copies) {
  world_.hit(Probe::duplicate_within_retention);
  std::vector<std::pair<std::size_t, std::string>> bodies;
  for (double left = copies; left > 0; left -= 1)
    for (const MessagePlan& m : plan_.messages)
      if (world_.chance(left)) bodies.emplace_back(m.message_class, m.body);
  for (auto& [c, body] : bodies) server_.publish(c, std::move(body));
}

void Simulation::run() {
  prepare();
  schedule();
  boot();
  play(begin_ + plan_.length, false);
  heal();
  if (plan_.crowd) replay(6.0);
  prove_health();
  play(world_.mono() + kEndsWithin, true);
  if (!book_.all_ended()) broken(9, "not everything has ended: " + book_.what_is_open());
  book_.check_end(plan_.calm, disk_.outbox.size());
  remember();
  if (!book_.all_ended()) broken(9, "not everything has ended: " + book_.what_is_open());
  book_.check_end(false, disk_.outbox.size());
}

Outcome Simulation::outcome(std::optional<Broken> broken) const {
  Outcome out{.broken = std::move(broken),
              .probes = world_.probes(),
              .census = book_.census(),
              .lives = lives_,
              .simulated = world_.mono() - begin_};
  std::uint64_t digest = 1469598103934665603ULL;
  const auto mix = [&](std::string_view bytes) {
    for (const char c : bytes) digest = (digest ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  };
  for (const Disk::Table& table : disk_.tables)
    for (const auto& [sequence, stored] : table.rows) mix(stored.bytes);
  mix(std::to_string(world_.mono().time_since_epoch().count()));
  out.digest = digest;
  return out;
}

}  // namespace

Outcome simulate(std::uint64_t seed, bool trace) {
  Simulation simulation(seed, trace);
  try {
    simulation.run();
    return simulation.outcome(std::nullopt);
  } catch (const Broken& broken) {
    return simulation.outcome(broken);
  }
}

}  // namespace sendonce::sim
