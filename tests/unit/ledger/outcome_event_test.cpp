#include "ledger/outcome_event.hpp"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/contract/ledger_rig.hpp"

namespace sendonce::test {
namespace {

using testing::HasSubstr;
using testing::Not;

Row ended_row() {
  Row row;
  row.key = key_of(1);
  for (std::size_t i = 0; i < Nid::kSize; ++i) row.nid.bytes[i] = static_cast<std::uint8_t>(i);
  row.state = State::failed;
  row.effect = Effect::not_sent;
  row.fault = Fault::request;
  row.dead_letter = DeadLetter::due;
  row.attempts = 3;
  row.revision = 2;
  row.message_class = "orders";
  row.provider = "apns";
  row.reason = "Payload\"TooLarge";
  row.ref = "dev-1";
  row.receipts.push_back({.at = kNoon,
                          .fence = Fence(1),
                          .verdict = VerdictClass::payload_error,
                          .effect = Effect::not_sent,
                          .message_id = "abc"});
  return row;
}

TEST(OutcomeEvent, SaysWhatBecameOfTheRow) {
  EventBatch batch("sendonce/0123");
  batch.begin(kNoon);
  const Row row = ended_row();
  batch.add_outcome(row, {.event_id = "ord-1"});
  const auto& entries = batch.finish();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].subject, "sendonce.outcome.orders.failed");
  std::string key;
  for (const auto byte : row.key.bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    key += kDigits[byte >> 4U];
    key += kDigits[byte & 15U];
  }
  EXPECT_EQ(entries[0].body,
            R"([{"specversion":"1.0","type":"dev.sendonce.outcome.v1","source":"sendonce/0123",)"
            R"("time":"2027-01-15T08:00:00.000Z","datacontenttype":"application/json","id":")" +
                key + R"(.2","data":{"key":")" + key +
                R"(","nid":"00010203-0405-0607-0809-0a0b0c0d0e0f","class":"orders",)"
                R"("provider":"apns","outcome":"failed","effect":"not_sent","fault":"request",)"
                R"("reason":"Payload\"TooLarge","message_id":"abc","attempts":3,"ref":"dev-1",)"
                R"("revision":2,"event_id":"ord-1","dead_letter":"due"}}])");
}

TEST(OutcomeEvent, LeavesOutWhatIsNotKnown) {
  Row row = ended_row();
  row.reason.clear();
  row.ref.clear();
  row.receipts.clear();
  row.dead_letter = DeadLetter::none;
  EventBatch batch("sendonce/0123");
  batch.begin(kNoon);
  batch.add_outcome(row, {});
  const std::string body = batch.finish().at(0).body;
  for (const char* member : {"reason", "ref", "message_id", "event_id", "dead_letter"})
    EXPECT_THAT(body, Not(HasSubstr("\"" + std::string(member) + "\""))) << member;
}

TEST(OutcomeEvent, TheTellingReceiptIsTheOneThatProvesMost) {
  Row row = ended_row();
  row.receipts.push_back({.at = kNoon,
                          .fence = Fence(2),
                          .verdict = VerdictClass::accepted,
                          .effect = Effect::sent,
                          .message_id = "proof"});
  row.receipts.push_back({.at = kNoon,
                          .fence = Fence(3),
                          .verdict = VerdictClass::retryable,
                          .effect = Effect::not_sent,
                          .message_id = "later"});
  EventBatch batch("sendonce/0123");
  batch.begin(kNoon);
  batch.add_outcome(row, {});
  EXPECT_THAT(batch.finish().at(0).body, HasSubstr(R"("message_id":"proof")"));
}

