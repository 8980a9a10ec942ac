#include "plugin/broker/nats/setup_plan.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace sendonce {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

class SetupPlanTest : public ::testing::Test {
 protected:
  SetupPlanTest() {
    request.ledger_id = "ab12";
    request.consumers = {{.class_name = "otp",
                          .stream = "NOTIFY",
                          .durable = "sendonce_otp",
                          .filter_subject = "notify.otp.>",
                          .ack_wait = seconds(60)}};
  }
  void add_stream(std::vector<std::string> subjects = {"notify.>"}) {
    request.streams = {{.name = "NOTIFY", .subjects = {"notify.otp.>"}}};
    present.streams["NOTIFY"] = {.name = "NOTIFY",
                                 .created = "t",
                                 .subjects = std::move(subjects),
                                 .retention = "limits",
                                 .duplicate_window = seconds(120),
                                 .config = R"({"name":"NOTIFY","later_setting":7})"};
  }
  ConsumerInfo& add_consumer() {
    return present.consumers[{"NOTIFY", "sendonce_otp"}] = {
               .stream = "NOTIFY",
               .name = "sendonce_otp",
               .created = "t",
               .description = "sendonce ledger=ab12",
               .filter_subject = "notify.otp.>",
               .ack_policy = "explicit",
               .ack_wait = seconds(60),
               .max_ack_pending = 100'000,
               .config = R"({"durable_name":"sendonce_otp","later_setting":7,"backoff":[1]})"};
  }
  [[nodiscard]] SetupPlan plan() const { return plan_setup(request, present); }
  static std::string text_of_refusal(const SetupPlan& plan) {
    for (const SetupChange& change : plan.changes)
      if (change.action == ChangeAction::refuse) return change.text;
    return {};
  }
  static const SetupChange* change(const SetupPlan& plan, std::string_view field) {
    const auto found = std::find_if(plan.changes.begin(), plan.changes.end(),
                                    [&](const SetupChange& c) { return c.field == field; });
    return found == plan.changes.end() ? nullptr : &*found;
  }

  SetupRequest request{};
  SetupPresent present{};
};

TEST_F(SetupPlanTest, AnEmptyServerGetsEverything) {
  request.streams = desired_streams(request.consumers, "SENDONCE_OUTCOMES", "SENDONCE_DLQ");
  const SetupPlan p = plan();
  ASSERT_EQ(p.calls.size(), 4U);
  EXPECT_FALSE(p.refused());
  EXPECT_EQ(p.calls[0].api, "STREAM.CREATE.NOTIFY");
  EXPECT_NE(p.calls[0].body.find(R"("retention":"workqueue")"), std::string::npos);
  EXPECT_NE(p.calls[0].body.find(R"("subjects":["notify.otp.>"])"), std::string::npos);
  EXPECT_EQ(p.calls[1].api, "STREAM.CREATE.SENDONCE_OUTCOMES");
  EXPECT_NE(p.calls[1].body.find(R"("duplicate_window":3600000000000)"), std::string::npos);
  EXPECT_EQ(p.calls[2].api, "STREAM.CREATE.SENDONCE_DLQ");
  EXPECT_EQ(p.calls[3].api, "CONSUMER.DURABLE.CREATE.NOTIFY.sendonce_otp");
  EXPECT_NE(p.calls[3].body.find(R"("description":"sendonce ledger=ab12")"), std::string::npos);
  EXPECT_NE(p.calls[3].body.find(R"("max_deliver":-1)"), std::string::npos);
  EXPECT_NE(p.calls[3].body.find(R"("deliver_policy":"all")"), std::string::npos);
}

