// What `sendonce top` makes of two looks at a daemon.
#include "plugin/cli/top.hpp"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sendonce::cli {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

Json status(const char* time, std::uint64_t received, std::uint64_t accepted) {
  Json json = Json::parse(R"({
    "instance":"demo","state":"ready","reason":"ready","time":"",
    "duration_bounds":[0.01,0.1,1],
    "ledger":{"rows":1234567,"open_rows":7,"outbox_entries":2,"used_bytes":25,"map_bytes":100},
    "classes":[{"name":"orders","ready":true,"reason":"","paused":"","held":5,
      "oldest_held":"2026-11-30T11:59:30Z","pending":40,"ack_pending":8,"received":0,"accepted":0,
      "unknown":3,"failed":12345}],
    "providers":[{"name":"apns","connections":2,"in_flight":4,"queued":1,"last_error":"",
      "paused":"","holds":[],"verdicts":{"accepted":0,"ambiguous":0},
      "calls_by_duration":[0,0,0,0]}]})");
  json["time"] = time;
  json["classes"][0]["received"] = received;
  json["classes"][0]["accepted"] = accepted;
  json["providers"][0]["verdicts"]["accepted"] = accepted;
  return json;
}

class Top : public testing::Test {
 protected:
  TopView view() {
    auto made = top_view(before_.dump(), after_.dump());
    EXPECT_TRUE(made.has_value());
    return made ? *made : TopView{};
  }
  Json before_ = status("2026-11-30T12:00:00.000Z", 100, 50);
  Json after_ = status("2026-11-30T12:00:02.000Z", 120, 53);
};

TEST_F(Top, rates_are_of_the_time_between) {
  const TopView v = view();
  EXPECT_DOUBLE_EQ(v.seconds, 2);
  ASSERT_EQ(v.classes.size(), 1U);
  EXPECT_DOUBLE_EQ(v.classes[0].in_per_s, 10);
  EXPECT_DOUBLE_EQ(v.classes[0].accepted_per_s, 1.5);
  EXPECT_EQ(v.classes[0].waiting, 43U) << "on the stream, and handed back";
  EXPECT_EQ(v.classes[0].in_flight, 5U);
  EXPECT_DOUBLE_EQ(v.classes[0].oldest_s.value_or(0), 32);
  ASSERT_EQ(v.providers[0].verdicts_per_s.size(), 1U) << "of those that there were";
  EXPECT_EQ(v.providers[0].verdicts_per_s[0].first, "accepted");
  EXPECT_DOUBLE_EQ(v.map_used, 0.25);
}

TEST_F(Top, another_life_counts_from_zero) {
  before_["classes"][0]["received"] = 1'000'000;
  EXPECT_DOUBLE_EQ(view().classes[0].in_per_s, 60);
}

TEST_F(Top, what_is_new_counts_from_zero) {
  before_["classes"] = Json::array();
  before_["providers"] = Json::array();
  EXPECT_DOUBLE_EQ(view().classes[0].in_per_s, 60);
}

TEST_F(Top, two_looks_at_the_same_moment_have_no_rates) {
  after_["time"] = before_["time"];
  EXPECT_DOUBLE_EQ(view().classes[0].in_per_s, 0);
}

TEST_F(Top, latencies_are_those_of_the_calls_meanwhile) {
  EXPECT_FALSE(view().providers[0].p50_s.has_value()) << "no calls";
  before_["providers"][0]["calls_by_duration"] = {1000, 0, 0, 0};
  after_["providers"][0]["calls_by_duration"] = {1000, 10, 0, 0};
  EXPECT_DOUBLE_EQ(view().providers[0].p50_s.value_or(0), 0.01 + 0.09 * 0.5);
  after_["providers"][0]["calls_by_duration"] = {1090, 9, 0, 1};
  EXPECT_LT(view().providers[0].p50_s.value_or(9), 0.01);
  EXPECT_DOUBLE_EQ(view().providers[0].p99_s.value_or(0), 0.1);
}

