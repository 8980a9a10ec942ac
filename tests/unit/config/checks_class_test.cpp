#include <gmock/gmock.h>

#include "config/checks.hpp"
#include "tests/unit/config/fixture.hpp"

namespace sendonce::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> with(std::string_view line) {
  return findings_of(with_more(good(), line));
}

std::vector<std::string> replaced(std::size_t number, std::string_view line) {
  return findings_of(with_line(good(), number, line));
}

TEST(CheckClaims, RoomForTheCall) {
  EXPECT_THAT(with("claim = \"17s\""), IsEmpty());
  EXPECT_THAT(with("claim = \"16999ms\""),
              ElementsAre("t.toml:14:9: error: class.otp.claim: 16999ms can end before the attempt "
                          "does, whose call may take 10s; make it at least \"17s\" or shorten "
                          "call.total"));
}

TEST(CheckClaims, TheSlowestProviderOfTheRouteCounts) {
  const std::string slow =
      with_line(with_line(good(), 13, "route = { push = [\"apns\", \"slow\"] }"), 7,
                "auth = { team = \"ABCDE12345\", key_id = \"FGHIJ67890\", key = \"cred:k\" "
                "}\n[provider.slow]\nkind = "
                "\"fcm\"\nauth.service_account = \"cred:f\"\ncall.total = \"40s\"\n[instance]") +
      "";
  // [instance] would be given twice: the drain has to grow with the call.
  std::string text = with_line(slow, 2, "");
  text = with_line(text, 3, "");
  text.replace(text.find("[instance]"), 10, "[instance]\ndrain = \"40s\"");
  EXPECT_THAT(findings_of(text),
              ElementsAre(HasSubstr("class.otp.claim: 45s can end before the attempt does, whose "
                                    "call may take 40s; make it at least \"47s\"")));
}

TEST(CheckAckWait, WarnsWhenARedeliveryMeetsTheClaim) {
  EXPECT_THAT(with("ack_wait = \"47s\""), IsEmpty());
  EXPECT_THAT(with("ack_wait = \"46s\""),
              ElementsAre("t.toml:14:12: warning: class.otp.ack_wait: 46s lets a redelivery meet a "
                          "claim of 45s that still holds; it will wait in vain; make it at least "
                          "\"47s\""));
}

TEST(CheckExpires, BetweenOneCallAndTheRetention) {
  EXPECT_THAT(replaced(10, "expires = \"10s\""), IsEmpty());
  EXPECT_THAT(replaced(10, "expires = \"9s\""),
              ElementsAre("t.toml:10:11: error: class.otp.expires: 9s is shorter than one call of "
                          "10s; make it longer, or shorten call.total"));
  EXPECT_THAT(replaced(10, "expires = \"3d\""),
              Contains("t.toml:10:11: error: class.otp.expires: 3d is longer than the ledger "
                       "remembers (retention = 2d); shorten it or make retention longer"));
}

TEST(CheckRetention, OutlivesEveryWayToRepeat) {
  EXPECT_THAT(replaced(11, "retention = \"362s\""), IsEmpty());
  EXPECT_THAT(replaced(11, "retention = \"361s\""),
              ElementsAre("t.toml:11:13: error: class.otp.retention: 361s forgets a send while it "
                          "can still be repeated: 3m of retries and 3m of redelivery (expires); "
                          "make it at least \"362s\""));
}

TEST(CheckRetention, CountsTheReplay) {
  EXPECT_THAT(with("replay = \"47h\""), IsEmpty());
  EXPECT_THAT(with("replay = \"2d\""),
              ElementsAre(HasSubstr("t.toml:11:13: error: class.otp.retention: 2d forgets a send "
                                    "while it can still be repeated: 3m of retries and 2d of "
                                    "replay; make it at least \"172982s\"")));
}

TEST(CheckPending, AtLeastInFlight) {
  EXPECT_THAT(with("in_flight = 10\nmax_ack_pending = 10"), IsEmpty());
  EXPECT_THAT(
      with("in_flight = 10\nmax_ack_pending = 9"),
      ElementsAre("t.toml:15:19: error: class.otp.max_ack_pending: 9 is less than in_flight "
                  "= 10, which could never be reached; make it at least in_flight, better "
                  "ten times as much"));
}

TEST(CheckRetry, AttemptsFitTheHorizon) {
  // 1 + 2 + 4 seconds of waits.
  EXPECT_THAT(with("retry = { first = \"1s\", attempts = 4, horizon = \"7s\" }"), IsEmpty());
  EXPECT_THAT(with("retry = { first = \"1s\", attempts = 4, horizon = \"6s\" }"),
              ElementsAre("t.toml:14:49: error: class.otp.retry.horizon: 6s is too short for 4 "
                          "attempts with their waits; make it longer, or choose fewer attempts or "
                          "shorter waits"));
  EXPECT_THAT(with("retry = { first = \"1h\", factor = 10, cap = \"1d\", attempts = 1000 }"),
              ElementsAre(HasSubstr("12h is too short for 1000 attempts")));
}

