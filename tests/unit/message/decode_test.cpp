#include "plugin/message/decode.hpp"

#include <string>

#include <gtest/gtest.h>

#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

constexpr std::string_view kDocumented = R"({
 "event_id":"ord-8812-shipped","recipient":"user_42","channel":"push","template":"order_shipped",
 "targets":[{"provider":"apns","token":"740f47","registered_at":"2026-11-01T08:00:00Z",
             "ref":"dev-1"},
            {"kind":"fcm","token":"fGx0:APA91"}],
 "notification":{"title":"On its way","body":"Line\nbreak","html":"<p>",
                 "data":{"order":"8812","amount":1.50,"deep":{"b":[1],"a":null}}},
 "overrides":{"fcm":{"z":1,"a":2},"apns":{"aps":{"badge":3}}},
 "expires_at":"2026-11-29T18:00:00Z","collapse":"c-1","campaign_id":"autumn",
 "idempotency_key":"i-1"})";

Notification decode(std::string_view text) {
  EnvelopeDecoder decoder;
  auto n = decoder.decode(text);
  EXPECT_TRUE(n) << n.error().text;
  return n ? *std::move(n) : Notification();
}

std::string refusal(std::string_view text) {
  EnvelopeDecoder decoder;
  auto n = decoder.decode(text);
  if (n) return "accepted";
  EXPECT_EQ(n.error().code, Errc::invalid);
  return n.error().text;
}

std::string envelope(std::string_view rest) {
  return R"({"event_id":"e","recipient":"r","channel":"push",)" + std::string(rest) + "}";
}

std::string many_targets(std::size_t count) {
  std::string text = "\"targets\":[";
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) text.push_back(',');
    text.append(R"({"kind":"apns","token":")").append(std::to_string(i)).append("\"}");
  }
  return text + R"(],"notification":{"body":"b"})";
}

TEST(Decode, ReadsEveryMember) {
  const Notification n = decode(kDocumented);
  EXPECT_EQ(n.event_id, "ord-8812-shipped");
  EXPECT_EQ(n.recipient, "user_42");
  EXPECT_EQ(n.channel, Channel::push);
  EXPECT_EQ(n.template_id, "order_shipped");
  EXPECT_EQ(n.campaign_id, "autumn");
  EXPECT_EQ(n.idempotency_key, "i-1");
  EXPECT_EQ(n.collapse, "c-1");
  EXPECT_EQ(n.expires_at, parse_rfc3339("2026-11-29T18:00:00Z"));
  EXPECT_EQ(n.content.title, "On its way");
  EXPECT_EQ(n.content.body, "Line\nbreak");
  EXPECT_EQ(n.content.html, "<p>");
}

TEST(Decode, ReadsTargets) {
  const Notification n = decode(kDocumented);
  ASSERT_EQ(n.targets.size(), 2U);
  EXPECT_EQ(n.targets[0].provider, "apns");
  EXPECT_FALSE(n.targets[0].kind);
  EXPECT_EQ(n.targets[0].destination.expose(), "740f47");
  EXPECT_EQ(n.targets[0].registered_at, parse_rfc3339("2026-11-01T08:00:00Z"));
  EXPECT_EQ(n.targets[0].ref, "dev-1");
  EXPECT_EQ(n.targets[1].provider, "");
  EXPECT_EQ(n.targets[1].kind, ProviderKind::fcm);
  EXPECT_FALSE(n.targets[1].registered_at);
}

TEST(Decode, DataIsSortedAndCanonical) {
  const Content content = decode(kDocumented).content;
  const std::vector<DataMember> expected{
      {"amount", "1.50"}, {"deep", R"({"a":null,"b":[1]})"}, {"order", "\"8812\""}};
  EXPECT_EQ(content.data, expected);
}

TEST(Decode, OverridesAreSortedAndCanonical) {
  const auto overrides = decode(kDocumented).overrides;
  ASSERT_EQ(overrides.size(), 2U);
  EXPECT_EQ(overrides[0].first, ProviderKind::apns);
  EXPECT_EQ(overrides[0].second, R"({"aps":{"badge":3}})");
  EXPECT_EQ(overrides[1].first, ProviderKind::fcm);
  EXPECT_EQ(overrides[1].second, R"({"a":2,"z":1})");
}

TEST(Decode, CanonicalContent) {
  EXPECT_EQ(decode(kDocumented).canonical_content,
            R"({"collapse":"c-1","notification":{"body":"Line\nbreak","data":{"amount":1.50,)"
            R"("deep":{"a":null,"b":[1]},"order":"8812"},"html":"<p>","title":"On its way"},)"
            R"("template":"order_shipped"})");
  EXPECT_EQ(canonical_content(Notification()), R"({"notification":{}})");
}

