#include "classifiers/apns/apns_payload.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sendonce::test {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kNidText = "f0f1f2f3-f4f5-86f7-b8f9-fafbfcfdfeff";
const std::string kNidMember = R"("nid":"f0f1f2f3-f4f5-86f7-b8f9-fafbfcfdfeff")";

Notification with_overrides(std::string json, std::string title = "T") {
  Notification n;
  n.content.title = std::move(title);
  n.overrides.emplace_back(ProviderKind::fcm, R"({"data":{"other":"kind"}})");
  n.overrides.emplace_back(ProviderKind::apns, std::move(json));
  return n;
}

std::string body_of(const Notification& n, bool push_type_given = false) {
  const auto out = apns_payload(n, kNidText, push_type_given);
  return out ? out->body : "error: " + out.error().text;
}

TEST(ApnsPayload, title_body_and_data) {
  Notification n;
  n.content.title = "A \"title\"";
  n.content.body = "line\nline";
  n.content.data = {{"s", "\"x\""}, {"n", "1.50"}, {"o", R"({"a":[1]})"}};
  EXPECT_EQ(body_of(n), R"({"aps":{"alert":{"title":"A \"title\"","body":"line\nline"}},)" +
                            kNidMember + R"(,"s":"x","n":1.50,"o":{"a":[1]}})");
}

TEST(ApnsPayload, one_of_title_and_body) {
  Notification n;
  n.content.title = "T";
  EXPECT_EQ(body_of(n), R"({"aps":{"alert":{"title":"T"}},)" + kNidMember + "}");
  n.content = {};
  n.content.body = "B";
  EXPECT_EQ(body_of(n), R"({"aps":{"alert":{"body":"B"}},)" + kNidMember + "}");
}

TEST(ApnsPayload, nothing_to_show_wakes_the_app) {
  Notification n;
  n.content.data = {{"s", "\"x\""}};
  const auto out = apns_payload(n, kNidText, false);
  ASSERT_TRUE(out);
  EXPECT_TRUE(out->background);
  EXPECT_EQ(out->body, R"({"aps":{"content-available":1},)" + kNidMember + R"(,"s":"x"})");
  EXPECT_EQ(body_of(n, true), R"({"aps":{},)" + kNidMember + R"(,"s":"x"})");
}

TEST(ApnsPayload, overrides_merge) {
  EXPECT_EQ(body_of(with_overrides(R"({"aps":{"badge":3,"alert":{"title":null,"loc-key":"K"}}})")),
            R"({"aps":{"alert":{"loc-key":"K"},"badge":3},)" + kNidMember + "}");
}

TEST(ApnsPayload, a_push_is_in_the_background_only_when_nobody_notices) {
  const auto background = [](std::string json) {
    return apns_payload(with_overrides(std::move(json), ""), kNidText, false).value().background;
  };
  EXPECT_TRUE(background(R"({"aps":{"content-available":1}})"));
  EXPECT_TRUE(background(R"({"x":1})"));
  EXPECT_FALSE(background(R"({"aps":{"content-available":1,"sound":"s"}})"));
  EXPECT_FALSE(background(R"({"aps":{"badge":0}})"));
  EXPECT_FALSE(background(R"({"aps":{"alert":"text"}})"));
  EXPECT_THAT(body_of(with_overrides(R"({"x":1})", "")), HasSubstr(R"("content-available":1)"));
  EXPECT_FALSE(apns_payload(with_overrides(R"({"aps":{"content-available":1}})"), kNidText, false)
                   ->background);
}

TEST(ApnsPayload, what_is_refused) {
  Notification n;
  n.content.data = {{"aps", "1"}};
  EXPECT_THAT(body_of(n), HasSubstr("notification.data.aps is a reserved name"));
  n.content.data = {{"nid", "\"x\""}};
  EXPECT_THAT(body_of(n), HasSubstr("notification.data.nid is a reserved name"));
  EXPECT_THAT(body_of(with_overrides(R"({"nid":"other"})")), HasSubstr("may not change nid"));
  EXPECT_THAT(body_of(with_overrides(R"({"nid":null})")), HasSubstr("may not change nid"));
  EXPECT_THAT(body_of(with_overrides(R"({"aps":null})")), HasSubstr("aps must be an object"));
  EXPECT_THAT(body_of(with_overrides(R"({"aps":7})")), HasSubstr("aps must be an object"));
  EXPECT_THAT(body_of(with_overrides("[]")), HasSubstr("overrides.apns must be a JSON object"));
}

}  // namespace
}  // namespace sendonce::test
