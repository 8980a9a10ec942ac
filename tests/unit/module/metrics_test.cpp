#include "plugin/module/metrics.hpp"

#include <algorithm>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/module/reports.hpp"

namespace sendonce::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(MetricsTest, SayWhatTheReportSays) {
  const std::string text = render(reported_config(), full_report());
  for (const char* line :
       {R"(sendonce_messages_received_total{class="otp",delivery="first"} 7)",
        R"(sendonce_messages_received_total{class="otp",delivery="redelivered"} 3)",
        R"(sendonce_claims_total{class="otp",answer="claimed"} 6)",
        R"(sendonce_claims_total{class="otp",answer="stopped"} 1)",
        R"(sendonce_attempts_total{class="otp",kind="first"} 3)",
        R"(sendonce_attempts_total{class="otp",kind="again"} 2)",
        R"(sendonce_attempts_total{class="otp",kind="in_doubt"} 1)",
        R"(sendonce_outcomes_total{class="otp",outcome="unknown"} 1)",
        R"(sendonce_messages_oldest_seconds{class="otp"} 7)",
        R"(sendonce_messages_oldest_seconds{class="orders"} 0)",
        R"(sendonce_stream_pending_messages{class="otp"} 9)",
        R"(sendonce_class_ready{class="otp"} 1)",
        R"(sendonce_class_ready{class="orders"} 0)",
        R"(sendonce_device_reports_total{result="applied"} 3)",
        R"(sendonce_device_reports_total{result="refused"} 1)",
        R"(sendonce_provider_devices_reused_total{provider="apns"} 2)",
        R"(sendonce_provider_up{provider="apns"} 0)",
        R"(sendonce_provider_holds{provider="apns",fault="auth"} 1)",
        R"(sendonce_provider_holds{provider="apns",fault="throttle"} 0)",
        R"(sendonce_provider_credential_expiry_timestamp_seconds{provider="apns"} 1800003600)",
        R"(sendonce_provider_responses_total{provider="apns",verdict="accepted"} 4)",
        "sendonce_outbox_oldest_seconds 3",
        "sendonce_ledger_map_bytes 1073741824",
        R"(name="edge-1"})",
        R"(sendonce_config_info{hash="aaaa)"})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(MetricsTest, HistogramsCountUpwards) {
  const std::string text = render(reported_config(), full_report());
  EXPECT_THAT(text,
              AllOf(HasSubstr(R"(_call_duration_seconds_bucket{provider="apns",le="0.025"} 0)"),
                    HasSubstr(R"(_call_duration_seconds_bucket{provider="apns",le="0.05"} 1)"),
                    HasSubstr(R"(_call_duration_seconds_bucket{provider="apns",le="5"} 2)"),
                    HasSubstr(R"(_call_duration_seconds_bucket{provider="apns",le="+Inf"} 2)"),
                    HasSubstr(R"(_call_duration_seconds_count{provider="apns"} 2)"),
                    HasSubstr(R"(_call_duration_seconds_sum{provider="apns"} 3.03)")));
}

// Which series there are is known once the configuration is: nothing that is counted adds one.
TEST(MetricsTest, LabelsAreBoundedByTheConfiguration) {
  const auto series = [](const EngineReport& report) {
    std::istringstream lines(render(reported_config(), report));
    std::set<std::string> out;
    for (std::string line; std::getline(lines, line);)
      if (!line.starts_with('#')) out.insert(line.substr(0, line.rfind(' ')));
    return out;
  };
  EngineReport quiet = full_report();
  quiet.classes.assign(2, {});
  quiet.providers[0].holds.clear();
  quiet.providers[0].counters = {};
  EXPECT_EQ(series(quiet), series(full_report()));
  EXPECT_LT(series(full_report()).size(), 250U);
}

TEST(MetricsTest, AHoldsReasonIsNoLabel) {
  EXPECT_THAT(render(reported_config(), full_report()), Not(HasSubstr("InvalidProviderToken")));
}

TEST(MetricsTest, EachFamilyIsDescribedOnce) {
  std::istringstream lines(render(reported_config(), full_report()));
  std::set<std::string> described;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("# HELP ")) continue;
    const std::string name = line.substr(7, line.find(' ', 7) - 7);
    EXPECT_TRUE(described.insert(name).second) << name;
    EXPECT_GT(line.size(), 8 + name.size()) << name << " has no help";
  }
  EXPECT_GT(described.size(), 40U);
}

}  // namespace
}  // namespace sendonce::test
