// `sendonce demo`: real processes, real sockets, real faults, kill -9 in mid-flight, and a count at
// the end that has to come out right. The messages carry a token of their own each, so that what
// the provider saw can be compared with the ledger delivery by delivery.
#include <algorithm>
#include <cstdio>

#include <poll.h>
#include <sysexits.h>

#include "ledger/lmdb/open.hpp"
#include "plugin/cli/commands.hpp"
#include "plugin/cli/demo/audit.hpp"
#include "plugin/cli/demo/streams.hpp"
#include "plugin/cli/demo/tally.hpp"
#include "plugin/cli/demo/traffic.hpp"
#include "plugin/cli/demo/world.hpp"
#include "plugin/cli/output.hpp"
#include "plugin/core/random.hpp"
#include "tests/support/eventually.hpp"

namespace sendonce::cli {
namespace {

constexpr int kPaceMs = 4;                // of four messages
constexpr std::uint32_t kLatencyMs = 20;  // of the provider
constexpr auto kCallTotal = std::chrono::seconds(3);
constexpr std::size_t kShown = 20;  // of broken promises

constexpr const char* kClasses = R"(
[class.otp]
subject   = "notify.otp.>"
priority  = "high"
expires   = "10m"
claim     = "10s"
ack_wait  = "12s"
retention = "2d"
retry     = { first = "50ms", factor = 2.0, cap = "500ms", attempts = 12, horizon = "5m" }
ambiguous = { default = "resend" }
collapse  = "{template}:{recipient}"

[class.marketing]
subject   = "notify.campaign.>"
expires   = "30m"
claim     = "10s"
ack_wait  = "12s"
retention = "2d"
retry     = { first = "50ms", factor = 2.0, cap = "500ms", attempts = 8, horizon = "10m" }
ambiguous = { default = "give-up" }
)";

// The provider takes some messages and then answers 500, or not at all; refuses a few for now; and
// leaves now and then.
constexpr const char* kScript = R"(
[[rule]]
provider = "apns"
probability = 0.03
seed = 11
status = 500
reason = "InternalServerError"
processed = true

[[rule]]
provider = "fcm"
probability = 0.02
seed = 12
reset = "INTERNAL_ERROR"
processed = true

[[rule]]
provider = "apns"
probability = 0.03
seed = 13
status = 503
reason = "ServiceUnavailable"

[[rule]]
provider = "apns"
probability = 0.01
seed = 14
status = 400
reason = "BadCollapseId"

[[rule]]
every = 1500
goaway = { last = "below", code = "NO_ERROR", reason = "Shutdown", close = true }
)";

class Demo {
 public:
  Demo(const Common& common, const DemoOptions& options)
      : common_(common),
        options_(options),
        random_(options.seed),
        traffic_(options.seed,
                 {{"otp", "notify.otp"},
                  {"marketing", "notify.campaign"},
                  {"marketing", "notify.campaign"}},
                 {}, &tally_) {}
  int run();

 private:
  Result<void> play();
  Result<void> publish_all();
  Result<void> watch();
  Result<void> count();
  void step(const char* text) { std::fprintf(stderr, "[%u/6] %s\n", ++step_, text); }

  const Common& common_;
  const DemoOptions& options_;
  Random random_;
  Tally tally_{};
  Traffic traffic_;
  AuditContext context_{};
  std::unique_ptr<World> world_{};
  std::unique_ptr<Publisher> client_{};
  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::size_t killed_ = 0;
  unsigned step_ = 0;
};

Result<void> Demo::publish_all() {
  std::vector<Outgoing> again;
  std::vector<std::uint32_t> kill_after;  // at random moments while messages still come in
  for (std::uint32_t k = 0; k < options_.kills; ++k)
    kill_after.push_back(static_cast<std::uint32_t>(random_.below(options_.messages)));
  std::ranges::sort(kill_after);
  const auto dead = std::ranges::unique(kill_after);
  kill_after.erase(dead.begin(), dead.end());
  const auto send = [&](const Outgoing& p) -> Result<void> {
    SO_CHECK(client_->publish({.subject = p.subject, .body = p.body}));
    return {};
  };
  for (std::uint32_t i = 0; i < options_.messages; ++i) {
    Outgoing p = traffic_.next(clock_->wall());
    SO_CHECK(send(p));
    // The repeats come at once or later: a producer that retries does both.
    if (p.repeated) {
      if (random_.chance(0.5)) {
        SO_CHECK(send(p));
      } else {
        again.push_back(std::move(p));
      }
    }
    // At a pace that leaves calls in flight when the daemon is killed.
    if (i % 4 == 0) ::poll(nullptr, 0, kPaceMs);
    if (i % 250 == 0) std::fprintf(stderr, "\r      %u of %u", i, options_.messages);
    if (killed_ < kill_after.size() && i == kill_after[killed_]) {
      world_->kill_daemon();
      context_.disturbances.push_back({"killed", clock_->wall(), clock_->wall()});
      ++killed_;
      std::fprintf(stderr, "\r      kill -9 after %u messages, started again\n", i);
      SO_CHECK(world_->start_daemon());
    }
  }
  for (const Outgoing& p : again) SO_CHECK(send(p));
  std::fprintf(stderr, "\r      %u of %u\n", options_.messages, options_.messages);
  return {};
}