// Every instance has a consumer of its own, and a report is kept until all have it.
TEST_F(SetupPlanTest, ASharedStreamKeepsWhatAnyoneStillNeeds) {
  request.consumers.push_back({.class_name = "devices",
                               .stream = "DEVICE_REPORTS",
                               .durable = "sendonce-devices-edge",
                               .filter_subject = "device-reports.>",
                               .ack_wait = seconds(10),
                               .max_ack_pending = 1,
                               .holds = "reports about devices",
                               .shared = true});
  request.streams = desired_streams(request.consumers, "SENDONCE_OUTCOMES", "SENDONCE_DLQ");
  const SetupPlan p = plan();
  ASSERT_EQ(p.calls.size(), 6U);
  EXPECT_EQ(p.calls[1].api, "STREAM.CREATE.DEVICE_REPORTS");
  EXPECT_NE(p.calls[1].body.find(R"("retention":"interest")"), std::string::npos);
  EXPECT_NE(p.calls[1].body.find(R"("description":"reports about devices")"), std::string::npos);
  EXPECT_NE(p.calls[0].body.find(R"("retention":"workqueue")"), std::string::npos);
  EXPECT_EQ(p.calls[5].api, "CONSUMER.DURABLE.CREATE.DEVICE_REPORTS.sendonce-devices-edge");
  EXPECT_NE(p.calls[5].body.find(R"("max_ack_pending":1,)"), std::string::npos);
}

TEST_F(SetupPlanTest, WhatIsRightIsLeftAlone) {
  add_stream();
  add_consumer();
  const SetupPlan p = plan();
  EXPECT_TRUE(p.nothing_to_do());
  ASSERT_EQ(p.changes.size(), 2U);
  EXPECT_EQ(p.changes[0].action, ChangeAction::none);
  EXPECT_EQ(p.changes[0].object, "stream NOTIFY");
  EXPECT_EQ(p.changes[1].object, "consumer NOTIFY/sendonce_otp");
}

TEST_F(SetupPlanTest, AMissingSubjectIsAddedAndEverythingElseSurvives) {
  add_stream({"orders.>", "notify.otp.login"});
  add_consumer();
  const SetupPlan p = plan();
  ASSERT_EQ(p.calls.size(), 1U);
  EXPECT_EQ(p.calls[0].api, "STREAM.UPDATE.NOTIFY");
  EXPECT_EQ(p.calls[0].body,
            R"({"later_setting":7,"name":"NOTIFY","subjects":["orders.>","notify.otp.>"]})");
  ASSERT_NE(change(p, "subjects"), nullptr);
  EXPECT_EQ(change(p, "subjects")->from, "orders.>, notify.otp.login");
  EXPECT_EQ(change(p, "subjects")->to, "orders.>, notify.otp.>");
}

TEST_F(SetupPlanTest, StreamsThatCannotServeAreRefusedOrRepaired) {
  add_stream();
  add_consumer();
  present.streams["NOTIFY"].sealed = true;
  EXPECT_TRUE(plan().refused());
  present.streams["NOTIFY"].sealed = false;
  present.streams["NOTIFY"].mirror = true;
  EXPECT_TRUE(plan().refused());
  present.streams["NOTIFY"].mirror = false;
  present.streams["NOTIFY"].no_ack = true;
  ASSERT_EQ(plan().calls.size(), 1U);
  EXPECT_NE(plan().calls[0].body.find(R"("no_ack":false)"), std::string::npos);
}

TEST_F(SetupPlanTest, TheDuplicateWindowOnlyGrowsAndNotBeyondTheAge) {
  add_stream();
  add_consumer();
  request.streams[0].duplicate_window = hours(1);
  StreamInfo& stream = present.streams["NOTIFY"];
  EXPECT_EQ(change(plan(), "duplicate_window")->to, "1h");
  stream.duplicate_window = hours(2);
  EXPECT_TRUE(plan().nothing_to_do());
  stream.duplicate_window = seconds(60);
  stream.max_age = seconds(60);
  EXPECT_TRUE(plan().nothing_to_do());
}