TEST(CheckRetry, FirstWaitWithinTheCap) {
  EXPECT_THAT(
      with("retry = { first = \"5s\", cap = \"4s\" }"),
      ElementsAre("t.toml:14:19: error: class.otp.retry.first: 5s is longer than retry.cap = "
                  "4s; shorten it or make the cap longer"));
}

TEST(CheckRetry, WarnsOfAHorizonBeyondTheDeadline) {
  EXPECT_THAT(with("retry = { attempts = 3, horizon = \"3m\" }"), IsEmpty());
  EXPECT_THAT(with("retry = { attempts = 3, horizon = \"4m\" }"),
              ElementsAre("t.toml:14:35: warning: class.otp.retry.horizon: 4m is cut short by "
                          "expires = 3m; make it at most as long"));
}

TEST(CheckKeys, JudgesBothRecipes) {
  EXPECT_THAT(
      with("key = [\"event_id\", \"recipient\", \"channel\", \"received_at\"]"),
      ElementsAre("t.toml:14:7: error: class.otp.key: \"received_at\" can differ between two "
                  "attempts at the same notification; choose from event_id, recipient, "
                  "channel, template or campaign_id"));
  EXPECT_THAT(
      with("key = [\"template\", \"recipient\", \"channel\"]"),
      ElementsAre("t.toml:14:7: error: class.otp.key: names neither event_id nor "
                  "campaign_id; add one of them: without it two events of one recipient are "
                  "taken for one"));
  EXPECT_THAT(
      with("key_previous = [\"event_id\", \"destination\"]"),
      ElementsAre(HasSubstr("t.toml:14:16: error: class.otp.key_previous: \"destination\" is "
                            "the destination")));
  EXPECT_THAT(with("key_previous = [\"event_id\", \"recipient\", \"channel\", \"template\"]"),
              ElementsAre(HasSubstr("class.otp.key_previous: is the same recipe as key")));
  EXPECT_THAT(
      with("key = [\"event_id\", \"channel\"]"),
      ElementsAre("t.toml:14:7: warning: class.otp.key: lacks recipient; add it, or be sure "
                  "that each event has only one"));
}

TEST(CheckCollapse, TemplatesOfKnownFieldsAndFittingLength) {
  EXPECT_THAT(with("collapse = \"{template}:{recipient}\""), IsEmpty());
  EXPECT_THAT(with("collapse = \"{tmplate}\""),
              ElementsAre("t.toml:14:12: error: class.otp.collapse: \"tmplate\" is no field of the "
                          "envelope that may be used; did you mean template? choose from event_id, "
                          "recipient, channel, template or campaign_id"));
  EXPECT_THAT(with("collapse = \"{delivery_count}\""),
              ElementsAre(HasSubstr("can differ between two attempts")));
  EXPECT_THAT(with("collapse = \"{\""), ElementsAre(HasSubstr("braces do not match")));
  EXPECT_THAT(with("collapse = \"" + std::string(63, 'x') + "{event_id}\""), IsEmpty());
  EXPECT_THAT(with("collapse = \"" + std::string(64, 'x') + "{event_id}\""),
              ElementsAre(HasSubstr("always longer than the 64 bytes that providers take")));
}

std::string two_classes(std::string_view first, std::string_view second) {
  return with_line(good(), 9, "subject = \"" + std::string(first) + "\"") +
         "[class.two]\nsubject = \"" + std::string(second) +
         "\"\nexpires = \"1h\"\nretention = \"2d\"\nambiguous.default = \"resend\"\nroute.push = "
         "[\"apns\"]\n";
}

TEST(CheckSubjects, NoTwoClassesShareOne) {
  EXPECT_THAT(findings_of(two_classes("notify.otp.>", "notify.tx.>")), IsEmpty());
  EXPECT_THAT(
      findings_of(two_classes("notify.*.code", "notify.otp.>")),
      ElementsAre("t.toml:15:11: error: class.two.subject: some subjects belong to class otp "
                  "too (t.toml:9:11); make the two filters disjoint: a message must have "
                  "one class"));
}

TEST(CheckSubjects, OnlyThoseThatCanBeConsumed) {
  for (const char* bad : {"notify..otp", "notify.>.x", "notify otp", "$JS.API.>", "notify."})
    EXPECT_THAT(
        replaced(9, "subject = \"" + std::string(bad) + "\""),
        ElementsAre(HasSubstr("t.toml:9:11: error: class.otp.subject: not a subject that can "
                              "be consumed")))
        << bad;
  for (const char* own : {">", "sendonce.>", "*.dlq.>", "sendonce.outcome.otp.accepted"})
    EXPECT_THAT(replaced(9, "subject = \"" + std::string(own) + "\""),
                ElementsAre(HasSubstr("takes in the events that this process publishes itself")))
        << own;
}

TEST(CheckScopes, OneForEachClass) {
  EXPECT_THAT(
      findings_of(two_classes("a", "b") + "key_scope = \"otp\"\n"),
      ElementsAre("t.toml:20:13: error: class.two.key_scope: \"otp\" is the scope of class "
                  "otp too (t.toml:8:1); give each class its own: it names one table and one "
                  "consumer"));
  EXPECT_THAT(findings_of(two_classes("a", "b") + "key_scope = \"old\"\n"), IsEmpty());
}

}  // namespace
}  // namespace sendonce::test
