#include "plugin/broker/nats/service.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sendonce {
namespace {

using testing::Contains;
using testing::SizeIs;

ServiceDescription service() {
  return {.name = "edge",
          .id = "L1",
          .version = "0.1.0",
          .endpoints = {{"otp", "notify.otp.>", "sendonce_otp"}},
          .started = WallTime{std::chrono::seconds(0)}};
}

// ADR-32: everybody, all of a kind, one.
TEST(ServiceTest, ListensForEveryoneItsKindAndItself) {
  const auto subjects = service_subjects(service());
  EXPECT_THAT(subjects, SizeIs(9));
  for (const char* subject : {"$SRV.PING", "$SRV.INFO.edge", "$SRV.STATS.edge.L1"})
    EXPECT_THAT(subjects, Contains(subject));
  for (const std::string& subject : subjects)
    EXPECT_TRUE(service_answer(service(), subject, {})) << subject;
}

TEST(ServiceTest, AnswersInTheFormOfTheProtocol) {
  EXPECT_EQ(*service_answer(service(), "$SRV.PING", {}),
            R"({"type":"io.nats.micro.v1.ping_response","name":"edge","id":"L1",)"
            R"("version":"0.1.0","metadata":{}})");
  EXPECT_EQ(*service_answer(service(), "$SRV.INFO.edge", {}),
            R"({"type":"io.nats.micro.v1.info_response","name":"edge","id":"L1",)"
            R"("version":"0.1.0","metadata":{},)"
            R"("description":"delivers notifications from JetStream at most once per key",)"
            R"("endpoints":[{"name":"otp","subject":"notify.otp.>","queue_group":"sendonce_otp",)"
            R"("metadata":{}}]})");
  const ServiceCounts counts{.requests = 4,
                             .errors = 1,
                             .processing = std::chrono::microseconds(10),
                             .data = {{"accepted", 3}, {"failed", 1}}};
  EXPECT_EQ(*service_answer(service(), "$SRV.STATS.edge.L1", {&counts, 1}),
            R"({"type":"io.nats.micro.v1.stats_response","name":"edge","id":"L1",)"
            R"("version":"0.1.0","metadata":{},"started":"1970-01-01T00:00:00.000Z",)"
            R"("endpoints":[{"name":"otp","subject":"notify.otp.>","queue_group":"sendonce_otp",)"
            R"("num_requests":4,"num_errors":1,"last_error":"","processing_time":10000,)"
            R"("average_processing_time":2500,"data":{"accepted":3,"failed":1}}]})");
  EXPECT_TRUE(service_answer(service(), "$SRV.STATS", {})) << "before anything was counted";
}

TEST(ServiceTest, OthersAreNotAnsweredFor) {
  for (const char* subject : {"$SRV.PING.other", "$SRV.PING.edge.L2", "$SRV.SCHEMA", "$SRV",
                              "$SRV.PING.edge.L1.x", "$SRV.PINGS", ""})
    EXPECT_FALSE(service_answer(service(), subject, {})) << subject;
}

// Whoever asks must not make us say something where only we may speak.
TEST(ServiceTest, AnswersGoToInboxesOnly) {
  constexpr std::string_view kOurs = "_INBOX.sendonce.edge.0011";
  EXPECT_TRUE(is_reply_subject("_INBOX.abc.1", kOurs));
  EXPECT_TRUE(is_reply_subject("_CUSTOM.abc", kOurs));
  for (const char* subject :
       {"", "$JS.ACK.NOTIFY.sendonce_otp.1.7.7.0.0", "$JS.API.STREAM.DELETE.X",
        "sendonce.outcome.otp.accepted", "_INBOX.sendonce.edge.0011.p.7"})
    EXPECT_FALSE(is_reply_subject(subject, kOurs)) << subject;
}

}  // namespace
}  // namespace sendonce
