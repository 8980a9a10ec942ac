#include "plugin/module/metrics.hpp"

#include <array>
#include <limits>
#include <map>
#include <utility>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "plugin/core/verdict.hpp"

namespace sendonce {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<std::pair<std::string, std::string>>;

// A family is as it was first named; `help` counts then.
class Families {
 public:
  void counter(const char* name, const char* help, const Labels& labels, std::uint64_t value) {
    add(MetricType::Counter, name, help, labels).counter.value = static_cast<double>(value);
  }
  void gauge(const char* name, const char* help, const Labels& labels, double value) {
    add(MetricType::Gauge, name, help, labels).gauge.value = value;
  }
  void count(const char* name, const char* help, const Labels& labels, std::uint64_t value) {
    gauge(name, help, labels, static_cast<double>(value));
  }
  void histogram(const char* name, const char* help, const Labels& labels,
                 const DurationHistogram& of) {
    ClientMetric::Histogram& out = add(MetricType::Histogram, name, help, labels).histogram;
    for (std::size_t i = 0; i < DurationHistogram::kBuckets; ++i) {
      out.sample_count += of.counts()[i];
      const double bound = i < DurationHistogram::kBounds.size()
                               ? DurationHistogram::kBounds[i]
                               : std::numeric_limits<double>::infinity();
      out.bucket.push_back({out.sample_count, bound});
    }
    out.sample_sum = of.sum_seconds();
  }
  [[nodiscard]] std::string text() const { return prometheus::TextSerializer().Serialize(all_); }