TEST(Decode, ReadsEveryKindOfDestination) {
  const Notification web = decode(envelope(
      R"("targets":[{"kind":"webpush","subscription":{"auth":"QQ","endpoint":"https://p/1","p256dh":"Qg"}}],
         "notification":{"body":"b"})"));
  EXPECT_EQ(web.targets[0].destination.expose(), "https://p/1");
  EXPECT_EQ(web.targets[0].p256dh.expose(), "Qg");
  EXPECT_EQ(web.targets[0].auth.expose(), "QQ");
  const auto one = [](std::string_view channel, std::string_view target) {
    return decode(R"({"event_id":"e","recipient":"r","channel":")" + std::string(channel) +
                  R"(","targets":[)" + std::string(target) + R"(],"notification":{"body":"b"}})")
        .targets[0]
        .destination.expose();
  };
  EXPECT_EQ(one("sms", R"({"kind":"sms","phone":"+49151"})"), "+49151");
  EXPECT_EQ(one("email", R"({"kind":"email","email":"a@b"})"), "a@b");
  EXPECT_EQ(one("webhook", R"({"kind":"http","url":"https://h"})"), "https://h");
  EXPECT_EQ(one("push", R"({"kind":"push","token":"AAWW"})"), "AAWW");
}

// One bad destination must not take the others with it: only its provider judges it.
TEST(Decode, LeavesTheFormOfADestinationToItsProvider) {
  const Notification n = decode(envelope(
      R"("targets":[{"kind":"apns","token":"not-hex"},{"kind":"fcm","token":"t"}],
         "notification":{"body":"b"})"));
  EXPECT_EQ(n.targets.size(), 2U);
}

TEST(Decode, BoundsTheNumberOfTargets) {
  EXPECT_EQ(decode(envelope(many_targets(500))).targets.size(), 500U);
  EXPECT_EQ(refusal(envelope(many_targets(501))),
            "$.targets: must be an array of 1 to 500 targets");
}

TEST(Decode, BoundsTheSize) {
  const auto of_size = [](std::size_t size) {
    std::string text = envelope(many_targets(1));
    return text + std::string(size - text.size(), ' ');
  };
  EXPECT_TRUE(EnvelopeDecoder().decode(of_size(256 * 1024)));
  EXPECT_EQ(refusal(of_size(256 * 1024 + 1)), "$: is larger than the limit of 262144 bytes");
}

TEST(Decode, BoundsTheDepth) {
  // The envelope, notification and data are three levels.
  const auto of_depth = [](std::size_t depth) {
    return envelope(R"("targets":[{"kind":"apns","token":"0"}],"notification":{"data":{"d":)" +
                    std::string(depth - 3, '[') + "0" + std::string(depth - 3, ']') + "}}");
  };
  EXPECT_TRUE(EnvelopeDecoder().decode(of_depth(32)));
  EXPECT_EQ(refusal(of_depth(33)), "$: is nested deeper than the limit of 32");
}

TEST(Decode, SaysWhatIsAllowed) {
  EXPECT_EQ(refusal(envelope(R"("targets":[],"notification":{})")),
            "$.targets: must be an array of 1 to 500 targets");
  EXPECT_EQ(refusal(R"({"event_id":"e","recipient":"r","channel":"fax"})"),
            "$.channel: must be one of push, sms, email, webhook");
  EXPECT_EQ(refusal(R"({"event_id":"e","recepient":"r"})"),
            "$.recepient: unknown member; did you mean recipient?");
  EXPECT_EQ(refusal(envelope(R"("targets":[{"kind":"apns","token":"0"}])")),
            "$.notification: is missing, and there are no overrides either");
  EXPECT_EQ(refusal(R"({"targets":[{"kind":"sms","phone":"+1"}],"channel":"push","event_id":"e",)"
                    R"("recipient":"r","notification":{}})"),
            "$.targets[0]: on channel push a target must have token or subscription");
}

TEST(Decode, ForgetsAnEnvelopeBeforeTheNext) {
  EnvelopeDecoder decoder;
  ASSERT_TRUE(decoder.decode(kDocumented));
  ASSERT_FALSE(decoder.decode(envelope(
      R"("targets":[{"kind":"apns","token":"0"}],"overrides":{"apns":{"a":{"b":1,"b":2}}})")));
  const auto n = decoder.decode(envelope(many_targets(1)));
  ASSERT_TRUE(n);
  EXPECT_TRUE(n->template_id.empty() && n->overrides.empty() && n->content.data.empty());
  EXPECT_EQ(n->canonical_content, R"({"notification":{"body":"b"}})");
}

// Whatever a notification held before, it holds what the envelope says and nothing else.
TEST(Decode, ReadsIntoOneThatWasUsed) {
  EnvelopeDecoder decoder;
  Notification n;
  ASSERT_TRUE(decoder.decode(kDocumented, n));
  EXPECT_EQ(n.canonical_content, decode(kDocumented).canonical_content);
  const std::string long_body(4000, 'b');
  ASSERT_TRUE(decoder.decode(envelope(R"("targets":[{"kind":"apns","token":"0"}],)"
                                      R"("notification":{"body":")" +
                                      long_body + "\"}"),
                             n));
  EXPECT_EQ(n.event_id + n.recipient, "er");
  EXPECT_TRUE(n.template_id.empty() && n.campaign_id.empty() && n.idempotency_key.empty());
  EXPECT_TRUE(n.collapse.empty() && !n.expires_at && n.overrides.empty());
  EXPECT_TRUE(n.content.title.empty() && n.content.html.empty() && n.content.data.empty());
  ASSERT_EQ(n.targets.size(), 1U);
  EXPECT_TRUE(n.targets[0].ref.empty() && !n.targets[0].registered_at);
  EXPECT_EQ(n.content.body, long_body);
  EXPECT_EQ(n.canonical_content, R"({"notification":{"body":")" + long_body + "\"}}");
  clear(n);
  EXPECT_EQ(n.channel, Channel::push);
  EXPECT_TRUE(n.event_id.empty() && n.content.body.empty() && n.canonical_content.empty());
  EXPECT_LT(n.content.body.capacity(), 4000U);  // large buffers are not kept
}

}  // namespace
}  // namespace sendonce