TEST_F(SetupPlanTest, ANewConsumerOnAStreamThatHoldsMessagesNeedsAStart) {
  add_stream();
  present.streams["NOTIFY"].messages = 12;
  EXPECT_TRUE(plan().refused());
  EXPECT_TRUE(plan().calls.empty());
  EXPECT_NE(text_of_refusal(plan()).find("--from"), std::string::npos);
  EXPECT_NE(text_of_refusal(plan()).find("12 messages"), std::string::npos);
  request.consumers[0].from = StartFrom{.kind = StartFrom::Kind::now};
  EXPECT_NE(plan().calls.at(0).body.find(R"("deliver_policy":"new")"), std::string::npos);
  request.consumers[0].from = StartFrom{.kind = StartFrom::Kind::beginning};
  EXPECT_NE(plan().calls.at(0).body.find(R"("deliver_policy":"all")"), std::string::npos);
  request.consumers[0].from =
      StartFrom{.kind = StartFrom::Kind::time, .time = WallTime(seconds(1'700'000'000))};
  EXPECT_NE(plan().calls.at(0).body.find(R"("opt_start_time":"2023-11-14T22:13:20.000Z")"),
            std::string::npos);
}

// Those it holds are of other classes.
TEST_F(SetupPlanTest, ANewClassWithoutMessagesNeedsNoStart) {
  add_stream();
  StreamInfo& stream = present.streams["NOTIFY"];
  stream.messages = 12;
  stream.without = {"notify.otp.>"};
  EXPECT_NE(plan().calls.at(0).body.find(R"("deliver_policy":"all")"), std::string::npos);
  stream.without = {"notify.news.>"};
  EXPECT_TRUE(plan().refused());
}

TEST_F(SetupPlanTest, AnEmptyWorkQueueTakesAnyStart) {
  add_stream();
  present.streams["NOTIFY"].retention = "workqueue";
  request.consumers[0].from = StartFrom{.kind = StartFrom::Kind::now};
  EXPECT_NE(plan().calls.at(0).body.find(R"("deliver_policy":"all")"), std::string::npos);
}

TEST_F(SetupPlanTest, AWorkQueueIsReadFromItsBeginningOnly) {
  add_stream();
  present.streams["NOTIFY"].messages = 12;
  present.streams["NOTIFY"].retention = "workqueue";
  EXPECT_NE(text_of_refusal(plan()).find("--from all"), std::string::npos);
  EXPECT_EQ(text_of_refusal(plan()).find("new"), std::string::npos);
  request.consumers[0].from = StartFrom{.kind = StartFrom::Kind::now};
  EXPECT_NE(text_of_refusal(plan()).find("work queue"), std::string::npos);
  request.consumers[0].from = StartFrom{.kind = StartFrom::Kind::beginning};
  EXPECT_FALSE(plan().refused());
}

TEST_F(SetupPlanTest, AForeignConsumerIsLeftToItsOwnerUnlessAdopted) {
  add_stream();
  add_consumer().description = "sendonce ledger=cd34";
  SetupPlan p = plan();
  EXPECT_TRUE(p.refused());
  EXPECT_TRUE(p.calls.empty());
  EXPECT_NE(text_of_refusal(p).find("cd34"), std::string::npos);
  EXPECT_NE(text_of_refusal(p).find("ab12"), std::string::npos);
  EXPECT_NE(text_of_refusal(p).find("--adopt otp"), std::string::npos);
  request.consumers[0].adopt = true;
  p = plan();
  EXPECT_FALSE(p.refused());
  ASSERT_EQ(p.calls.size(), 1U);
  EXPECT_NE(p.calls[0].body.find(R"("description":"sendonce ledger=ab12")"), std::string::npos);
  EXPECT_NE(p.calls[0].body.find(R"("later_setting":7)"), std::string::npos);
  EXPECT_EQ(p.adopted, std::vector<std::string>{"otp"});
}

// Its consumer went with the old ledger: what the stream still holds may have been sent all the
// same.
TEST_F(SetupPlanTest, AConsumerThatIsMadeAnewIsAdoptedToo) {
  add_stream();
  present.streams["NOTIFY"].messages = 12;
  request.consumers[0].from = StartFrom{.kind = StartFrom::Kind::beginning};
  EXPECT_TRUE(plan().adopted.empty());
  request.consumers[0].adopt = true;
  EXPECT_EQ(plan().adopted, std::vector<std::string>{"otp"});
}

TEST_F(SetupPlanTest, AdoptingWhatIsOursAlreadyAdoptsNothing) {
  add_stream();
  add_consumer();
  request.consumers[0].adopt = true;
  EXPECT_TRUE(plan().nothing_to_do());
  EXPECT_TRUE(plan().adopted.empty());
}

TEST_F(SetupPlanTest, DriftIsRepaired) {
  add_stream();
  ConsumerInfo& consumer = add_consumer();
  consumer.max_deliver = 5;
  consumer.backoff = true;
  consumer.ack_wait = seconds(1);
  consumer.max_ack_pending = 10;
  consumer.filter_subject = "notify.>";
  const SetupPlan p = plan();
  ASSERT_EQ(p.calls.size(), 1U);
  const std::string& body = p.calls[0].body;
  EXPECT_NE(body.find(R"("max_deliver":-1)"), std::string::npos);
  EXPECT_EQ(body.find("backoff"), std::string::npos);
  EXPECT_NE(body.find(R"("ack_wait":60000000000)"), std::string::npos);
  EXPECT_NE(body.find(R"("max_ack_pending":100000)"), std::string::npos);
  EXPECT_NE(body.find(R"("filter_subject":"notify.otp.>")"), std::string::npos);
  EXPECT_NE(body.find(R"("later_setting":7)"), std::string::npos);
  EXPECT_EQ(change(p, "max_deliver")->from, "5");
}

TEST_F(SetupPlanTest, WhatTheServerCannotChangeIsRefused) {
  add_stream();
  add_consumer().ack_policy = "none";
  EXPECT_TRUE(plan().refused());
  EXPECT_TRUE(plan().calls.empty());
  add_consumer().deliver_subject = "push.here";
  EXPECT_TRUE(plan().refused());
}

TEST_F(SetupPlanTest, OnRequestItIsMadeAnew) {
  add_stream();
  add_consumer().deliver_subject = "push.here";
  EXPECT_NE(text_of_refusal(plan()).find("--recreate otp"), std::string::npos);
  request.consumers[0].recreate = true;
  const SetupPlan p = plan();
  EXPECT_FALSE(p.refused());
  ASSERT_EQ(p.calls.size(), 2U);
  EXPECT_EQ(p.calls[0].api, "CONSUMER.DELETE.NOTIFY.sendonce_otp");
  EXPECT_EQ(p.calls[1].api, "CONSUMER.DURABLE.CREATE.NOTIFY.sendonce_otp");
  EXPECT_EQ(p.calls[1].body.find("push.here"), std::string::npos);
  EXPECT_NE(p.calls[1].body.find(R"("description":"sendonce ledger=ab12")"), std::string::npos);
  EXPECT_TRUE(p.adopted.empty());
}

TEST_F(SetupPlanTest, NotWhereThatIsRefusedOrLosesMessages) {
  add_stream();
  ConsumerInfo& consumer = add_consumer();
  request.consumers[0].recreate = true;
  EXPECT_TRUE(plan().nothing_to_do()) << "it is as it should be";
  consumer.ack_policy = "none";
  present.streams["NOTIFY"].messages = 3;
  EXPECT_NE(text_of_refusal(plan()).find("--from"), std::string::npos);
  EXPECT_TRUE(plan().calls.empty());
  request.consumers[0].from = StartFrom{};
  EXPECT_EQ(plan().calls.size(), 2U);
  present.streams["NOTIFY"].retention = "interest";
  EXPECT_NE(text_of_refusal(plan()).find("loses what waits"), std::string::npos);
  present.streams["NOTIFY"].retention = "limits";
  consumer.description = "sendonce ledger=others";
  EXPECT_NE(text_of_refusal(plan()).find("--adopt otp"), std::string::npos);
  EXPECT_TRUE(plan().calls.empty());
  request.consumers[0].adopt = true;
  EXPECT_EQ(plan().calls.size(), 2U);
  EXPECT_EQ(plan().adopted, std::vector<std::string>{"otp"});
}

TEST(DesiredStreams, ClassesShareAStreamWithoutOverlap) {
  const auto streams = desired_streams({{.stream = "A", .filter_subject = "notify.otp.>"},
                                        {.stream = "B", .filter_subject = "other.>"},
                                        {.stream = "A", .filter_subject = "notify.promo.>"}},
                                       "OUT", "DLQ");
  ASSERT_EQ(streams.size(), 4U);
  EXPECT_EQ(streams[0].subjects, (std::vector<std::string>{"notify.otp.>", "notify.promo.>"}));
  EXPECT_EQ(streams[1].subjects, std::vector<std::string>{"other.>"});
  EXPECT_EQ(streams[2].name, "OUT");
  EXPECT_EQ(streams[2].subjects,
            (std::vector<std::string>{"sendonce.outcome.>", "sendonce.device.>"}));
  EXPECT_EQ(streams[2].duplicate_window, hours(1));
  EXPECT_EQ(streams[3].subjects, std::vector<std::string>{"sendonce.dlq.>"});
}

}  // namespace
}  // namespace sendonce