TEST(Quantile, is_interpolated_and_bounded) {
  const std::vector<double> bounds{1, 2, 4};
  EXPECT_FALSE(quantile_of({0, 0, 0, 0}, bounds, 0.5).has_value());
  EXPECT_FALSE(quantile_of({}, {}, 0.5).has_value());
  EXPECT_DOUBLE_EQ(*quantile_of({0, 0, 4, 0}, bounds, 0.5), 3);
  EXPECT_DOUBLE_EQ(*quantile_of({0, 0, 0, 4}, bounds, 0.5), 4) << "longer, nobody knows how much";
  EXPECT_DOUBLE_EQ(*quantile_of({4, 0, 0, 0}, bounds, 0.25), 0.25);
}

TEST_F(Top, states_are_named_with_their_reason) {
  after_["providers"][0]["holds"] = {
      {{"part", "sandbox"}, {"fault", "auth"}, {"reason", "InvalidProviderToken"}}};
  EXPECT_EQ(view().providers[0].state, "held: auth");
  EXPECT_EQ(view().providers[0].reason, "sandbox: InvalidProviderToken");
  after_["providers"][0]["paused"] = "by alice: maintenance";
  EXPECT_EQ(view().providers[0].state, "paused");
  after_ = status("2026-11-30T12:00:02Z", 0, 0);
  after_["providers"][0]["connections"] = 0;
  after_["providers"][0]["last_error"] = "connection refused";
  EXPECT_EQ(view().providers[0].state, "down");
  after_["classes"][0]["ready"] = false;
  after_["classes"][0]["reason"] = "blocked by apns";
  EXPECT_EQ(view().classes[0].state, "not ready");
  EXPECT_THAT(top_text(view(), 80), HasSubstr("  blocked by apns\n"));
}

TEST_F(Top, fits_into_eighty_columns_whatever_is_in_it) {
  after_["classes"][0]["name"] = std::string(60, 'c');
  after_["classes"][0]["reason"] = std::string(300, 'r');
  after_["classes"][0]["pending"] = 123456789012345;
  after_["providers"][0]["name"] = std::string(60, 'p');
  after_["providers"][0]["last_error"] = "\x1b[31mred\n\xc3\xbc" + std::string(200, 'x');
  after_["providers"][0]["connections"] = 0;
  for (const char* verdict : {"retryable", "throttled", "token_terminal", "token_mismatch",
                              "provider_auth", "payload_error", "config_error", "ambiguous"})
    after_["providers"][0]["verdicts"][verdict] = 123456;
  for (const std::size_t columns : {60U, 80U, 200U}) {
    std::istringstream lines(top_text(view(), columns));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), columns) << line;
      EXPECT_THAT(line, Not(HasSubstr("\x1b"))) << "no terminal is told what to do";
    }
  }
}

TEST_F(Top, the_page_of_a_quiet_daemon) {
  EXPECT_EQ(top_text(view(), 80),
            "demo: ready\n"
            "2026-11-30T12:00:02  over 2.0s  ledger 25.0% full, 1.2M rows, 7 open, outbox 2\n"
            "\n"
            "CLASS            STATE        IN/s   OK/s WAITING IN HAND UNKNOWN  FAILED OLDEST\n"
            "orders           ready          10    1.5      43       5       3   12.3k    32s\n"
            "\n"
            "PROVIDER         STATE            CONNS  CALLS  QUEUED     p50     p99\n"
            "apns             up                   2      4       1       -       -\n"
            "  accepted 1.5/s\n");
}

TEST_F(Top, one_snapshot_is_one_line_of_json) {
  const std::string line = top_json(view());
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const Json json = Json::parse(line);
  EXPECT_EQ(json["classes"][0]["in_per_s"], 10.0);
  EXPECT_EQ(json["providers"][0]["p50_s"], nullptr);
  EXPECT_EQ(json["providers"][0]["verdicts_per_s"]["accepted"], 1.5);
}

TEST_F(Top, what_is_no_status_is_refused) {
  for (const char* text : {"", "[]", "{}", "{\"classes\":[]}"})
    EXPECT_FALSE(top_view(before_.dump(), text).has_value()) << text;
}

}  // namespace
}  // namespace sendonce::cli
