#include "plugin/module/metrics.hpp"

#include <array>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<std::pair<std::string, std::string>>;

class Families {
 public:
  void add(MetricType type, const std::string& name, const std::string& help, const Labels& labels,
           double value) {
    MetricFamily& family = find(type, name, help);
    prometheus::ClientMetric metric;
    for (const auto& [label, text] : labels) metric.label.push_back({label, text});
    if (type == MetricType::Counter) {
      metric.counter.value = value;
    } else {
      metric.gauge.value = value;
    }
    family.metric.push_back(std::move(metric));
  }
  void counter(const std::string& name, const std::string& help, const Labels& labels,
               std::uint64_t value) {
    add(MetricType::Counter, name, help, labels, static_cast<double>(value));
  }
  void gauge(const std::string& name, const std::string& help, const Labels& labels,
             std::uint64_t value) {
    add(MetricType::Gauge, name, help, labels, static_cast<double>(value));
  }
  [[nodiscard]] std::string text() const { return prometheus::TextSerializer().Serialize(all_); }

 private:
  MetricFamily& find(MetricType type, const std::string& name, const std::string& help) {
    for (MetricFamily& f : all_)
      if (f.name == name) return f;
    MetricFamily family;
    family.name = name;
    family.help = help;
    family.type = type;
    all_.push_back(std::move(family));
    return all_.back();
  }
  std::vector<MetricFamily> all_{};
};

void add_class(Families& m, const ClassConfig& c, const ClassReport& r) {
  const ClassCounters& n = r.counters;
  const Labels of{{"class", c.name}};
  m.counter("sendonce_messages_received_total", "Messages pulled, by delivery",
            {{"class", c.name}, {"delivery", "first"}}, n.received - n.redelivered);
  m.counter("sendonce_messages_received_total", "",
            {{"class", c.name}, {"delivery", "redelivered"}}, n.redelivered);
  m.counter("sendonce_messages_undecodable_total", "Messages that were no envelope", of,
            n.undecodable);
  m.counter("sendonce_claims_total", "Claims taken, by kind", {{"class", c.name}, {"kind", "new"}},
            n.claimed - n.taken_over);
  m.counter("sendonce_claims_total", "", {{"class", c.name}, {"kind", "taken_over"}}, n.taken_over);
  m.counter("sendonce_duplicates_suppressed_total", "Deliveries that had been sent before", of,
            n.duplicates_suppressed);
  m.counter("sendonce_attempts_total", "Calls to a provider", of, n.calls);
  m.counter("sendonce_attempts_in_doubt_total", "Calls although an earlier one may have sent", of,
            n.repeats_in_doubt);
  m.counter("sendonce_failovers_total", "Deliveries that went on to the next provider of the route",
            of, n.failovers);
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
  m.counter("sendonce_dead_letters_total", "Copies confirmed by the dead-letter stream", of,
            n.dead_letters);
  m.counter("sendonce_acks_total", "Messages acked", of, n.acked);
  m.gauge("sendonce_messages_held", "Messages in hand", of, r.held);
  m.gauge("sendonce_class_ready", "1 while the class takes messages", of,
          r.not_ready.empty() ? 1 : 0);
}

void add_provider(Families& m, const ProviderConfig& c, const ProviderReport& r) {
  const Labels of{{"provider", c.name}};
  for (std::size_t i = 0; i < r.counters.verdicts.size(); ++i)
    m.counter("sendonce_provider_responses_total", "Attempts, by verdict",
              {{"provider", c.name}, {"verdict", std::string(name(static_cast<VerdictClass>(i)))}},
              r.counters.verdicts[i]);
  m.counter("sendonce_provider_call_seconds_total", "Time spent in calls", of,
            r.counters.call_time_ns / 1'000'000'000);
  m.counter("sendonce_provider_connects_total", "Connections made", of, r.pool.connects);
  m.counter("sendonce_provider_goaways_total", "Connections the provider asked to leave", of,
            r.pool.goaways);
  m.gauge("sendonce_provider_connections", "Connections ready", of, r.pool.connections);
  m.gauge("sendonce_provider_calls_in_flight", "Calls in flight", of, r.pool.open);
  m.gauge("sendonce_provider_up", "1 while nothing holds the provider", of,
          r.holds.empty() ? 1 : 0);
}

}  // namespace

std::string render_metrics(const Config& config, const EngineReport& report, bool nats_connected) {
  Families m;
  for (std::size_t i = 0; i < report.classes.size(); ++i)
    add_class(m, config.classes[i], report.classes[i]);
  for (std::size_t i = 0; i < report.providers.size(); ++i)
    add_provider(m, config.providers[i], report.providers[i]);
  m.gauge("sendonce_ledger_rows", "Rows remembered", {}, report.ledger.rows);
  m.gauge("sendonce_ledger_open_rows", "Rows that have not ended", {}, report.ledger.open_rows);
  m.gauge("sendonce_ledger_used_bytes", "Bytes used of the map", {}, report.ledger.used_bytes);
  m.gauge("sendonce_ledger_map_bytes", "Size of the map", {}, report.ledger.map_bytes);
  m.gauge("sendonce_outbox_entries", "Event batches not confirmed yet", {},
          report.ledger.outbox_entries);
  m.gauge("sendonce_nats_connected", "1 while connected", {}, nats_connected ? 1 : 0);
  return m.text();
}

std::string metrics_as_json(const std::string& text) {
  std::string json = "{\"text\":";
  append_json_string(json, text);
  json.push_back('}');
  return json;
}

}  // namespace sendonce
