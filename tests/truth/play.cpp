#include "tests/truth/play.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>
#include <poll.h>

#include "ledger/lmdb/open.hpp"
#include "plugin/cli/demo/streams.hpp"
#include "tests/support/eventually.hpp"

namespace sendonce::truth {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kCallTotal = seconds(3);
constexpr std::uint64_t kDiskBytes = std::uint64_t{512} << 20U;
constexpr std::size_t kPaceOf = 4;  // messages, a millisecond
constexpr auto kInFlightWithin = seconds(5);
constexpr auto kSettledWithin = seconds(240);
// Longer than ack_wait: what nobody has moved since then is not going to move.
constexpr auto kStill = seconds(16);

std::vector<cli::TrafficClass> classes_for(const std::string& policy) {
  std::vector<cli::TrafficClass> out;
  if (policy != "give-up") out.push_back({"otp", "notify.otp"});
  if (policy != "resend") out.push_back({"marketing", "notify.campaign"});
  return out;
}

}  // namespace

Play::Play(PlayOptions options)
    : options_(std::move(options)),
      random_(options_.plan.seed + 1),
      traffic_(options_.plan.seed, classes_for(options_.plan.policy),
               {.repeated = 0.1, .wide = 0.05, .doomed = 0.04, .undecodable = 0.01}, &tally_) {
  if (options_.plan.policy != "give-up") tally_.of("otp").policy = "resend";
  if (options_.plan.policy != "resend") tally_.of("marketing").policy = "give-up";
  context_.call_total = kCallTotal;
}

Result<void> Play::run() {
  SO_CHECK(prepare());
  const std::vector<Step> plan = make_plan(options_.plan);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    std::fprintf(stderr, "\r[%zu/%zu] %-14s %u messages   ", i + 1, plan.size(),
                 std::string(name(plan[i].fault)).c_str(), published_);
    const bool starts_itself = plan[i].fault == Fault::crash_points;
    if (!starts_itself && !world_->daemon_runs()) SO_CHECK(start_daemon());
    SO_CHECK(play_step(plan[i]));
  }
  if (!world_->daemon_runs()) SO_CHECK(start_daemon());
  if (published_ < options_.plan.messages) SO_CHECK(publish(options_.plan.messages - published_));
  for (const cli::Outgoing& message : std::exchange(again_, {})) {
    SO_TRY(const std::uint64_t seq, store(message));
    owed_.push_back({seq, message.refs});
  }
  std::fprintf(stderr, "\n");
  SO_CHECK(wait_until_settled());
  std::fprintf(stderr, "\n");
  if (!world_->stop_daemon())
    return fail(Errc::internal, "the daemon did not stop well, see its log");
  if (!world_->stop_provider()) return fail(Errc::internal, "the provider did not stop well");
  for (const cli::Disturbance& still : heartbeat_.stop()) {
    const bool ours = std::ranges::any_of(context_.disturbances, [&](const auto& d) {
      return d.fault == name(Fault::stop) && d.from <= still.to && d.to >= still.from;
    });
    if (ours) continue;
    context_.disturbances.push_back(still);
    ++done_[still.fault];
  }
  return collect();
}

Result<void> Play::prepare() {
  cli::WorldOptions options{.script = script_of(options_.plan),
                            .classes = classes_of(options_.plan),
                            .latency_ms = 10,
                            .call_total = "3s",
                            // A connection that ends with all its calls would be a hold of minutes.
                            .provider_options = "breaker = { open_after = 200, probe = \"1s\" }\n"};
  if (options_.plan.has(Fault::disk_full)) SO_CHECK(mount_disk(options));
  if (options_.plan.has(Fault::clock)) set_clock(Duration::zero());
  SO_TRY(world_, cli::World::make(options));
  return reconnect();
}

Result<void> Play::mount_disk(cli::WorldOptions& options) {
  const std::string why = disk_.mount(dir_.path(), kDiskBytes);
  if (!why.empty()) {
    skipped_.push_back("disk-full: no disk of our own can be mounted here: " + why);
    return {};
  }
  on_disk_ = true;
  options.state_dir = (disk_.path() / "state").string();
  options.map_size = "256MiB";
  return {};
}

Result<void> Play::start_daemon(std::vector<std::string> environment) {
  if (options_.plan.has(Fault::clock)) {
    environment.push_back("LD_PRELOAD=" + options_.clock_step);
    environment.push_back("SENDONCE_TEST_CLOCK=" + (dir_ / "clock").string());
  }
  SO_CHECK(world_->start_daemon(std::move(environment)));
  heartbeat_.watch(world_->daemon_pid(), world_->provider_pid(), world_->server_pid());
  return {};
}

Result<void> Play::play_step(const Step& step) {
  switch (step.fault) {
    case Fault::kill:
      return kill(step);
    case Fault::crash_points:
      return crash(step);
    case Fault::stop:
      return stop(step);
    case Fault::nats:
      return nats(step);
    case Fault::disk_full:
      return fill_disk(step);
    case Fault::clock:
      return step_clock(step);
    case Fault::resets:
    case Fault::goaway:
    case Fault::stalls:
    case Fault::status_5xx:
    case Fault::status_429:
      return {};
  }
  return {};
}

