// Dead letters as the JetStream API gives them, and the one thing that a replay changes in them.
#include "plugin/cli/letters.hpp"

#include <gtest/gtest.h>

#include "plugin/core/text.hpp"

namespace sendonce::cli {
namespace {

constexpr WallTime kNoon{std::chrono::seconds(1'800'000'000)};
const std::string kNoonText = "\"2027-01-15T08:00:00.000Z\"";

TEST(Letters, an_answer_of_the_server) {
  // hdrs: NATS/1.0, Nats-Msg-Id: ab.dlq, Sendonce-Key: ab, Sendonce-Class: otp; data: {}
  const auto letter = letter_from(
      R"({"type":"x","message":{"subject":"sendonce.dlq.otp.bad","seq":7,"time":"2026-01-01T00:00:00Z",)"
      R"("hdrs":"TkFUUy8xLjANCk5hdHMtTXNnLUlkOiBhYi5kbHENClNlbmRvbmNlLUtleTogYWINClNlbmRvbmNlLUNsYXNzOiBvdHANCg0K",)"
      R"("data":"e30="}})");
  ASSERT_TRUE(letter.has_value()) << letter.error().text;
  ASSERT_TRUE(letter->has_value());
  const Letter& l = **letter;
  EXPECT_EQ(l.sequence, 7U);
  EXPECT_EQ(l.body, "{}");
  EXPECT_EQ(l.key(), "ab");
  EXPECT_EQ(l.message_class(), "otp");
  EXPECT_FALSE(l.is_conflict());
  EXPECT_TRUE(l.has_body());
}

TEST(Letters, a_conflicts_letter_is_known_by_its_id) {
  Letter l;
  l.headers = {{"Sendonce-Key", "ab"}, {"Nats-Msg-Id", "ab.dlq.17"}};
  EXPECT_TRUE(l.is_conflict());
  l.headers = {{"Nats-Msg-Id", "NOTIFY.17.1"}};
  EXPECT_FALSE(l.is_conflict()) << "undecodable: it has no row at all";
}

TEST(Letters, the_end_and_what_is_no_answer) {
  const auto end = letter_from(R"({"error":{"code":404,"err_code":10037,"description":"no"}})");
  ASSERT_TRUE(end.has_value());
  EXPECT_FALSE(end->has_value());
  for (const char* text : {"", "[]", "{}", R"({"error":{"err_code":10059}})", R"({"message":1})",
                           R"({"message":{"seq":-1}})", R"({"message":{"seq":1,"data":"*"}})"})
    EXPECT_FALSE(letter_from(text).has_value()) << text;
}

TEST(Letters, an_expiry_is_set_and_nothing_else_is_touched) {
  struct Case {
    const char* before;
    std::string after;
  };
  const Case cases[] = {
      {"{}", "{\"expires_at\":" + kNoonText + "}"},
      {" { \"n\":1.00, \"m\":9007199254740993}",
       " {\"expires_at\":" + kNoonText + ", \"n\":1.00, \"m\":9007199254740993}"},
      {R"({"a":1,"expires_at" : "2030-01-01T00:00:00Z","b":[2]})",
       R"({"a":1,"expires_at" : )" + kNoonText + R"(,"b":[2]})"},
      {R"({"x":{"expires_at":"2030-01-01T00:00:00Z"}})",
       "{\"expires_at\":" + kNoonText + R"(,"x":{"expires_at":"2030-01-01T00:00:00Z"}})"},
      {R"({"x":"expires_at","y":"a\"{[b"})",
       "{\"expires_at\":" + kNoonText + R"(,"x":"expires_at","y":"a\"{[b"})"},
  };
  for (const Case& c : cases) EXPECT_EQ(with_expiry(c.before, kNoon), c.after);
  for (const char* none : {"", "[]", "1", "\"x\""}) EXPECT_EQ(with_expiry(none, kNoon), "");
}

TEST(Letters, the_expiry_that_is_there) {
  EXPECT_EQ(expiry_of(R"({"expires_at":"2027-01-15T08:00:00Z"})"), kNoon);
  EXPECT_EQ(expiry_of(R"({"x":{"expires_at":"2027-01-15T08:00:00Z"}})"), std::nullopt);
  EXPECT_EQ(expiry_of(R"({"expires_at":7})"), std::nullopt);
  EXPECT_EQ(expiry_of(R"({"expires_at":"soon"})"), std::nullopt);
  EXPECT_EQ(expiry_of("{\"expires_at\":\""), std::nullopt);
}

// ---- a report says when it counted --------------------------------------------------------------

TEST(Letters, the_time_of_a_report_is_that_of_its_message) {
  Letter l;
  l.headers = {{"Nats-Msg-Id", "DEVICE_REPORTS.17.1800000000000000000"}};
  EXPECT_EQ(first_stored(l), kNoon);
  for (const char* id : {"", "x", "DEVICE_REPORTS.17.", "DEVICE_REPORTS.17.0", "S.1.-5", "S.1.1x",
                         "S.1.99999999999999999999", "ab.dlq"}) {
    l.headers = {{"Nats-Msg-Id", id}};
    EXPECT_EQ(first_stored(l), std::nullopt) << id;
  }
  EXPECT_EQ(first_stored(Letter{}), std::nullopt);
}

TEST(Letters, a_report_is_dated_and_nothing_else_is_touched) {
  const std::string dated = R"({"state":"revoked","at":"2027-01-15T07:59:59Z"})";
  struct Case {
    std::string before;
    std::string after;
  };
  const Case cases[] = {
      {R"({"state":"revoked"})", "{\"at\":" + kNoonText + R"(,"state":"revoked"})"},
      {dated, dated},
      // It counted as of noon: its clock was ahead.
      {R"({"at":"2199-01-01T00:00:00Z","state":"revoked"})",
       "{\"at\":" + kNoonText + R"(,"state":"revoked"})"},
      {R"({"at":"soon"})", R"({"at":"soon"})"},
      {R"({"reason":"at","x":{"at":"2020-01-01T00:00:00Z"}})",
       "{\"at\":" + kNoonText + R"(,"reason":"at","x":{"at":"2020-01-01T00:00:00Z"}})"},
      {"{}", "{\"at\":" + kNoonText + "}"},
  };
  for (const Case& c : cases) EXPECT_EQ(with_report_time(c.before, kNoon), c.after);
  for (const char* none : {"", "[]", "1", "\"x\""}) EXPECT_EQ(with_report_time(none, kNoon), "");
}

// ---- a confirmation that is lost ----------------------------------------------------------------

Result<PubAck> stored(std::uint64_t seq) {
  PubAck ack;
  ack.seq = seq;
  return ack;
}

TEST(PublishSurely, goes_on_until_it_is_confirmed) {
  int calls = 0;
  const auto ack = publish_surely(
      [&]() -> Result<PubAck> {
        if (++calls < 3) return fail(Errc::unavailable, "no answer");
        return stored(7);
      },
      Duration::zero());
  ASSERT_TRUE(ack.has_value());
  EXPECT_EQ(ack->seq, 7U);
  EXPECT_EQ(calls, 3);
}

TEST(PublishSurely, ends_when_nobody_answers) {
  int calls = 0;
  const auto ack = publish_surely(
      [&]() -> Result<PubAck> {
        ++calls;
        return fail(Errc::unavailable, "no answer");
      },
      Duration::zero());
  ASSERT_FALSE(ack.has_value());
  EXPECT_EQ(calls, kPublishTries);
}

TEST(PublishSurely, takes_a_refusal_for_one) {
  for (const Errc code : {Errc::invalid, Errc::denied, Errc::exhausted}) {
    int calls = 0;
    const auto ack = publish_surely(
        [&]() -> Result<PubAck> {
          ++calls;
          return fail(code, "no");
        },
        Duration::zero());
    EXPECT_EQ(ack.error().code, code);
    EXPECT_EQ(calls, 1);
  }
}

}  // namespace
}  // namespace sendonce::cli
