#include "plugin/module/health.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/module/reports.hpp"

namespace sendonce::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

struct Given {
  Config config = reported_config();
  EngineReport report{};
  InstanceState state{.state = SENDONCE_STATE_READY, .exit_code = 0, .reason = "ready"};
  std::vector<LaneState> lanes{{.ready = true}, {.ready = true}};
  bool connected = true;

  Given() {
    report.classes.resize(2);
    report.providers.resize(1);
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> reasons() const {
    std::vector<std::pair<std::string, std::string>> out;
    for (HealthReason& r : reasons_against({.config = config,
                                            .report = report,
                                            .state = state,
                                            .lanes = lanes,
                                            .nats_connected = connected}))
      out.emplace_back(std::move(r.name), std::move(r.text));
    return out;
  }
};

TEST(HealthTest, NothingStandsInTheWay) {
  EXPECT_THAT(Given().reasons(), IsEmpty());
}

TEST(HealthTest, TheReportsOfDevicesHaveALaneToo) {
  Given given;
  given.lanes.push_back({.ready = true});
  EXPECT_THAT(given.reasons(), IsEmpty());
  given.lanes.back() = {.reason = "consumer is missing"};
  EXPECT_THAT(given.reasons(), ElementsAre(Pair("devices", "consumer is missing")));
  given.lanes.back() = {.ready = true};
  given.report.device_reports = DeviceReportsReport{.not_ready = "the outbox is not confirmed"};
  EXPECT_THAT(given.reasons(), ElementsAre(Pair("devices", "the outbox is not confirmed")));
}

TEST(HealthTest, EachReasonHasItsName) {
  Given away;
  away.connected = false;
  EXPECT_THAT(away.reasons(), ElementsAre(Pair("nats", "not connected")));
  Given full;
  full.report.ledger.claims_stopped = true;
  EXPECT_THAT(
      full.reasons(),
      ElementsAre(Pair("ledger", "no room for new claims: the map or the disk is nearly full")));
  Given held;
  held.report.providers[0].holds.emplace_back(
      "fcm/apns", Hold{.fault = Fault::auth, .reason = "THIRD_PARTY_AUTH_ERROR"});
  EXPECT_THAT(
      held.reasons(),
      ElementsAre(Pair("provider.apns", "held in part fcm/apns (auth): THIRD_PARTY_AUTH_ERROR")));
  Given unbound;
  unbound.lanes[1] = {.reason = "no such consumer"};
  unbound.report.classes[0].not_ready = "blocked by apns";
  EXPECT_THAT(unbound.reasons(), ElementsAre(Pair("class.otp", "blocked by apns"),
                                             Pair("class.orders", "no such consumer")));
  Given starting;
  starting.state = {.state = SENDONCE_STATE_STARTING, .exit_code = 0, .reason = "connecting"};
  EXPECT_THAT(starting.reasons(), ElementsAre(Pair("instance", "starting: connecting")));
  Given draining;
  draining.state = {.state = SENDONCE_STATE_DRAINING, .exit_code = 0, .reason = "draining"};
  EXPECT_THAT(draining.reasons(), ElementsAre(Pair("instance", "draining")));
}

TEST(HealthTest, TheAnswerIsJson) {
  EXPECT_EQ(health_reply(true, {}).body, "{\"ok\":true,\"reasons\":[]}\n");
  const HttpReply no = health_reply(false, {{"nats", "not \"connected\""}, {"ledger", "full"}});
  EXPECT_EQ(no.status, 503);
  EXPECT_EQ(no.body,
            "{\"ok\":false,\"reasons\":[{\"name\":\"nats\",\"text\":\"not \\\"connected\\\"\"},"
            "{\"name\":\"ledger\",\"text\":\"full\"}]}\n");
}

}  // namespace
}  // namespace sendonce::test