 private:
  ClientMetric& add(MetricType type, const char* name, const char* help, const Labels& labels) {
    const auto [at, is_new] = places_.emplace(name, all_.size());
    if (is_new) {
      MetricFamily& family = all_.emplace_back();
      family.name = name;
      family.help = help;
      family.type = type;
    }
    ClientMetric& metric = all_[at->second].metric.emplace_back();
    for (const auto& [label, text] : labels) metric.label.push_back({label, text});
    return metric;
  }
  std::vector<MetricFamily> all_{};
  std::map<std::string, std::size_t> places_{};
};

// By the alternative of ClaimReply.
constexpr std::array<const char*, 7> kClaimAnswers{
    "claimed", "busy", "waiting", "done", "conflict", "dead_letter_due", "stopped"};

struct CounterOf {
  const char* name = nullptr;
  const char* help = nullptr;
  std::uint64_t ClassCounters::* member = nullptr;
};
using C = ClassCounters;
constexpr std::array kOfClass{
    CounterOf{"sendonce_messages_undecodable_total", "Messages that were no envelope",
              &C::undecodable},
    CounterOf{"sendonce_messages_handed_back_total", "Messages given back with a delay",
              &C::postponed},
    CounterOf{"sendonce_messages_forgotten_total",
              "Messages of a stream or consumer that is no more", &C::forgotten},
    CounterOf{"sendonce_acks_total", "Messages acked", &C::acked},
    CounterOf{"sendonce_deliveries_total", "Targets of the messages taken", &C::targets},
    CounterOf{"sendonce_claims_taken_over_total", "Claims of a claimant that had died",
              &C::taken_over},
    CounterOf{"sendonce_duplicates_suppressed_total", "Deliveries that had been sent before",
              &C::duplicates_suppressed},
    CounterOf{"sendonce_settlements_fenced_total", "Settlements that came too late", &C::fenced},
    CounterOf{"sendonce_failovers_total",
              "Deliveries that went on to the next provider of their route", &C::failovers},
    CounterOf{"sendonce_dead_letters_total", "Copies confirmed by the dead-letter stream",
              &C::dead_letters},
};

void add_claims_and_calls(Families& m, const ClassConfig& c, const ClassCounters& n) {
  for (std::size_t i = 0; i < kClaimAnswers.size(); ++i)
    m.counter("sendonce_claims_total", "Answers of the ledger to claims",
              {{"class", c.name}, {"answer", kClaimAnswers[i]}}, n.claim_answers[i]);
  const std::array<std::pair<const char*, std::uint64_t>, 3> attempts{
      {{"first", n.calls - n.repeats - n.repeats_in_doubt},
       {"again", n.repeats},
       {"in_doubt", n.repeats_in_doubt}}};
  for (const auto& [kind, value] : attempts)
    m.counter("sendonce_attempts_total", "Calls to a provider", {{"class", c.name}, {"kind", kind}},
              value);
  for (const Look look : {Look::undecided, Look::absent, Look::found})
    m.counter("sendonce_lookups_total", "Questions about deliveries in doubt, by answer",
              {{"class", c.name}, {"answer", std::string(name(look))}},
              n.looks[static_cast<std::size_t>(look)]);
  const std::array<std::pair<const char*, std::uint64_t>, 5> outcomes{{{"accepted", n.accepted},
                                                                       {"failed", n.failed},
                                                                       {"unknown", n.unknown},
                                                                       {"suppressed", n.suppressed},
                                                                       {"conflict", n.conflicts}}};
  for (const auto& [outcome, value] : outcomes)
    m.counter("sendonce_outcomes_total", "Deliveries ended, by outcome",
              {{"class", c.name}, {"outcome", outcome}}, value);
}

double seconds_since(WallTime from, WallTime now) {
  return std::max(std::chrono::duration<double>(now - from).count(), 0.0);
}

double unix_seconds(WallTime t) {
  return std::chrono::duration<double>(t.time_since_epoch()).count();
}

void add_class(Families& m, const ClassConfig& c, const ClassReport& r, const LaneState& lane,
               WallTime now) {
  const ClassCounters& n = r.counters;
  const Labels of{{"class", c.name}};
  m.counter("sendonce_messages_received_total", "Messages pulled, by delivery",
            {{"class", c.name}, {"delivery", "first"}}, n.received - n.redelivered);
  m.counter("sendonce_messages_received_total", "",
            {{"class", c.name}, {"delivery", "redelivered"}}, n.redelivered);
  for (const CounterOf& counter : kOfClass)
    m.counter(counter.name, counter.help, of, n.*counter.member);
  add_claims_and_calls(m, c, n);
  m.histogram("sendonce_accepted_after_seconds",
              "From a message's arrival on its stream to the provider's receipt", of,
              n.accepted_after);
  m.count("sendonce_messages_held", "Messages in hand", of, r.held);
  m.gauge("sendonce_messages_oldest_seconds", "Age of the oldest message in hand, 0: none", of,
          r.oldest_held ? seconds_since(*r.oldest_held, now) : 0.0);
  m.count("sendonce_stream_pending_messages", "Messages that wait on the stream", of, lane.pending);
  m.count("sendonce_stream_ack_pending_messages",
          "Messages delivered to us or handed back, and not acked", of, lane.ack_pending);
  m.gauge("sendonce_class_ready", "1 while the class takes messages", of,
          lane.ready && r.not_ready.empty() ? 1 : 0);
}

void add_holds(Families& m, const ProviderConfig& c, const ProviderReport& r) {
  for (const Fault fault : {Fault::auth, Fault::config, Fault::throttle, Fault::provider}) {
    std::uint64_t holds = 0;
    for (const auto& [part, hold] : r.holds) holds += hold.fault == fault ? 1 : 0;
    m.count("sendonce_provider_holds", "Holds of the provider and its parts, by fault",
            {{"provider", c.name}, {"fault", std::string(name(fault))}}, holds);
  }
}

void add_provider(Families& m, const ProviderConfig& c, const ProviderReport& r) {
  const Labels of{{"provider", c.name}};
  for (std::size_t i = 0; i < r.counters.verdicts.size(); ++i)
    m.counter("sendonce_provider_responses_total", "Attempts, by verdict",
              {{"provider", c.name}, {"verdict", std::string(name(static_cast<VerdictClass>(i)))}},
              r.counters.verdicts[i]);
  m.histogram("sendonce_provider_call_duration_seconds",
              "From the hand-over to the transport to the answer", of, r.counters.calls);
  m.counter("sendonce_provider_device_faults_withheld_total",
            "Devices called dead of which the registry was not told", of,
            r.counters.device_faults_withheld);
  m.gauge("sendonce_provider_invalidations_held",
          "1 while so many devices are called dead that none is believed", of,
          r.invalidations_held ? 1 : 0);
  m.counter("sendonce_provider_devices_reused_total",
            "Claims for devices that are bound to another recipient", of,
            r.counters.devices_reused);
  m.counter("sendonce_provider_connects_total", "Connections made", of, r.pool.connects);
  m.counter("sendonce_provider_goaways_total", "Connections the provider asked to leave", of,
            r.pool.goaways);
  m.count("sendonce_provider_connections", "Connections ready", of, r.pool.connections);
  m.count("sendonce_provider_calls_in_flight", "Calls in flight", of, r.pool.open);
  m.count("sendonce_provider_queued", "Deliveries that wait for the provider", of, r.queued);
  m.gauge("sendonce_provider_up", "1 while nothing holds the provider", of,
          r.holds.empty() ? 1 : 0);
  add_holds(m, c, r);
  if (r.credential_ends)
    m.gauge("sendonce_provider_credential_expiry_timestamp_seconds",
            "When the token at hand ends; it is renewed before", of,
            unix_seconds(*r.credential_ends));
  if (r.clock_lead)
    m.gauge("sendonce_provider_clock_lead_seconds",
            "By how much the provider's clock is ahead of ours; negative: behind", of,
            std::chrono::duration<double>(*r.clock_lead).count());
}

void add_ledger(Families& m, const LedgerStats& s, WallTime now) {
  m.count("sendonce_ledger_rows", "Rows remembered", {}, s.rows);
  m.count("sendonce_ledger_open_rows", "Rows that have not ended", {}, s.open_rows);
  m.count("sendonce_ledger_used_bytes", "Bytes used of the map", {}, s.used_bytes);
  m.count("sendonce_ledger_map_bytes", "Size of the map", {}, s.map_bytes);
  m.gauge("sendonce_ledger_claims_stopped", "1 while there is no room for new claims", {},
          s.claims_stopped ? 1 : 0);
  m.histogram("sendonce_ledger_commit_duration_seconds", "Commits, until they are durable", {},
              s.commits);
  m.count("sendonce_outbox_entries", "Event batches not confirmed yet", {}, s.outbox_entries);
  m.gauge("sendonce_outbox_oldest_seconds", "Age of the oldest of them, 0: none", {},
          s.outbox_oldest ? seconds_since(*s.outbox_oldest, now) : 0.0);
}

void add_reports(Families& m, const EngineReport& r) {
  if (!r.device_reports) return;
  const auto add = [&m](std::string result, std::uint64_t n) {
    m.counter("sendonce_device_reports_total",
              "Reports of the application about devices, by result",
              {{"result", std::move(result)}}, n);
  };
  add("applied", r.device_reports->counters.applied);
  add("unchanged", r.device_reports->counters.unchanged);
  add("refused", r.device_reports->counters.refused);
}

// Only what comes to an end; a provider's access token has a family of its own.
void add_file_ends(Families& m, const std::vector<FileEnd>& ends) {
  for (const FileEnd& of : ends)
    m.gauge("sendonce_credential_expiry_timestamp_seconds",
            "When a file that the configuration names comes to its end",
            {{"field", of.field}, {"provider", of.provider}}, unix_seconds(of.end));
}

void add_process(Families& m, const MetricsInput& in) {
  m.gauge("sendonce_build_info", "1, with what runs",
          {{"version", SENDONCE_VERSION}, {"name", in.config.instance.name}}, 1);
  m.gauge("sendonce_config_info", "1, with the hash of the configuration in force",
          {{"hash", in.config.hash}}, 1);
  m.gauge("sendonce_start_time_seconds", "When the instance was started", {},
          unix_seconds(in.started));
  m.gauge("sendonce_ready", "1 while a class takes messages", {}, in.ready ? 1 : 0);
  m.counter("sendonce_config_reloads_total", "Reloads, by result", {{"result", "applied"}},
            in.reloads_applied);
  m.counter("sendonce_config_reloads_total", "", {{"result", "refused"}}, in.reloads_refused);
  m.gauge("sendonce_nats_connected", "1 while connected", {}, in.nats_connected ? 1 : 0);
  m.counter("sendonce_nats_connects_total", "Connections made to NATS", {}, in.nats_connects);
  m.counter("sendonce_events_published_total", "Event batches confirmed by their stream", {},
            in.report.events_published);
}

}  // namespace

std::string render_metrics(const MetricsInput& in) {
  Families m;
  add_process(m, in);
  for (std::size_t i = 0; i < in.report.classes.size(); ++i)
    add_class(m, in.config.classes[i], in.report.classes[i],
              i < in.lanes.size() ? in.lanes[i] : LaneState{}, in.now);
  for (std::size_t i = 0; i < in.report.providers.size(); ++i)
    add_provider(m, in.config.providers[i], in.report.providers[i]);
  add_file_ends(m, in.file_ends);
  add_ledger(m, in.report.ledger, in.now);
  add_reports(m, in.report);
  return m.text();
}

}  // namespace sendonce