// ---- publishing ---------------------------------------------------------------------------------

Result<void> Play::publish(std::uint32_t messages) {
  for (std::uint32_t i = 0; i < messages; ++i) {
    SO_CHECK(publish_one());
    if (i % kPaceOf == 0) pass_time(milliseconds(1));
  }
  return {};
}

Result<void> Play::publish_one() {
  const cli::Outgoing message = traffic_.next(clock_->wall());
  ++published_;
  SO_TRY(const std::uint64_t seq, store(message));
  if (!message.refs.empty()) owed_.push_back({seq, message.refs});
  if (!message.repeated) return {};
  // The repeats come at once or later: a producer that retries does both.
  if (random_.chance(0.5)) {
    again_.push_back(message);
    return {};
  }
  SO_TRY(const std::uint64_t second, store(message));
  owed_.push_back({second, message.refs});
  return {};
}

// A server that has just been started again may not answer at once: the same again, with its id.
Result<std::uint64_t> Play::store(const cli::Outgoing& message) {
  const Publication publication{.subject = message.subject,
                                .message_id = "truth-" + std::to_string(ids_++),
                                .body = message.body};
  Result<PubAck> stored = fail(Errc::unavailable, "not tried");
  static_cast<void>(test::eventually(
      [&] {
        stored = client_->publish(publication);
        return stored.has_value();
      },
      seconds(20), milliseconds(50)));
  if (!stored) return std::unexpected(stored.error());
  return stored->seq;
}

std::uint64_t Play::requests_seen() const {
  constexpr std::uint64_t kLine = 850;  // about, of the record
  std::error_code ignored;
  const auto size = std::filesystem::file_size(world_->record_path(), ignored);
  return ignored ? 0 : size / kLine;
}

void Play::wait_for_requests(std::uint64_t wanted) const {
  static_cast<void>(test::eventually([&] { return requests_seen() >= wanted; }, kInFlightWithin));
}

// ---- faults -------------------------------------------------------------------------------------

Result<void> Play::kill(const Step& step) {
  const std::uint64_t before = requests_seen();
  SO_CHECK(publish(step.messages));
  wait_for_requests(before + step.requests);
  world_->kill_daemon();
  daemon_died("kill");
  return look_for_early_acks();
}

Result<void> Play::crash(const Step& step) {
  const std::string point(kCrashPoints[static_cast<std::size_t>(step.point)]);
  if (world_->daemon_runs() && !world_->stop_daemon())
    return fail(Errc::internal, "the daemon did not stop well, see its log");
  SO_CHECK(start_daemon({"SENDONCE_CRASH_AT=" + point + ":" + std::to_string(step.passes)}));
  SO_CHECK(publish(step.messages));
  // Some points need a message of their kind.
  Result<void> trouble{};
  const bool died = test::eventually(
      [&] {
        if (!world_->daemon_runs()) return true;
        trouble = publish_one();
        return !trouble.has_value();
      },
      seconds(60), milliseconds(10));
  SO_CHECK(trouble);
  if (!died) return fail(Errc::internal, "crash point " + point + " was not reached");
  const auto exit = world_->daemon().wait(milliseconds(0));
  if (!exit || exit->signal != SIGKILL)
    return fail(Errc::internal, "the daemon ended at " + point + " otherwise than killed");
  ++done_["crash-points " + point];
  daemon_died("crash at " + point);
  return look_for_early_acks();
}

void Play::daemon_died(std::string fault) {
  if (fault == "kill") ++done_["kill"];
  const WallTime now = clock_->wall();
  // It was reaped a moment ago; until then it was none.
  context_.disturbances.push_back({std::move(fault), now - milliseconds(100), now});
}

Result<void> Play::stop(const Step& step) {
  const std::uint64_t before = requests_seen();
  SO_CHECK(publish(step.messages / 2));
  wait_for_requests(before + step.requests / 2);
  world_->daemon().freeze();
  const WallTime from = clock_->wall();
  SO_CHECK(publish(step.messages - step.messages / 2));
  pass_time(seconds(11));  // a lease is 10 s, a call 3 s
  world_->daemon().thaw();
  context_.disturbances.push_back({"stop", from, clock_->wall() + seconds(1)});
  ++done_["stop"];
  return {};
}

Result<void> Play::nats(const Step& step) {
  const std::uint64_t before = requests_seen();
  SO_CHECK(publish(step.messages));
  wait_for_requests(before + step.requests);
  world_->server().kill();
  pass_time(milliseconds(300));
  SO_CHECK(world_->server().restart());
  ++done_["nats"];
  heartbeat_.watch(world_->daemon_pid(), world_->provider_pid(), world_->server_pid());
  return reconnect();
}

Result<void> Play::fill_disk(const Step& step) {
  if (!on_disk_) return publish(step.messages);
  SO_CHECK(publish(step.messages / 2));
  disk_.fill(0);
  SO_CHECK(publish(step.messages - step.messages / 2));
  pass_time(seconds(2));
  disk_.make_room();
  ++done_["disk-full"];
  return {};
}

