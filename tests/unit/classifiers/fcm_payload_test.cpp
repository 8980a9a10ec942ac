#include "classifiers/fcm/fcm_payload.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sendonce::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

FcmPayloadFields fields() {
  return {.token = "tok:en", .nid = "NID", .collapse = "c1", .ttl_s = 60, .expiration_s = 99};
}

std::string body_of(const Notification& n, const FcmPayloadFields& f = fields()) {
  const auto out = fcm_payload(n, f);
  return out ? *out : "error: " + out.error().text;
}

Notification sample() {
  Notification n;
  n.content.title = "T";
  n.content.body = "B";
  n.content.data = {{"a", "\"1\""}};
  return n;
}

Notification with_overrides(std::string json) {
  Notification n = sample();
  n.overrides.emplace_back(ProviderKind::apns, R"({"aps":{}})");
  n.overrides.emplace_back(ProviderKind::fcm, std::move(json));
  return n;
}

TEST(FcmPayload, all_of_it) {
  EXPECT_EQ(body_of(sample()),
            R"({"message":{"token":"tok:en","notification":{"title":"T","body":"B"},)"
            R"("data":{"a":"1","nid":"NID"},)"
            R"("android":{"ttl":"60s","notification":{"tag":"c1"}},)"
            R"("apns":{"headers":{"apns-expiration":"99","apns-collapse-id":"c1"}},)"
            R"("webpush":{"headers":{"TTL":"60"}}}})");
}

TEST(FcmPayload, data_alone_stays_a_data_message) {
  Notification n = sample();
  n.content.title.clear();
  n.content.body.clear();
  EXPECT_EQ(body_of(n), R"({"message":{"token":"tok:en","data":{"a":"1","nid":"NID"},)"
                        R"("android":{"ttl":"60s"},)"
                        R"("apns":{"headers":{"apns-expiration":"99","apns-collapse-id":"c1"}},)"
                        R"("webpush":{"headers":{"TTL":"60"}}}})");
}

TEST(FcmPayload, no_collapse_no_tag_and_never_a_collapse_key) {
  FcmPayloadFields f = fields();
  f.collapse = {};
  EXPECT_THAT(body_of(sample(), f), Not(HasSubstr("tag")));
  EXPECT_THAT(body_of(sample(), f), Not(HasSubstr("collapse")));
  EXPECT_THAT(body_of(sample()), Not(HasSubstr("collapse_key")));
}

TEST(FcmPayload, data_holds_strings_only) {
  for (const char* value : {"1", "true", "null", "{}", "[]"}) {
    Notification n = sample();
    n.content.data = {{"count", value}};
    EXPECT_EQ(body_of(n), "error: notification.data.count must be a string");
  }
}

TEST(FcmPayload, reserved_names_are_refused) {
  for (const char* name : {"nid", "from", "message_type", "google.x", "gcm.notification.y"}) {
    Notification n = sample();
    n.content.data = {{name, "\"x\""}};
    EXPECT_EQ(body_of(n), std::string("error: notification.data.") + name + " is a reserved name");
  }
}

TEST(FcmPayload, names_in_errors_are_printable_and_short) {
  Notification n = sample();
  n.content.data = {{std::string(100, 'a') + "\n", "1"}};
  EXPECT_EQ(body_of(n), "error: notification.data." + std::string(64, 'a') + " must be a string");
  n.content.data = {{"a\nb", "1"}};
  EXPECT_EQ(body_of(n), "error: notification.data.a?b must be a string");
}

TEST(FcmPayload, what_is_certainly_too_long_is_refused) {
  Notification n = sample();
  n.content.data = {{"a", "\"" + std::string(4093, 'x') + "\""}};
  EXPECT_THAT(body_of(n), Not(HasSubstr("error")));
  n.content.data = {{"a", "\"" + std::string(4094, 'x') + "\""}};
  EXPECT_THAT(body_of(n), HasSubstr("at least 4097 bytes"));
  std::string escaped = "\"";
  for (int i = 0; i < 2000; ++i) escaped += "\\n\\u0041";
  n.content.data = {{"a", escaped + "\""}};
  EXPECT_THAT(body_of(n), Not(HasSubstr("error")));  // 4000 bytes once FCM has read them
}

TEST(FcmPayload, overrides_merge_into_the_message) {
  EXPECT_EQ(body_of(with_overrides(R"({"android":{"priority":"high","notification":{"tag":null}},)"
                                   R"("fcm_options":{"x":1.0}})")),
            R"({"message":{"token":"tok:en","notification":{"title":"T","body":"B"},)"
            R"("data":{"a":"1","nid":"NID"},)"
            R"("android":{"ttl":"60s","notification":{},"priority":"high"},)"
            R"("apns":{"headers":{"apns-expiration":"99","apns-collapse-id":"c1"}},)"
            R"("webpush":{"headers":{"TTL":"60"}},"fcm_options":{"x":1.0}}})");
}

TEST(FcmPayload, overrides_may_not_touch_destination_and_ids) {
  for (const char* json :
       {R"({"token":"other"})", R"({"token":null})", R"({"topic":"all"})", R"({"condition":"x"})",
        R"({"fid":"x"})", R"({"name":"x"})", R"({"data":null})", R"({"data":{"nid":null}})",
        R"({"data":{"nid":"x"}})", R"({"data":"x"})"})
    EXPECT_THAT(body_of(with_overrides(json)), HasSubstr("error: overrides.fcm may not")) << json;
  EXPECT_EQ(body_of(with_overrides(R"({"data":{"n":5}})")),
            "error: overrides.fcm.data.n must be a string");
  EXPECT_EQ(body_of(with_overrides("7")), "error: overrides.fcm must be a JSON object");
}

}  // namespace
}  // namespace sendonce::test
