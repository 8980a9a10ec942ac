#include "classifiers/twilio/twilio_callback.hpp"

#include <gtest/gtest.h>

#include "tests/unit/classifiers/fixtures.hpp"

namespace sendonce::test {
namespace {

constexpr const char* kSid = "SM0123456789abcdef0123456789abcdef";

Verdict reported(const std::string& fields) {
  return judge_twilio_callback(answer(0, "MessageSid=" + std::string(kSid) + "&" + fields));
}

TEST(TwilioCallback, what_leads_to_delivery_is_accepted_with_its_receipt) {
  for (const char* status : {"queued", "sending", "sent", "delivered", "read"}) {
    const Verdict v = reported("MessageStatus=" + std::string(status) + "&To=%2B15555550100");
    EXPECT_EQ(v.name, VerdictClass::accepted) << status;
    EXPECT_EQ(v.message_id, kSid);
  }
}

TEST(TwilioCallback, a_failure_is_judged_by_its_code) {
  const auto code = [](const std::string& text) {
    return reported("MessageStatus=undelivered&ErrorCode=" + text);
  };
  EXPECT_EQ(code("30003").name, VerdictClass::retryable);
  EXPECT_EQ(code("30005").name, VerdictClass::token_terminal);
  EXPECT_EQ(code("30006").name, VerdictClass::token_terminal);
  EXPECT_EQ(code("30004").name, VerdictClass::token_mismatch);
  EXPECT_EQ(code("30007").name, VerdictClass::payload_error);
  EXPECT_EQ(code("30034").name, VerdictClass::config_error);
  EXPECT_EQ(code("30022").name, VerdictClass::throttled);
  EXPECT_EQ(code("30005").reason, "undelivered 30005");
  for (const char* unknown : {"", "30008", "99999", "30005x", "<b>"}) {
    EXPECT_EQ(code(unknown).name, VerdictClass::ambiguous) << unknown;
    EXPECT_EQ(code(unknown).effect, Effect::maybe_sent) << unknown;
  }
}

TEST(TwilioCallback, what_is_none_says_nothing) {
  for (const std::string& body :
       {std::string(), std::string("{}"), std::string("MessageStatus=delivered"),
        std::string("MessageSid=SM12&MessageStatus=delivered"),
        "MessageSid=" + std::string(kSid) + "&MessageSid=" + kSid + "&MessageStatus=delivered",
        std::string(100'000, '&'), std::string("MessageSid=") + std::string(100'000, 'a')}) {
    const Verdict v = judge_twilio_callback(answer(0, body));
    EXPECT_EQ(v.name, VerdictClass::ambiguous) << body.substr(0, 60);
    EXPECT_EQ(v.fault, Fault::provider);
  }
  EXPECT_EQ(reported("MessageStatus=delivered&MessageStatus=failed").name, VerdictClass::ambiguous);
  EXPECT_EQ(reported("MessageStatus=failed&ErrorCode=30005&ErrorCode=30003").name,
            VerdictClass::ambiguous)
      << "there twice is not there";
  // A status of HTTP is no part of a callback.
  EXPECT_EQ(judge_twilio_callback(
                answer(200, "MessageSid=" + std::string(kSid) + "&MessageStatus=delivered"))
                .name,
            VerdictClass::ambiguous);
}

}  // namespace
}  // namespace sendonce::test