Result<void> Demo::watch() {
  Result<void> trouble{};
  std::uint64_t shown = UINT64_MAX;
  const bool done = test::eventually(
      [&] {
        const auto left = world_->unsettled(*client_);
        if (!left || !world_->daemon_runs()) {
          trouble = fail(Errc::unavailable,
                         left ? "the daemon has ended, see its log" : left.error().text);
          return true;
        }
        if (*left != shown)
          std::fprintf(stderr, "\r      %llu left      ", static_cast<unsigned long long>(*left));
        shown = *left;
        return *left == 0 && world_->told();
      },
      std::chrono::seconds(90), std::chrono::milliseconds(100));
  std::fprintf(stderr, "\n");
  SO_CHECK(trouble);
  if (!done) return fail(Errc::unavailable, "messages are still not settled after 90 s");
  return {};
}

Result<void> Demo::count() {
  SO_TRY(const auto reader, LedgerReader::open(ledger_directory(world_->config().instance)));
  SO_CHECK(reader->scan({}, [&](std::string_view, const Row& row) {
    tally_.add_row(row);
    return true;
  }));
  read_record(world_->record_path(), kCallTotal, tally_);
  return read_streams(*client_, tally_);
}

Result<void> Demo::play() {
  tally_.of("otp").policy = "resend";
  tally_.of("marketing").policy = "give-up";
  context_.call_total = kCallTotal;
  step("starting a private nats-server and the fake provider (TLS, HTTP/2), making streams");
  SO_TRY(world_, World::make({.sendonced = options_.sendonced,
                              .fakeprov = options_.fakeprov,
                              .script = kScript,
                              .classes = kClasses,
                              .latency_ms = kLatencyMs}));
  step("starting sendonced");
  SO_CHECK(world_->start_daemon());
  SO_TRY(client_, world_->connect());
  step("publishing, with repeats among them, and killing the daemon in mid-flight");
  SO_CHECK(publish_all());
  step("waiting until every message is settled");
  SO_CHECK(watch());
  step("stopping sendonced");
  if (!world_->stop_daemon())
    return fail(Errc::internal, "the daemon did not stop well, see its log");
  (void)world_->stop_provider();
  step("comparing the ledger with what the provider saw and the streams tell");
  return count();
}

int Demo::run() {
  const auto played = play();
  if (!played) {
    const int code = failed(played.error());
    if (world_) {
      std::fprintf(stderr, "sendonce: the daemon's last words:\n%s\n", world_->log_tail().c_str());
      if (options_.keep) world_->keep();
    }
    return code;
  }
  const auto classes = tally_.finish();
  if (common_.json) {
    std::printf("%s\n", tally_json(classes).c_str());
  } else {
    std::printf("\n%s\n", tally_table(classes).c_str());
    std::printf(
        "published    messages on the stream, repeats included\n"
        "duplicates   repeats that were acked without a request\n"
        "unknown      the provider may have it, and nothing can tell: the policy said stop there\n"
        "requests     whole requests that the provider saw; delivered: it took them\n"
        "failed       the provider refused the message; its copy is in SENDONCE_DLQ\n"
        "extra copies what resend costs: the answer was lost, so it was sent again\n\n");
  }
  const std::vector<Broken> broken = audit(tally_, context_);
  if (!broken.empty())
    std::fprintf(stderr, "sendonce: broken promises:\n%s", broken_text(broken, kShown).c_str());
  if (broken.empty() && !common_.json)
    std::printf(
        "The daemon was killed %zu times. give-up: nothing was sent twice. resend: nothing is "
        "missing. Whatever failed has its dead letter, whatever ended its event.\n",
        killed_);
  if (options_.keep) {
    std::fprintf(stderr, "kept: %s\n", world_->path("").c_str());
    world_->keep();
  }
  return broken.empty() ? EX_OK : EX_SOFTWARE;
}

}  // namespace

int demo(const Common& common, const DemoOptions& options) {
  return Demo(common, options).run();
}

}  // namespace sendonce::cli
