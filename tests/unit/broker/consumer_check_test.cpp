#include "plugin/broker/nats/consumer_check.hpp"

#include <gtest/gtest.h>

#include "plugin/core/subject.hpp"
#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(LedgerMark, IsFoundAndReplaced) {
  EXPECT_EQ(ledger_in("sendonce ledger=ab12"), "ab12");
  EXPECT_EQ(ledger_in("of otp; sendonce ledger=ab12, made by setup"), "ab12");
  EXPECT_EQ(ledger_in("sendonce"), "");
  EXPECT_EQ(ledger_in(""), "");
  EXPECT_EQ(with_ledger("", "ab"), "sendonce ledger=ab");
  EXPECT_EQ(with_ledger("by hand", "ab"), "sendonce ledger=ab by hand");
  EXPECT_EQ(with_ledger("x sendonce ledger=old, y", "new"), "x sendonce ledger=new, y");
}

class ConsumerFaultTest : public ::testing::Test {
 protected:
  ConsumerExpectation expected{.stream = "NOTIFY",
                               .durable = "sendonce_otp",
                               .filter_subject = "notify.otp.>",
                               .ledger_id = "ab12",
                               .ack_wait = seconds(60)};
  ConsumerInfo found{.stream = "NOTIFY",
                     .name = "sendonce_otp",
                     .created = "t",
                     .description = "sendonce ledger=ab12",
                     .filter_subject = "notify.otp.>",
                     .ack_policy = "explicit",
                     .ack_wait = seconds(60)};
  std::string fault() { return consumer_fault(expected, found).value_or(""); }
};

TEST_F(ConsumerFaultTest, TheExpectedOneIsRight) {
  EXPECT_EQ(fault(), "");
  found.ack_wait = seconds(61);
  EXPECT_EQ(fault(), "");
}

TEST_F(ConsumerFaultTest, OneAtATimeMeansOne) {
  found.max_ack_pending = 100;
  EXPECT_EQ(fault(), "");
  expected.one_at_a_time = true;
  EXPECT_NE(fault().find("max_ack_pending 100, 1 is needed"), std::string::npos) << fault();
  EXPECT_NE(fault().find("sendonce setup"), std::string::npos) << fault();
  found.max_ack_pending = 1;
  EXPECT_EQ(fault(), "");
}

TEST_F(ConsumerFaultTest, EveryFaultIsNamedWithItsRemedy) {
  const ConsumerInfo right = found;
  const auto expect = [&](const char* part, auto change) {
    found = right;
    change(found);
    EXPECT_NE(fault().find(part), std::string::npos) << fault();
    EXPECT_NE(fault().find("sendonce setup"), std::string::npos) << fault();
  };
  expect("belongs to ledger cd34, this ledger is ab12",
         [](ConsumerInfo& i) { i.description = "sendonce ledger=cd34"; });
  expect("belongs to no ledger, this ledger is ab12", [](ConsumerInfo& i) { i.description = ""; });
  expect("no ledger", [](ConsumerInfo& i) { i.description = "sendonce ledger="; });
  expect("push consumer", [](ConsumerInfo& i) { i.deliver_subject = "x"; });
  expect("ack_policy none", [](ConsumerInfo& i) { i.ack_policy = "none"; });
  expect("max_deliver 5", [](ConsumerInfo& i) { i.max_deliver = 5; });
  expect("backoff", [](ConsumerInfo& i) { i.backoff = true; });
  expect("'notify.>'", [](ConsumerInfo& i) { i.filter_subject = "notify.>"; });
  expect("filters nothing", [](ConsumerInfo& i) { i.filter_subject = ""; });
  expect("several subjects", [](ConsumerInfo& i) { i.several_filters = true; });
  expect("headers only", [](ConsumerInfo& i) { i.headers_only = true; });
  expect("ack_wait 1500ms, the class needs 1m",
         [](ConsumerInfo& i) { i.ack_wait = milliseconds(1500); });
  expect("inactive_threshold", [](ConsumerInfo& i) { i.inactive_threshold = seconds(1); });
}

// A prefix of our id, or ours as a prefix of another, is another.
TEST_F(ConsumerFaultTest, IdsAreComparedWhole) {
  found.description = "sendonce ledger=ab1";
  EXPECT_NE(fault(), "");
  found.description = "sendonce ledger=ab123";
  EXPECT_NE(fault(), "");
}

}  // namespace
}  // namespace sendonce
