#include "plugin/message/dead_letter.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sendonce {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Pair;

Message message() {
  Message m;
  m.seq = StreamSeq(8812);
  m.stored_at = WallTime(std::chrono::nanoseconds(1'793'520'000'123'456'789));
  m.delivered = 3;
  m.subject = "notify.otp.user_42";
  m.reply = "$JS.ACK.x";
  m.headers = {{"Nats-Msg-Id", "ord-8812"}, {"traceparent", "00-ab"}, {"traceparent", "00-cd"}};
  m.body = std::string("any\0bytes", 9);
  return m;
}

Key key() {
  Key k;
  k.bytes[0] = 0xab;
  return k;
}

TEST(DeadLetter, IsACopyThatNamesItsDelivery) {
  const Publication letter = dead_letter(message(), "otp", "BadTopic", key());
  const std::string key_text = "ab" + std::string(62, '0');
  EXPECT_EQ(letter.subject, "sendonce.dlq.otp.BadTopic");
  EXPECT_EQ(letter.message_id, key_text + ".dlq");
  EXPECT_EQ(letter.body, message().body);
  EXPECT_THAT(letter.headers,
              ElementsAre(Pair("Sendonce-Key", key_text), Pair("Sendonce-Class", "otp"),
                          Pair("Sendonce-Reason", "BadTopic"),
                          Pair("Sendonce-Original-Subject", "notify.otp.user_42"),
                          Pair("Sendonce-Original-Nats-Msg-Id", "ord-8812"),
                          Pair("traceparent", "00-ab"), Pair("traceparent", "00-cd")));
}

TEST(DeadLetter, DependsOnNothingThatARedeliveryChanges) {
  Message again = message();
  again.delivered = 17;
  again.reply = "$JS.ACK.y";
  const Publication a = dead_letter(message(), "otp", "x", key());
  const Publication b = dead_letter(again, "otp", "x", key());
  EXPECT_EQ(a.message_id, b.message_id);
  EXPECT_EQ(a.subject, b.subject);
  EXPECT_EQ(a.headers, b.headers);
}

// Under its own name such a header acts on the dead-letter stream; Nats-Rollup erases it.
TEST(DeadLetter, NoNatsHeaderSurvivesUnderItsOwnName) {
  Message m = message();
  m.headers = {{"Nats-Rollup", "all"},
               {"nats-expected-stream", "X"},
               {"NATS-TTL", "1s"},
               {"Nats-Expected-Last-Sequence", "7"}};
  for (const Publication& letter :
       {dead_letter(m, "otp", "x", key()), undecodable_letter(m, "otp", "NOTIFY", "$: bad")}) {
    for (const auto& [header_name, value] : letter.headers)
      EXPECT_EQ(header_name.rfind("Sendonce-", 0), 0U) << header_name;
    EXPECT_THAT(letter.headers, Contains(Pair("Sendonce-Original-Nats-Rollup", "all")));
    EXPECT_THAT(letter.headers, Contains(Pair("Sendonce-Original-NATS-TTL", "1s")));
  }
}

TEST(DeadLetter, DropsTheHeadersOfAnEarlierLife) {
  Message m = message();
  m.headers = {{"Sendonce-Key", "old"}, {"sendonce-reason", "old"}, {"x-own", "kept"}};
  const Publication letter = dead_letter(m, "otp", "new", key());
  EXPECT_THAT(letter.headers, testing::Not(Contains(Pair(testing::_, "old"))));
  EXPECT_THAT(letter.headers, Contains(Pair("x-own", "kept")));
}

TEST(DeadLetter, AReasonCannotChangeTheSubject) {
  EXPECT_EQ(dead_letter(message(), "a.b", "x.>", key()).subject, "sendonce.dlq.a_b.x__");
  EXPECT_EQ(dead_letter(message(), "otp", "", key()).subject, "sendonce.dlq.otp.unknown");
  EXPECT_EQ(dead_letter(message(), "otp", "two words\r\n", key()).subject,
            "sendonce.dlq.otp.two_words__");
  EXPECT_LE(dead_letter(message(), "otp", std::string(10'000, 'x'), key()).subject.size(), 100U);
}

TEST(DeadLetter, AReasonCannotAddAHeader) {
  const Publication letter = dead_letter(message(), "otp", "a\r\nNats-Rollup: all", key());
  EXPECT_THAT(letter.headers, Contains(Pair("Sendonce-Reason", "a??Nats-Rollup: all")));
}

// NATS carries a tab in a value, and may carry worse; publishing it would be refused for ever.
TEST(DeadLetter, NoControlCharacterKeepsTheCopyFromItsStream) {
  Message m = message();
  m.subject = "notify.otp.a\x01";
  m.headers = {{"note", "a\tb\x7f"}, {"od:d\x02", "\xC3\xA4"}, {"", "x"}};
  const Publication letter = dead_letter(m, "otp", "BadTopic", key());
  EXPECT_THAT(letter.headers, Contains(Pair("Sendonce-Original-Subject", "notify.otp.a?")));
  EXPECT_THAT(letter.headers, Contains(Pair("note", "a?b?")));
  EXPECT_THAT(letter.headers, Contains(Pair("od?d?", "\xC3\xA4")));
  EXPECT_THAT(letter.headers, Contains(Pair("?", "x")));
}

TEST(UndecodableLetter, IsNamedByItsPlaceInTheStream) {
  const Publication letter =
      undecodable_letter(message(), "otp", "NOTIFY", "$.channel: is missing");
  EXPECT_EQ(letter.subject, "sendonce.dlq.otp.undecodable");
  EXPECT_EQ(letter.message_id, "NOTIFY.8812.1793520000123456789");
  EXPECT_EQ(letter.body, message().body);
  EXPECT_THAT(letter.headers, Contains(Pair("Sendonce-Reason", "$.channel: is missing")));
  EXPECT_THAT(letter.headers, testing::Not(Contains(Pair("Sendonce-Key", testing::_))));
}

// A replay of the letter is a replay still, and not a message for every target.
TEST(UndecodableLetter, StaysOneOfAReplay) {
  Message m = message();
  m.headers = {{"sendonce-replay", "nonsense\x01"}, {"Sendonce-Reason", "old"}};
  const Publication letter = undecodable_letter(m, "otp", "NOTIFY", "x");
  EXPECT_THAT(letter.headers, Contains(Pair("Sendonce-Replay", "nonsense?")));
  EXPECT_THAT(letter.headers, testing::Not(Contains(Pair("Sendonce-Reason", "old"))));
  EXPECT_THAT(dead_letter(m, "otp", "x", key()).headers,
              testing::Not(Contains(Pair("Sendonce-Replay", testing::_))))
      << "its own key names it";
}

// After loss a stream hands out sequences again: the time tells the two messages apart.
TEST(UndecodableLetter, TheSameSequenceAtAnotherTimeIsAnother) {
  Message later = message();
  later.stored_at += std::chrono::nanoseconds(1);
  EXPECT_NE(undecodable_letter(message(), "otp", "NOTIFY", "x").message_id,
            undecodable_letter(later, "otp", "NOTIFY", "x").message_id);
}

}  // namespace
}  // namespace sendonce