Result<void> Play::step_clock(const Step& step) {
  constexpr Duration kStep = seconds(30);
  context_.skew = kStep;
  for (const Duration offset : {kStep, -kStep, Duration::zero()}) {
    SO_CHECK(publish(step.messages / 3));
    set_clock(offset);
    pass_time(milliseconds(700));
  }
  ++done_["clock"];
  return publish(step.messages - step.messages / 3 * 3);
}

void Play::set_clock(Duration offset) const {
  const std::int64_t value = offset.count();
  std::fstream file(dir_ / "clock", std::ios::in | std::ios::out | std::ios::binary);
  if (!file) file.open(dir_ / "clock", std::ios::out | std::ios::binary);
  file.write(reinterpret_cast<const char*>(&value), sizeof value);
}

void Play::pass_time(Duration time) const {
  ::poll(nullptr, 0, static_cast<int>(std::chrono::duration_cast<milliseconds>(time).count()));
}

// ---- looking ------------------------------------------------------------------------------------

// Law 3, while nobody can change anything: a message whose deliveries have not all ended is still
// on the stream.
Result<void> Play::look_for_early_acks() {
  std::set<std::string, std::less<>> ended;
  SO_TRY(const auto reader, LedgerReader::open(ledger_directory(world_->config().instance)));
  SO_CHECK(reader->scan({}, [&](std::string_view, const Row& row) {
    if (has_ended(row.state)) ended.insert(row.ref);
    return true;
  }));
  std::erase_if(owed_, [&](const Owed& o) {
    return std::ranges::all_of(o.refs, [&](const std::string& ref) { return ended.contains(ref); });
  });
  SO_TRY(const std::string text,
         client_->request("$JS.API.STREAM.INFO.NOTIFY", R"({"deleted_details":true})"));
  const Json info = Json::parse(text, nullptr, false);
  if (!info.is_object() || !info.contains("state"))
    return fail(Errc::unavailable, "no stream NOTIFY: " + text);
  const auto first = info.value("/state/first_seq"_json_pointer, std::uint64_t{0});
  const Json gone = info.value("/state/deleted"_json_pointer, Json::array());
  std::set<std::uint64_t> deleted;
  for (const Json& seq : gone) deleted.insert(seq.get<std::uint64_t>());
  for (const Owed& o : owed_) {
    if (o.seq >= first && !deleted.contains(o.seq)) continue;
    for (const std::string& ref : o.refs) {
      if (!ended.contains(ref)) tally_.add_early_ack(ref);
    }
  }
  ++done_["looks for early acks"];
  return {};
}

std::string Play::daemons_last_words() const {
  return world_ ? world_->log_tail() : std::string();
}

std::string Play::close() {
  if (!world_ || !options_.keep) return {};
  std::string directory = world_->path("");
  world_->keep();
  return directory;
}

// A client does not survive its server.
Result<void> Play::reconnect() {
  Result<std::unique_ptr<Publisher>> made = fail(Errc::unavailable, "not tried");
  static_cast<void>(test::eventually(
      [&] {
        made = world_->connect();
        return made.has_value() && (*made)->request("$JS.API.INFO", "").has_value();
      },
      seconds(30), milliseconds(50)));
  if (!made) return std::unexpected(made.error());
  client_ = std::move(*made);
  return {};
}

Result<void> Play::wait_until_settled() {
  Result<void> trouble{};
  std::string seen;
  MonoTime since = clock_->mono();
  const auto settled = [&] {
    if (!world_->daemon_runs()) {
      trouble = fail(Errc::internal, "the daemon has ended by itself");
      return true;
    }
    const auto left = world_->unsettled(*client_);
    const auto text = world_->status();
    if (!left || !text) return false;
    const Json all = Json::parse(*text, nullptr, false);
    if (!all.is_object() || all.value("/ledger/outbox_entries"_json_pointer, 1) != 0) return false;
    std::fprintf(stderr, "\rwaiting until all is settled: %llu left   ",
                 static_cast<unsigned long long>(*left));
    if (*left == 0) return true;
    // A killed nats-server may count acked messages as delivered for good: then nothing moves.
    std::string now = std::to_string(*left);
    for (const Json& c : all.value("classes", Json::array()))
      now +=
          ' ' + std::to_string(c.value("received", 0)) + ' ' + std::to_string(c.value("held", 0));
    if (now != seen) {
      seen = std::move(now);
      since = clock_->mono();
    }
    return options_.plan.has(Fault::nats) && clock_->mono() - since > kStill &&
           all.value("/ledger/open_rows"_json_pointer, 1) == 0;
  };
  if (!test::eventually(settled, kSettledWithin, milliseconds(100)))
    return fail(Errc::unavailable, "not everything is settled: " + seen);
  return trouble;
}

Result<void> Play::collect() {
  SO_TRY(const auto reader, LedgerReader::open(ledger_directory(world_->config().instance)));
  SO_CHECK(reader->scan({}, [&](std::string_view, const Row& row) {
    tally_.add_row(row);
    return true;
  }));
  cli::read_record(world_->record_path(), kCallTotal, tally_);
  return cli::read_streams(*client_, tally_);
}

}  // namespace sendonce::truth
