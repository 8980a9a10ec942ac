// An instance with everything in it that a page can show.
#pragma once

#include <chrono>

#include "config/schema.hpp"
#include "plugin/broker/broker.hpp"
#include "plugin/module/metrics.hpp"
#include "plugin/pipeline/engine_report.hpp"

namespace sendonce::test {

constexpr WallTime kReportTime{std::chrono::seconds(1'800'000'000)};

inline Config reported_config() {
  Config config;
  config.instance.name = "edge-1";
  config.hash = std::string(64, 'a');
  config.classes.resize(2);
  config.classes[0].name = "otp";
  config.classes[1].name = "orders";
  config.providers.resize(1);
  config.providers[0].name = "apns";
  return config;
}

inline EngineReport full_report() {
  EngineReport report;
  report.classes.resize(2);
  ClassReport& otp = report.classes[0];
  otp.counters.received = 10;
  otp.counters.redelivered = 3;
  otp.counters.claim_answers = {6, 1, 0, 2, 0, 0, 1};
  otp.counters.calls = 6;
  otp.counters.repeats = 2;
  otp.counters.repeats_in_doubt = 1;
  otp.counters.accepted = 4;
  otp.counters.unknown = 1;
  otp.counters.accepted_after.observe(std::chrono::milliseconds(40));
  otp.held = 2;
  otp.oldest_held = kReportTime - std::chrono::seconds(7);
  report.classes[1].not_ready = "blocked by apns";
  report.providers.resize(1);
  ProviderReport& apns = report.providers[0];
  apns.counters.verdicts[0] = 4;
  apns.counters.calls.observe(std::chrono::milliseconds(30));
  apns.counters.calls.observe(std::chrono::seconds(3));
  apns.credential_ends = kReportTime + std::chrono::hours(1);
  apns.clock_lead = std::chrono::milliseconds(-1500);
  apns.holds.emplace_back("", Hold{.fault = Fault::auth, .reason = "InvalidProviderToken"});
  apns.counters.devices_reused = 2;
  report.device_reports =
      DeviceReportsReport{.counters = {.applied = 3, .unchanged = 2, .refused = 1}};
  report.ledger.rows = 5;
  report.ledger.used_bytes = 4096;
  report.ledger.map_bytes = 1U << 30U;
  report.ledger.outbox_oldest = kReportTime - std::chrono::seconds(3);
  report.ledger.commits.observe(std::chrono::milliseconds(2));
  return report;
}

inline std::string render(const Config& config, const EngineReport& report) {
  return render_metrics({.config = config,
                         .report = report,
                         .lanes = {{.ready = true, .pending = 9}, {.ready = true}},
                         .file_ends = {{.field = "provider.apns.tls.ca",
                                        .provider = "apns",
                                        .end = kReportTime + std::chrono::hours(120)}},
                         .ready = true,
                         .nats_connected = true,
                         .nats_connects = 1,
                         .started = kReportTime,
                         .now = kReportTime});
}

}  // namespace sendonce::test
