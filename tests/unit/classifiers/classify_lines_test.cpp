#include "classifiers/classify_lines.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/classifiers/fixtures.hpp"

namespace sendonce::test {
namespace {

using ::testing::HasSubstr;

std::string line(std::string_view text) {
  const auto out = classify_line(text, 7, kNow);
  return out ? *out : out.error().text;
}

TEST(ClassifyLines, golden) {
  EXPECT_EQ(line(R"({"id":"x","provider":"apns","http_status":200,"headers":{"APNs-ID":"i1"}})"),
            R"({"id":"x","class":"accepted","effect":"sent","fault":"none","scope":"delivery",)"
            R"("reason":"accepted","retry_after_s":0,"message_id":"i1"})");
  EXPECT_EQ(
      line(R"({"provider":"apns","http_status":400,"body":"{\"reason\":\"BadDeviceToken\"}"})"),
      R"({"id":"","class":"token_terminal","effect":"not_sent","fault":"device",)"
      R"("scope":"device","reason":"BadDeviceToken","retry_after_s":0,"needs_proof":true})");
  EXPECT_EQ(
      line(R"({"id":"q","provider":"fcm","http_status":429,"headers":{"retry-after":90},)"
           R"("body":null})"),
      R"({"id":"q","class":"throttled","effect":"not_sent","fault":"throttle","scope":"provider",)"
      R"("reason":"http_429","retry_after_s":90})");
}

TEST(ClassifyLines, no_status_and_no_transport_is_no_answer) {
  EXPECT_THAT(line(R"({"provider":"apns"})"), HasSubstr(R"("class":"ambiguous")"));
  EXPECT_THAT(line(R"({"provider":"apns","http_status":0,"body":"{\"reason\":\"Unregistered\"}"})"),
              HasSubstr(R"("class":"ambiguous")"));
}

TEST(ClassifyLines, context_decides_what_the_answer_leaves_open) {
  const auto bad_token = [](const std::string& context) {
    return line(R"({"provider":"apns","http_status":400,"body":"{\"reason\":\"BadDeviceToken\"}",)"
                R"("context":)" +
                context + "}");
  };
  EXPECT_THAT(bad_token("{}"), HasSubstr("needs_proof"));
  EXPECT_THAT(bad_token(R"({"environment_differs":true})"), HasSubstr("token_mismatch"));
  EXPECT_THAT(bad_token(R"({"environment_differs":true,"environment_proven":true})"),
              HasSubstr("token_mismatch"));
  EXPECT_THAT(bad_token(R"({"environment_proven":false})"), HasSubstr("token_mismatch"));
  EXPECT_THAT(bad_token(R"({"environment_proven":true})"),
              AllOf(HasSubstr("token_terminal"), Not(HasSubstr("needs_proof"))));
  EXPECT_THAT(line(R"({"provider":"fcm","http_status":404,"body":"<html>",)"
                   R"("context":{"path_proven":true}})"),
              HasSubstr("retryable"));
  EXPECT_THAT(line(R"({"provider":"apns","http_status":410,)"
                   R"("body":"{\"reason\":\"Unregistered\",\"timestamp\":1520467200000}",)"
                   R"("context":{"registered_at":"2026-01-01T00:00:00Z"}})"),
              HasSubstr(R"("invalid_since":"2018-03-08T00:00:00.000Z","ignore_device":true)"));
  EXPECT_THAT(
      line(R"({"provider":"fcm-legacy","http_status":200,)"
           R"("body":"{\"results\":[{\"message_id\":\"1\"},{\"error\":\"NotRegistered\"}]}",)"
           R"("context":{"index":1}})"),
      HasSubstr("token_terminal"));
}

TEST(ClassifyLines, a_bare_reason_is_lifted) {
  EXPECT_THAT(line(R"({"provider":"apns","http_status":410,"body":"Unregistered"})"),
              HasSubstr("token_terminal"));
}

TEST(ClassifyLines, a_cut_receipt_of_apns_counts) {
  EXPECT_THAT(line(R"({"provider":"apns","http_status":200,"headers":{"apns-id":"i"},)"
                   R"("transport":{"layer":"curl","code":18,"prereq_calls":1}})"),
              HasSubstr(R"("class":"accepted")"));
}

TEST(ClassifyLines, errors_have_the_line_and_the_member) {
  for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
           {"", "not a JSON object"},
           {"[]", "not a JSON object"},
           {R"({"provider":"apns","provider":"fcm"})", "one member is there twice"},
           {"{}", "provider is missing"},
           {R"({"provider":"smoke"})", "provider must be one of apns, fcm, fcm-legacy, fcm-oauth"},
           {R"({"provider":7})", "provider must be text"},
           {R"({"provider":"apns","status":200})",
            "$.status: unknown member; did you mean http_status?"},
           {R"({"provider":"apns","boddy":""})", "did you mean body?"},
           {R"({"provider":"apns","zzzzzzzz":1})", "allowed are provider, id, http_status"},
           {R"({"provider":"apns","context":{"indx":1}})",
            "$.context.indx: unknown member; did you mean index?"},
           {R"({"provider":"apns","http_status":"200"})", "http_status must be a number"},
           {R"({"provider":"apns","http_status":2.5})", "http_status must be a number from 0"},
           {R"({"provider":"apns","headers":[]})", "headers must be an object"},
           {R"({"provider":"apns","headers":{"a":{}}})", "value in headers must be text"},
           {R"({"provider":"apns","body":{}})", "body must be text"},
           {R"({"provider":"apns","transport":"x"})", "transport must be an object"},
           {R"({"provider":"apns","context":{"path_proven":1}})",
            "path_proven must be true or false"},
           {R"({"provider":"apns","context":{"registered_at":"x"}})", "registered_at"},
           {R"({"provider":"apns","context":{"index":-1}})", "index must not be negative"}}) {
    const std::string out = line(text);
    EXPECT_THAT(out, testing::StartsWith("line 7: ")) << text;
    EXPECT_THAT(out, HasSubstr(part)) << text;
  }
}

}  // namespace
}  // namespace sendonce::test
