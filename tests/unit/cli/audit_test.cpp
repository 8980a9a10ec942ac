// A run that went well, and one lie at a time planted in it.
#include "plugin/cli/demo/audit.hpp"

#include <functional>

#include <gmock/gmock.h>

namespace sendonce::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr WallTime kStart{seconds(1'790'000'000)};

WallTime at(int ms) {
  return kStart + milliseconds(ms);
}

Seen seen(int ms, bool accepted = true, int status = 200) {
  return {.at = at(ms), .connection = 1, .status = status, .accepted = accepted, .answered = true};
}

// What a run leaves behind; a lie changes it before it is told to the tally.
struct Evidence {
  struct Event {
    std::string ref{};
    std::uint32_t revision = 1;
    std::string outcome{};
  };
  std::vector<std::pair<std::string, Published>> published{};
  std::vector<Row> rows{};
  std::vector<std::pair<std::string, Seen>> record{};
  std::vector<Event> events{};
  std::vector<std::string> dead_letters{};
  std::vector<std::string> early_acks{};
  AuditContext context{.call_total = seconds(1)};
};

std::string key_of(int number) {
  return std::string(62, '0') + std::to_string(10 + number);
}

void add(Evidence& e, int number, const char* message_class, State state) {
  const std::string n = std::to_string(number);
  e.published.emplace_back(message_class, Published{.token = "t" + n, .ref = "r" + n, .at = at(0)});
  Row row;
  row.key.bytes[31] = static_cast<std::uint8_t>((1 + number / 10) << 4U | number % 10);
  row.ref = "r" + n;
  row.state = state;
  row.revision = 1;
  row.ended = at(500);
  e.events.push_back({"r" + n, 1, std::string(name(state))});
  if (state == State::failed) {
    row.dead_letter = DeadLetter::done;
    e.dead_letters.push_back(key_of(number));
    Seen refusal = seen(100, false, 400);
    refusal.refused = true;
    e.record.emplace_back("t" + n, refusal);
  }
  if (state == State::accepted) e.record.emplace_back("t" + n, seen(100));
  e.rows.push_back(std::move(row));
}

// r0: give-up, accepted. r1: resend, accepted. r2: resend, failed. r3: give-up, unknown: the
// provider took it and answered 500. r4: resend, taken twice: the first answer was lost.
// And a message that could not be decoded.
Evidence honest() {
  Evidence e;
  add(e, 0, "marketing", State::accepted);
  add(e, 1, "otp", State::accepted);
  add(e, 2, "otp", State::failed);
  add(e, 3, "marketing", State::unknown);
  e.record.emplace_back("t3", seen(100, true, 500));
  add(e, 4, "otp", State::accepted);
  e.record.back().second.answered = false;
  e.record.emplace_back("t4", seen(300));
  e.published.emplace_back("otp",
                           Published{.ref = "notify.otp.u9", .at = at(0), .undecodable = true});
  e.dead_letters.emplace_back("notify.otp.u9");
  return e;
}

std::vector<Broken> judged(const Evidence& e) {
  Tally tally;
  tally.of("marketing").policy = "give-up";
  tally.of("otp").policy = "resend";
  for (const auto& [message_class, delivery] : e.published)
    tally.add_published(message_class, delivery);
  for (const Row& row : e.rows) tally.add_row(row);
  for (const auto& [token, s] : e.record) tally.add_request(token, s);
  for (const auto& event : e.events) tally.add_event(event.ref, event.revision, event.outcome);
  for (const std::string& letter : e.dead_letters) tally.add_dead_letter(letter);
  for (const std::string& ref : e.early_acks) tally.add_early_ack(ref);
  return audit(tally, e.context);
}

std::vector<std::string> promises_broken_by(const std::function<void(Evidence&)>& lie) {
  Evidence e = honest();
  lie(e);
  std::vector<std::string> out;
  for (const Broken& b : judged(e)) out.push_back(b.promise);
  return out;
}

TEST(Audit, AnHonestRunBreaksNothing) {
  const auto broken = judged(honest());
  EXPECT_THAT(broken_text(broken, 10), IsEmpty());
}

TEST(Audit, ARecordLineDoubled) {
  EXPECT_THAT(promises_broken_by([](Evidence& e) { e.record.push_back(e.record[0]); }),
              testing::ElementsAre("one-copy"));
  EXPECT_THAT(promises_broken_by([](Evidence& e) { e.record.push_back(e.record[1]); }),
              testing::ElementsAre("one-copy"))
      << "resend repeats only in doubt";
}

TEST(Audit, GiveUpMakesNoRequestAfterADoubt) {
  EXPECT_THAT(
      promises_broken_by([](Evidence& e) { e.record.emplace_back("t3", seen(300, false, 503)); }),
      testing::ElementsAre("one-copy"));
}

TEST(Audit, AKillBetweenTheTwoExplainsACopyUnderResendAlone) {
  const auto killed = [](Evidence& e) {
    e.context.disturbances.push_back({"killed", at(200), at(200)});
  };
  EXPECT_THAT(promises_broken_by([&](Evidence& e) {
                killed(e);
                e.record.emplace_back("t1", seen(300));
              }),
              IsEmpty());
  EXPECT_THAT(promises_broken_by([&](Evidence& e) {
                killed(e);
                e.record.emplace_back("t0", seen(300));
              }),
              testing::ElementsAre("one-copy"));
  EXPECT_THAT(promises_broken_by([&](Evidence& e) {
                e.context.disturbances.push_back({"killed", at(50), at(50)});
                e.record.emplace_back("t1", seen(300));
              }),
              testing::ElementsAre("one-copy"))
      << "a kill before the first request explains nothing";
}

TEST(Audit, TheEndOfItsConnectionExplainsACopy) {
  const auto again = [](bool ends, int when) {
    return promises_broken_by([=](Evidence& e) {
      Seen other = seen(when);
      other.ends_connection = ends;
      other.answered = false;
      e.record.insert(e.record.end() - 1, {"t4", other});  // r4 is in doubt anyway
      e.record.emplace_back("t1", seen(1'900));
    });
  };
  EXPECT_THAT(again(true, 200), IsEmpty());
  EXPECT_THAT(again(false, 200), testing::ElementsAre("one-copy"));
  EXPECT_THAT(again(true, 1'800), testing::ElementsAre("one-copy"))
      << "the answer had long been there";
}

TEST(Audit, ARecordLineRemoved) {
  for (const int line : {0, 1})
    EXPECT_THAT(promises_broken_by([=](Evidence& e) { e.record.erase(e.record.begin() + line); }),
                testing::ElementsAre("delivered"));
  EXPECT_THAT(promises_broken_by([](Evidence& e) { e.record.erase(e.record.begin() + 2); }),
              testing::ElementsAre("explained"))
      << "a failure needs its refusal";
}

TEST(Audit, ResendMayNotGiveUp) {
  EXPECT_THAT(promises_broken_by([](Evidence& e) {
                e.rows[1].state = State::unknown;
                e.events[1].outcome = "unknown";
                e.record[1].second.accepted = false;
                e.record[1].second.status = 500;
              }),
              testing::ElementsAre("delivered"));
}

TEST(Audit, AnUnknownNeedsAFault) {
  const auto clean = [](Evidence& e) { e.record[3].second.status = 200; };
  EXPECT_THAT(promises_broken_by(clean), testing::ElementsAre("explained"));
  EXPECT_THAT(promises_broken_by([&](Evidence& e) {
                clean(e);
                e.context.disturbances.push_back({"stopped", at(80), at(300)});
              }),
              IsEmpty());
  EXPECT_THAT(promises_broken_by([&](Evidence& e) {
                clean(e);
                e.context.disturbances.push_back({"killed", at(900), at(900)});
              }),
              testing::ElementsAre("explained"))
      << "it had ended by then";
}

TEST(Audit, ARowRemovedOrNotEnded) {
  EXPECT_THAT(promises_broken_by([](Evidence& e) { e.rows.erase(e.rows.begin()); }),
              testing::ElementsAre("ended"));
  EXPECT_THAT(promises_broken_by([](Evidence& e) { e.rows[0].state = State::waiting; }),
              testing::ElementsAre("ended"));
}

TEST(Audit, TheLedgerDeniesWhatTheProviderTook) {
  for (const State state : {State::failed, State::suppressed})
    EXPECT_THAT(promises_broken_by([=](Evidence& e) {
                  e.rows[0].state = state;
                  e.events[0].outcome = name(state);
                }),
                Contains("truthful"));
}

TEST(Audit, AnEventRemovedOrFalse) {
  EXPECT_THAT(promises_broken_by([](Evidence& e) { e.events.erase(e.events.begin()); }),
              testing::ElementsAre("told"));
  EXPECT_THAT(promises_broken_by([](Evidence& e) { e.rows[0].revision = 2; }),
              testing::ElementsAre("told"));
  EXPECT_THAT(promises_broken_by([](Evidence& e) { e.events[0].outcome = "unknown"; }),
              testing::ElementsAre("truthful"));
  EXPECT_THAT(promises_broken_by([](Evidence& e) { e.events.push_back({"r0", 2, "accepted"}); }),
              testing::ElementsAre("truthful"));
  EXPECT_THAT(promises_broken_by([](Evidence& e) { e.events.push_back(e.events[0]); }), IsEmpty())
      << "events are at least once";
}

TEST(Audit, ADeadLetterRemovedOrTooMany) {
  for (const int letter : {0, 1})
    EXPECT_THAT(promises_broken_by(
                    [=](Evidence& e) { e.dead_letters.erase(e.dead_letters.begin() + letter); }),
                testing::ElementsAre("dead-letter"));
  EXPECT_THAT(promises_broken_by([](Evidence& e) { e.dead_letters.push_back(key_of(0)); }),
              testing::ElementsAre("dead-letter"));
  EXPECT_THAT(promises_broken_by([](Evidence& e) { e.rows[2].dead_letter = DeadLetter::due; }),
              testing::ElementsAre("dead-letter"));
}

TEST(Audit, AnEarlyAck) {
  EXPECT_THAT(promises_broken_by([](Evidence& e) { e.early_acks.emplace_back("r0"); }),
              testing::ElementsAre("ack-last"));
}

TEST(Audit, WhatNobodyPublished) {
  EXPECT_THAT(promises_broken_by([](Evidence& e) { e.record.emplace_back("t77", seen(1)); }),
              testing::ElementsAre("nothing-else"));
  EXPECT_THAT(promises_broken_by([](Evidence& e) { e.events.push_back({"r77", 1, "accepted"}); }),
              testing::ElementsAre("nothing-else"));
  EXPECT_THAT(promises_broken_by([](Evidence& e) { e.dead_letters.emplace_back("77"); }),
              testing::ElementsAre("nothing-else"));
}

TEST(Audit, AStoryHasTheTimesAndNoToken) {
  Evidence e = honest();
  e.record.push_back(e.record[0]);
  e.context.disturbances.push_back({"killed", at(200), at(200)});
  const std::string text = broken_text(judged(e), 10);
  EXPECT_THAT(text, HasSubstr("one-copy marketing 00000000: "));
  EXPECT_THAT(text, HasSubstr("200 taken"));
  EXPECT_THAT(text, HasSubstr("killed"));
  EXPECT_THAT(text, testing::Not(HasSubstr("t0")));
}

}  // namespace
}  // namespace sendonce::cli