TEST(OutcomeEvent, EntriesAreOfOneSubjectAndBounded) {
  EventBatch batch("sendonce/0123");
  batch.begin(kNoon);
  Row accepted = ended_row();
  accepted.state = State::accepted;
  for (int i = 0; i < 130; ++i) {
    batch.add_outcome(accepted, {});
    if (i % 65 == 0) batch.add_outcome(ended_row(), {});
  }
  const auto& entries = batch.finish();
  ASSERT_EQ(entries.size(), 4U);  // 64 + 64 + 2 accepted, 2 failed
  std::size_t events = 0;
  for (const auto& entry : entries) {
    EXPECT_LE(entry.events, kEventsPerEntry);
    events += entry.events;
    EXPECT_EQ(entry.body.front(), '[');
    EXPECT_EQ(entry.body.back(), ']');
  }
  EXPECT_EQ(events, 132U);
  batch.begin(kNoon);
  EXPECT_TRUE(batch.finish().empty());
}

TEST(DeviceEvent, AReuseNamesNobody) {
  EventBatch batch("sendonce/0123");
  batch.begin(kNoon);
  batch.add_reuse({.hash = {},
                   .binding = {.recipient = LookupHash(0x0102030405060708),
                               .since = kNoon,
                               .used = kNoon,
                               .told = LookupHash(0xA1)},
                   .registered_at = kNoon - std::chrono::hours(1),
                   .refused = true,
                   .kind = "apns",
                   .ref = "dev\"1",
                   .provider = "apns-main",
                   .event_id = "ord-1",
                   .fence = Fence(17)});
  const auto& entries = batch.finish();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].subject, "sendonce.device.apns.reused");
  const std::string& body = entries[0].body;
  EXPECT_NE(body.find(R"("id":"00000000000000000000000000000000.17",)"), std::string::npos) << body;
  EXPECT_NE(
      body.find(
          R"("data":{"hash":"00000000000000000000000000000000","change":"reused","kind":"apns",)"
          R"("provider":"apns-main","ref":"dev\"1","recipient":"00000000000000a1",)"
          R"("bound_to":"0102030405060708","bound_since":")"),
      std::string::npos)
      << body;
  EXPECT_TRUE(body.ends_with(R"(,"event_id":"ord-1","refused":true}}])")) << body;
}

TEST(DeviceEvent, SaysWhatIsKnownOfTheDevice) {
  EventBatch batch("sendonce/0123");
  batch.begin(kNoon);
  batch.add_device({.hash = {},
                    .device = {.state = DeviceState::invalid,
                               .since = kNoon - std::chrono::hours(1),
                               .registered_at = kNoon - std::chrono::hours(2)},
                    .kind = "apns",
                    .ref = "dev-1",
                    .reason = "Unregistered",
                    .provider = "apns-main",
                    .provider_time = true,
                    .fence = Fence(17)});
  const auto& entries = batch.finish();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].subject, "sendonce.device.apns.invalid");
  EXPECT_EQ(entries[0].body,
            R"([{"specversion":"1.0","type":"dev.sendonce.device.v1","source":"sendonce/0123",)"
            R"("time":"2027-01-15T08:00:00.000Z","datacontenttype":"application/json",)"
            R"("id":"00000000000000000000000000000000.17",)"
            R"("data":{"hash":"00000000000000000000000000000000","change":"invalid",)"
            R"("kind":"apns","provider":"apns-main","ref":"dev-1","reason":"Unregistered",)"
            R"("provider_time":"2027-01-15T07:00:00.000Z",)"
            R"("registered_at":"2027-01-15T06:00:00.000Z"}}])");
}

// CloudEvents distributed tracing extension: a member of the event, not of its data.
TEST(OutcomeEvent, GoesOnWithTheTraceOfItsMessage) {
  constexpr std::string_view kTrace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  EventBatch batch("sendonce/0123");
  batch.begin(kNoon);
  batch.add_outcome(ended_row(), {.traceparent = kTrace});
  batch.add_device({.kind = "apns", .traceparent = kTrace});
  for (const EventBatch::Entry& entry : batch.finish())
    EXPECT_THAT(entry.body, HasSubstr(R"("datacontenttype":"application/json","traceparent":")" +
                                      std::string(kTrace) + R"(","id":")"));
  batch.begin(kNoon);
  batch.add_outcome(ended_row(), {.event_id = "ord-1"});
  EXPECT_THAT(batch.finish()[0].body, Not(HasSubstr("traceparent")));
}

}  // namespace
}  // namespace sendonce::test
