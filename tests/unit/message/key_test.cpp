// The golden values were computed from docs/formats.md with another implementation. If one of these
// tests fails, delivery keys have changed and every ledger forgets what it has sent: do not adapt
// the value, raise the version and offer the old key as `key_previous`.
#include "plugin/message/key.hpp"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plugin/core/text.hpp"
#include "plugin/crypto/lookup_hash.hpp"
#include "plugin/message/decode.hpp"

namespace sendonce {
namespace {

const Credential kSecret("0123456789abcdef0123456789abcdef");
constexpr std::string_view kApnsScope = "apns/com.example.app/production";
constexpr std::string_view kToken =
    "740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad";

KeyRecipe recipe(std::string_view scope, const std::vector<std::string>& fields) {
  const auto made = make_recipe(scope, fields);
  EXPECT_TRUE(made) << made.error().text;
  return *made;
}

KeyRecipe default_recipe(std::string_view scope = "orders") {
  return recipe(scope, {"event_id", "recipient", "channel", "template"});
}

Notification order() {
  Notification n;
  n.event_id = "ord-8812-shipped";
  n.recipient = "user_42";
  n.channel = Channel::push;
  n.template_id = "order_shipped";
  return n;
}

NidDigest nid_of(const KeyRecipe& r, const Notification& n) {
  const auto digest = KeyMaker(kSecret).nid_digest(r, n);
  EXPECT_TRUE(digest) << digest.error().text;
  return *digest;
}

TEST(KeyGolden, NidOfTheDefaultRecipe) {
  const NidDigest digest = nid_of(default_recipe(), order());
  EXPECT_EQ(hex(digest.view()), "07a0c3d6ea62c41a9caa4b1affed4f039341a8087b2277ace6281f7e3a5cf024");
  EXPECT_EQ(uuid_text(nid_from(digest).bytes), "07a0c3d6-ea62-841a-9caa-4b1affed4f03");
  EXPECT_EQ(collapse_from(digest), "B6DD1upixBqcqksa_-1PA5NBqAh7Ines");
}

TEST(KeyGolden, NidOfAnIdempotencyKey) {
  Notification n = order();
  n.idempotency_key = "8e03978e";
  EXPECT_EQ(hex(nid_of(default_recipe(), n).view()),
            "dc605a92606f79850d830ba584f772489d064b51c0d65d47d4678acd1b9119f9");
}

TEST(KeyGolden, NidOfACampaign) {
  Notification n = order();
  n.campaign_id = "autumn-26";
  n.template_id = "offer";
  EXPECT_EQ(hex(nid_of(recipe("promo", {"campaign_id", "template"}), n).view()),
            "32fe3d776e69d770368596c26737e0677b9e31da23dbbaaa52086a4bc99014ba");
}

TEST(KeyGolden, DeliveryKeys) {
  KeyMaker maker(kSecret);
  const NidDigest nid = nid_of(default_recipe(), order());
  const auto key = [&](ProviderKind kind, std::string_view scope, std::string_view destination) {
    return hex(maker.delivery_key(nid, kind, scope, Destination(std::string(destination))).view());
  };
  EXPECT_EQ(key(ProviderKind::apns, kApnsScope, kToken),
            "bbc1c8e112013891ff514c117dba0f29f515ce91c5fa2a6c25ceaef57e0802ab");
  EXPECT_EQ(key(ProviderKind::sms, "", "+4915112345678"),
            "e3d2b4187d5f84ecd77cd6cff3e0b17fc75945e44bdec2cda4f325257eb8249a");
  EXPECT_EQ(key(ProviderKind::email, "", "jane.doe@example.com"),
            "91ec54a5beafe6b938a1ede220cad8295750e3a3881e7699a1d54aa0d02b5979");
  EXPECT_EQ(key(ProviderKind::http, "", "https://hooks.example.com/1"),
            "9cf1047b29b4cba56e7221d9f012c721f577a9caf6d8ebd96e8587541f8e160a");
}

TEST(KeyGolden, DeviceHashes) {
  KeyMaker maker(kSecret);
  EXPECT_EQ(hex(maker.device_hash(ProviderKind::apns, kApnsScope, Destination(std::string(kToken)))
                    .view()),
            "87b353478044df92d29242f045144c77");
  EXPECT_EQ(hex(maker.device_hash(ProviderKind::sms, "", Destination("+4915112345678")).view()),
            "bbd74f92b9e947c01d4452cf8703d54b");
}

TEST(KeyGolden, Fingerprints) {
  KeyMaker maker(kSecret);
  Notification n = order();
  n.collapse = "order-8812";
  n.content = {
      .title = "t", .body = "b", .html = "<p>", .data = {{"a", "1.0"}, {"order", "\"8812\""}}};
  n.overrides = {{ProviderKind::apns, R"({"aps":{"badge":3}})"}};
  n.canonical_content = canonical_content(n);
  EXPECT_EQ(hex(maker.fingerprint(n, ProviderKind::apns).view()),
            "580fea93133fffdf18e9c3c279ba10aa");
  EXPECT_EQ(hex(maker.fingerprint(n, ProviderKind::fcm).view()),
            "6e2788a8ab8c387ac2b89c33b60952ec");
}

TEST(NidDigest, EveryFieldOfTheRecipeCounts) {
  std::set<NidDigest> seen{nid_of(default_recipe(), order()),
                           nid_of(default_recipe("other"), order()),
                           nid_of(recipe("orders", {"event_id"}), order())};
  Notification n = order();
  n.event_id = "x";
  seen.insert(nid_of(default_recipe(), n));
  n = order();
  n.recipient = "x";
  seen.insert(nid_of(default_recipe(), n));
  n = order();
  n.channel = Channel::sms;
  seen.insert(nid_of(default_recipe(), n));
  n = order();
  n.template_id = "x";
  seen.insert(nid_of(default_recipe(), n));
  EXPECT_EQ(seen.size(), 7U);
}

TEST(NidDigest, NothingElseCounts) {
  Notification n = order();
  n.content.body = "other";
  n.collapse = "c";
  n.campaign_id = "autumn";
  n.expires_at = WallTime(std::chrono::hours(1));
  n.targets.resize(3);
  n.overrides = {{ProviderKind::apns, "{}"}};
  EXPECT_EQ(nid_of(default_recipe(), n), nid_of(default_recipe(), order()));
}

TEST(NidDigest, FieldsDoNotRunIntoEachOther) {
  Notification a = order();
  Notification b = order();
  a.event_id = "ab";
  a.recipient = "c";
  b.event_id = "a";
  b.recipient = "bc";
  EXPECT_NE(nid_of(default_recipe(), a), nid_of(default_recipe(), b));
}

TEST(NidDigest, AnIdempotencyKeyReplacesEventAndTemplateAlone) {
  Notification a = order();
  a.idempotency_key = "k";
  Notification b = a;
  b.event_id = "other";
  b.template_id.clear();
  EXPECT_EQ(nid_of(default_recipe(), a), nid_of(default_recipe(), b));
  b.channel = Channel::sms;
  EXPECT_NE(nid_of(default_recipe(), a), nid_of(default_recipe(), b));
  b = a;
  b.recipient = "other";
  EXPECT_NE(nid_of(default_recipe(), a), nid_of(default_recipe(), b));
  EXPECT_NE(nid_of(default_recipe("other"), a), nid_of(default_recipe(), a));
}

TEST(NidDigest, AnIdempotencyKeyIsNoEventId) {
  Notification a = order();
  a.idempotency_key = a.event_id;
  EXPECT_NE(nid_of(recipe("s", {"event_id"}), a), nid_of(recipe("s", {"event_id"}), order()));
}

TEST(NidDigest, RefusesANotificationWithoutTheField) {
  const auto refused =
      KeyMaker(kSecret).nid_digest(recipe("promo", {"campaign_id", "template"}), order());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::invalid);
  EXPECT_EQ(refused.error().text, "$.campaign_id: is missing, and the class's key names it");
}

TEST(NidDigest, WorksAgainAfterARefusal) {
  KeyMaker maker(kSecret);
  EXPECT_FALSE(maker.nid_digest(recipe("promo", {"campaign_id"}), order()));
  EXPECT_EQ(maker.nid_digest(default_recipe(), order()), nid_of(default_recipe(), order()));
}

TEST(Nid, IsAUuidOfVersion8) {
  NidDigest digest;
  digest.bytes.fill(0xFF);
  EXPECT_EQ(uuid_text(nid_from(digest).bytes), "ffffffff-ffff-8fff-bfff-ffffffffffff");
  digest.bytes.fill(0);
  EXPECT_EQ(uuid_text(nid_from(digest).bytes), "00000000-0000-8000-8000-000000000000");
}

TEST(Collapse, FitsTheNarrowestProvider) {
  NidDigest digest;
  digest.bytes.fill(0xFF);
  EXPECT_EQ(collapse_from(digest), std::string(32, '_'));
}

TEST(DeliveryKey, DependsOnNidAppAndDestination) {
  KeyMaker maker(kSecret);
  const NidDigest nid = nid_of(default_recipe(), order());
  const Destination token("aa");
  const Key key = maker.delivery_key(nid, ProviderKind::apns, "app", token);
  EXPECT_NE(key, maker.delivery_key(NidDigest(), ProviderKind::apns, "app", token));
  EXPECT_NE(key, maker.delivery_key(nid, ProviderKind::fcm, "app", token));
  EXPECT_NE(key, maker.delivery_key(nid, ProviderKind::apns, "other", token));
  EXPECT_NE(key, maker.delivery_key(nid, ProviderKind::apns, "app", Destination("ab")));
}

// Failover and the renaming of a provider must find the row of the first one.
TEST(DeliveryKey, OutsideOfPushTheProviderDoesNotCount) {
  KeyMaker maker(kSecret);
  const NidDigest nid = nid_of(default_recipe(), order());
  for (const ProviderKind kind : {ProviderKind::sms, ProviderKind::email, ProviderKind::http}) {
    EXPECT_EQ(maker.delivery_key(nid, kind, "one", Destination("d")),
              maker.delivery_key(nid, kind, "two", Destination("d")));
    EXPECT_EQ(maker.device_hash(kind, "one", Destination("d")),
              maker.device_hash(kind, "two", Destination("d")));
  }
}

TEST(DeliveryKey, PersonalDestinationsNeedTheLedgersSecret) {
  KeyMaker mine(kSecret);
  KeyMaker other(Credential("another secret of 32 bytes......"));
  const NidDigest nid = nid_of(default_recipe(), order());
  for (const ProviderKind kind : {ProviderKind::sms, ProviderKind::email}) {
    EXPECT_NE(mine.delivery_key(nid, kind, "", Destination("d")),
              other.delivery_key(nid, kind, "", Destination("d")));
    EXPECT_NE(mine.device_hash(kind, "", Destination("d")),
              other.device_hash(kind, "", Destination("d")));
  }
  EXPECT_EQ(mine.delivery_key(nid, ProviderKind::fcm, "p", Destination("d")),
            other.delivery_key(nid, ProviderKind::fcm, "p", Destination("d")));
}

TEST(DeliveryKeyDeathTest, AShortSecretIsABug) {
  EXPECT_DEATH(KeyMaker{Credential("short")}, "invariant broken");
}

// What an operator's question is hashed to must be what the rows hold.
TEST(Lookup, IsTheKeyedHashOfTheText) {
  const KeyMaker maker(kSecret);
  const LookupHash expected = lookup_hash(kSecret.expose(), "x");
  EXPECT_EQ(maker.event_lookup("x"), expected);
  EXPECT_EQ(maker.recipient_lookup("x"), expected);
  EXPECT_EQ(maker.campaign_lookup("x"), expected);
  EXPECT_NE(KeyMaker(Credential("another secret of 32 bytes......")).event_lookup("x"), expected);
  EXPECT_EQ(maker.campaign_lookup(""), LookupHash());
}

Notification decoded(std::string_view rest) {
  EnvelopeDecoder decoder;
  const std::string text =
      R"({"event_id":"e","recipient":"r","channel":"push",)" + std::string(rest) + "}";
  auto n = decoder.decode(text);
  EXPECT_TRUE(n) << n.error().text;
  return *n;
}

std::string print(std::string_view rest, ProviderKind kind = ProviderKind::apns) {
  return hex(KeyMaker(kSecret).fingerprint(decoded(rest), kind).view());
}

constexpr std::string_view kTargets = R"("targets":[{"kind":"apns","token":"00"}],)";
std::string with_targets(std::string_view rest) {
  return std::string(kTargets).append(rest);
}

TEST(Fingerprint, SpellingDoesNotCount) {
  const std::string one =
      print(with_targets(R"("notification":{"title":"A/é","data":{"a":1,"b":[2]}})"));
  EXPECT_EQ(one, print(with_targets(
                     R"("notification":{"data":{"b" : [ 2 ],"a":1},"title":"\u0041\/\u00e9"})")));
}

TEST(Fingerprint, NumbersCountAsWritten) {
  EXPECT_NE(print(with_targets(R"("notification":{"data":{"a":1}})")),
            print(with_targets(R"("notification":{"data":{"a":1.0}})")));
  EXPECT_NE(print(with_targets(R"("notification":{"data":{"a":9007199254740993}})")),
            print(with_targets(R"("notification":{"data":{"a":9007199254740992}})")));
}

TEST(Fingerprint, ContentCounts) {
  std::set<std::string> seen;
  for (const std::string_view rest :
       {R"("notification":{"body":"b"})", R"("notification":{"body":"c"})",
        R"("notification":{"title":"b"})", R"("notification":{"html":"b"})",
        R"("notification":{"data":{"body":"b"}})", R"("notification":{"body":"b"},"template":"t")",
        R"("notification":{"body":"b"},"collapse":"t")",
        R"("notification":{"body":"b"},"overrides":{"apns":{"a":1}})"})
    seen.insert(print(with_targets(rest)));
  EXPECT_EQ(seen.size(), 8U);
}

TEST(Fingerprint, OverridesOfOtherKindsDoNotCount) {
  const std::string plain = with_targets(R"("notification":{"body":"b"})");
  const std::string patched =
      with_targets(R"("notification":{"body":"b"},"overrides":{"fcm":{"a":1}})");
  EXPECT_EQ(print(plain, ProviderKind::apns), print(patched, ProviderKind::apns));
  EXPECT_NE(print(plain, ProviderKind::fcm), print(patched, ProviderKind::fcm));
}

TEST(Fingerprint, TargetsTimesAndIdsDoNotCount) {
  EXPECT_EQ(print(with_targets(R"("notification":{"body":"b"})")),
            print(
                R"("targets":[{"kind":"fcm","token":"x","registered_at":"2026-11-01T08:00:00Z",
                           "ref":"r"}],
               "notification":{"body":"b"},"expires_at":"2026-11-29T18:00:00Z","campaign_id":"c",
               "idempotency_key":"i")"));
}

}  // namespace
}  // namespace sendonce
