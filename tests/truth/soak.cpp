#include "tests/truth/soak.hpp"

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>
#include <poll.h>

#include "tests/support/eventually.hpp"
#include "tests/truth/plan.hpp"

namespace sendonce::truth {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double kNatsEvery = 97;
constexpr double kFreezeEvery = 61;
// Rows expire after this, and then the ledger is as large as it gets.
constexpr double kMemory = 90;
constexpr std::uint64_t kPublishedAtOnce = 200;

// Short memory, so that expiry is at work for most of the time.
std::string class_text(const std::string& name, const std::string& subject,
                       const std::string& policy) {
  return "\n[class." + name + "]\nsubject   = \"" + subject +
         ".>\"\nexpires   = \"30s\"\nclaim     = \"10s\"\nack_wait  = \"12s\"\n"
         "retention = \"75s\"\nretry     = { first = \"50ms\", factor = 2.0, cap = \"500ms\", "
         "attempts = 12, horizon = \"30s\" }\nambiguous = { default = \"" +
         policy + "\" }\n";
}

double field_of(const std::string& file, const std::string& name) {
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) {
    if (line.starts_with(name)) return std::stod(line.substr(name.size()));
  }
  return 0;
}

double entries_of(const std::string& directory) {
  std::error_code ignored;
  double count = 0;
  for (auto it = std::filesystem::directory_iterator(directory, ignored);
       it != std::filesystem::directory_iterator() && !ignored; it.increment(ignored))
    ++count;
  return count;
}

}  // namespace

Soak::Soak(const SoakOptions& options)
    : options_(options),
      traffic_(options.seed, {{"otp", "notify.otp"}, {"marketing", "notify.campaign"}},
               {.doomed = 0.02, .undecodable = 0.005}, nullptr),
      next_nats_kill_(kNatsEvery),
      next_freeze_(kFreezeEvery),
      series_{{.name = "RssAnon", .unit = "MB", .allowed = 2, .allowed_share = 0.10},
              {.name = "descriptors", .unit = "", .allowed = 2},
              {.name = "threads", .unit = "", .allowed = 1},
              {.name = "connections", .unit = "", .allowed = 2},
              {.name = "ledger used", .unit = "MB", .allowed = 1, .allowed_share = 0.10},
              {.name = "ledger rows", .unit = "", .allowed = 500, .allowed_share = 0.10},
              {.name = "outbox", .unit = "entries", .allowed = 200}} {}

std::size_t Soak::warm_up() const {
  return static_cast<std::size_t>(kMemory * 1.5 / options_.every);
}

Result<void> Soak::run() {
  const Options faults{.faults = {Fault::resets, Fault::goaway, Fault::stalls, Fault::status_5xx,
                                  Fault::status_429}};
  SO_TRY(world_, cli::World::make({.script = script_of(faults),
                                   .classes = class_text("otp", "notify.otp", "resend") +
                                              class_text("marketing", "notify.campaign", "give-up"),
                                   .record = false,
                                   .latency_ms = 10,
                                   .map_size = "1GiB",
                                   .call_total = "3s"}));
  SO_CHECK(world_->start_daemon());
  SO_CHECK(connect());
  const MonoTime begun = clock_->mono();
  for (double elapsed = 0; elapsed < options_.minutes * 60;
       elapsed = std::chrono::duration<double>(clock_->mono() - begun).count()) {
    if (!world_->daemon_runs()) return fail(Errc::internal, "the daemon has ended by itself");
    publish_due(elapsed);
    SO_CHECK(disturb(elapsed));
    SO_CHECK(sample(elapsed));
    ::poll(nullptr, 0, 10);
  }
  if (!world_->stop_daemon())
    return fail(Errc::internal, "the daemon did not stop well, see its log");
  return {};
}

// A client does not survive its server.
Result<void> Soak::connect() {
  const bool up = test::eventually(
      [&] {
        auto made = world_->connect();
        if (!made || !(*made)->request("$JS.API.INFO", "")) return false;
        client_ = std::move(*made);
        return true;
      },
      seconds(30), milliseconds(50));
  return up ? Result<void>{} : fail(Errc::unavailable, "nats-server does not answer");
}

// A message that the server does not take, for it has just been killed, is nobody's.
void Soak::publish_due(double elapsed) {
  const auto due = static_cast<std::uint64_t>(elapsed * options_.rate);
  for (std::uint64_t i = 0; i < kPublishedAtOnce && published_ < due; ++i) {
    const cli::Outgoing message = traffic_.next(clock_->wall());
    ++published_;
    if (!client_->publish({.subject = message.subject, .body = message.body})) return;
  }
}

Result<void> Soak::disturb(double elapsed) {
  if (elapsed >= next_nats_kill_) {
    next_nats_kill_ += kNatsEvery;
    ++nats_kills_;
    world_->server().kill();
    ::poll(nullptr, 0, 500);
    SO_CHECK(world_->server().restart());
    SO_CHECK(connect());
  }
  if (elapsed >= next_freeze_) {
    next_freeze_ += kFreezeEvery;
    ++freezes_;
    world_->daemon().freeze();
    ::poll(nullptr, 0, 3'000);
    world_->daemon().thaw();
  }
  return {};
}

Result<void> Soak::sample(double elapsed) {
  if (elapsed < next_sample_) return {};
  const auto text = world_->status();
  if (!text) return {};  // still starting
  const Json all = Json::parse(*text, nullptr, false);
  if (!all.is_object() || !all.contains("ledger")) return {};
  next_sample_ = elapsed + options_.every;
  const std::string process = "/proc/" + std::to_string(world_->daemon_pid());
  double connections = 0;
  for (const Json& p : all.value("providers", Json::array()))
    connections += p.value("connections", 0.0);
  times_.push_back(elapsed);
  const std::vector<double> values{field_of(process + "/status", "RssAnon:") / 1024,
                                   entries_of(process + "/fd"),
                                   entries_of(process + "/task"),
                                   connections,
                                   all["ledger"].value("used_bytes", 0.0) / (1024 * 1024),
                                   all["ledger"].value("rows", 0.0),
                                   all["ledger"].value("outbox_entries", 0.0)};
  for (std::size_t i = 0; i < values.size(); ++i) series_[i].values.push_back(values[i]);
  std::fprintf(stderr, "\r%6.0f s  %llu published  %.1f MB  %.0f descriptors  %.0f rows   ",
               elapsed, static_cast<unsigned long long>(published_), values[0], values[1],
               values[5]);
  return {};
}

std::string Soak::daemons_last_words() const {
  return world_ ? world_->log_tail() : std::string();
}

}  // namespace sendonce::truth
