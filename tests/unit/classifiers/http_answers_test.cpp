#include "classifiers/http/http_answers.hpp"

#include <gtest/gtest.h>

#include "classifiers/json_pointer.hpp"
#include "tests/unit/classifiers/fixtures.hpp"

namespace sendonce::test {
namespace {

AnswerRule rule(int status, VerdictClass verdict) {
  AnswerRule out;
  if (status != 0) out.status = {{status, status}};
  out.verdict = verdict;
  return out;
}

TEST(JsonPointer, FindsWhatStandsThere) {
  const auto tree = parse_json_tree(R"({"a":[{"b":1},{"b":2},{"c":3}],"x/y":{"~":4}})");
  ASSERT_TRUE(tree.has_value());
  const auto count = [&](std::string_view p) { return at_pointer(*tree, p).size(); };
  EXPECT_EQ(at_pointer(*tree, "/a/1/b").front()->text, "2");
  EXPECT_EQ(at_pointer(*tree, "/x~1y/~0").front()->text, "4");
  EXPECT_EQ(count("/a/*/b"), 2U);
  EXPECT_EQ(count(""), 1U);
  for (const char* nowhere : {"/a/3", "/a/01", "/a/-", "/b", "a", "/a/b", "/*"})
    EXPECT_EQ(count(nowhere), 0U) << nowhere;
}

TEST(HttpAnswers, TheFirstLineThatMatchesWins) {
  HttpSpec spec;
  spec.receipt_pointer = "/id";
  spec.answers = {rule(400, VerdictClass::token_terminal), rule(400, VerdictClass::payload_error)};
  spec.answers[0].pointer = "/code";
  spec.answers[0].equals = {"7"};
  EXPECT_EQ(judge_http(spec, answer(400, R"({"code":7})"), kNow).name,
            VerdictClass::token_terminal);
  EXPECT_EQ(judge_http(spec, answer(400, R"({"code":"7"})"), kNow).reason, "http_400 7");
  EXPECT_EQ(judge_http(spec, answer(400, R"({"code":8})"), kNow).name, VerdictClass::payload_error);
  EXPECT_EQ(judge_http(spec, answer(400, R"({"code":7)"), kNow).name, VerdictClass::payload_error);
}

// Many APIs repeat the text in their answer; whatever stands in it, the receipt is the proof.
TEST(HttpAnswers, TextSomewhereSaysNothingAgainstAReceipt) {
  HttpSpec spec;
  spec.receipt_pointer = "/id";
  spec.answers = {rule(0, VerdictClass::throttled)};
  spec.answers[0].text = {"limit"};
  EXPECT_EQ(judge_http(spec, answer(201, R"({"id":"m1","body":"no limit"})"), kNow).name,
            VerdictClass::accepted);
  EXPECT_EQ(judge_http(spec, answer(429, R"({"error":"limit"})"), kNow).name,
            VerdictClass::throttled);
  spec.answers[0].status = {{201, 201}};  // said of this very answer
  EXPECT_EQ(judge_http(spec, answer(201, R"({"id":"m1","body":"no limit"})"), kNow).name,
            VerdictClass::throttled);
}

// A form handler may answer 303 after it has done everything: repeated by probes it would be done
// again with each.
TEST(HttpAnswers, WhatMayHaveBeenDoneIsInDoubtUnlessALineSaysOtherwise) {
  HttpSpec spec;
  for (const int status : {301, 302, 303, 408, 500, 503})
    EXPECT_EQ(judge_http(spec, answer(status), kNow).effect, Effect::maybe_sent) << status;
  for (const int status : {307, 308, 400, 401, 429})
    EXPECT_EQ(judge_http(spec, answer(status), kNow).effect, Effect::not_sent) << status;
  spec.answers = {rule(503, VerdictClass::throttled), rule(500, VerdictClass::config_error)};
  EXPECT_EQ(judge_http(spec, answer(503), kNow).effect, Effect::maybe_sent);
  EXPECT_EQ(judge_http(spec, answer(500), kNow).effect, Effect::maybe_sent);
  spec.answers[0].effect = Effect::not_sent;
  EXPECT_EQ(judge_http(spec, answer(503), kNow).effect, Effect::not_sent);
}

TEST(HttpAnswers, WhatMayHaveBeenDoneEndsNoDestination) {
  HttpSpec spec;
  for (const VerdictClass verdict : {VerdictClass::token_terminal, VerdictClass::token_mismatch}) {
    spec.answers = {rule(0, verdict)};
    spec.answers[0].pointer = "/code";
    spec.answers[0].effect = Effect::not_sent;
    for (const int status : {302, 408, 500, 502, 503, 504}) {
      const Verdict v = judge_http(spec, answer(status, R"({"code":7})"), kNow);
      EXPECT_EQ(v.name, VerdictClass::ambiguous) << status;
      EXPECT_EQ(v.effect, Effect::maybe_sent) << status;
    }
    for (const int status : {200, 400, 404, 410, 422})
      EXPECT_EQ(judge_http(spec, answer(status, R"({"code":7})"), kNow).name, verdict) << status;
  }
}

// A token of another app gets the same answer; a number has no app.
TEST(HttpAnswers, ATokenEndsOnlyOnceTheCredentialWasAccepted) {
  HttpSpec spec;
  spec.answers = {rule(400, VerdictClass::token_terminal)};
  spec.answers[0].pointer = "/code";
  spec.channel = Channel::push;
  EXPECT_TRUE(judge_http(spec, answer(400, R"({"code":7})"), kNow).needs_proof);
  spec.channel = Channel::sms;
  EXPECT_FALSE(judge_http(spec, answer(400, R"({"code":7})"), kNow).needs_proof);
}

TEST(HttpAnswers, AcceptedNeedsItsReceipt) {
  HttpSpec spec;
  spec.receipt_pointer = "/id";
  const Verdict with = judge_http(spec, answer(202, R"({"id":17})"), kNow);
  EXPECT_EQ(with.effect, Effect::sent);
  EXPECT_EQ(with.message_id, "17");
  spec.answers = {rule(202, VerdictClass::accepted)};
  for (const char* body :
       {"", "{}", R"({"id":null})", R"({"id":{}})", R"({"id":"a b"})", R"({"id":)"}) {
    const Verdict without = judge_http(spec, answer(202, body), kNow);
    EXPECT_EQ(without.effect, Effect::maybe_sent) << body;
    EXPECT_TRUE(without.receipt_missing) << body;
  }
  spec.receipt_pointer.clear();
  EXPECT_EQ(judge_http(spec, answer(202), kNow).effect, Effect::sent);
  spec.receipt_header = "x-id";
  EXPECT_EQ(judge_http(spec, answer(202), kNow).effect, Effect::maybe_sent);
  EXPECT_EQ(judge_http(spec, answer(202, "", {{"x-id", "m"}}), kNow).message_id, "m");
}

TEST(HttpAnswers, AServerErrorMayHaveSent) {
  HttpSpec spec;
  for (const int status : {500, 502, 503, 504, 599}) {
    const Verdict v = judge_http(spec, answer(status), kNow);
    EXPECT_EQ(v.name, VerdictClass::ambiguous) << status;
    EXPECT_EQ(v.effect, Effect::maybe_sent) << status;
  }
  spec.idempotency.header = "idempotency-key";
  const Verdict v = judge_http(spec, answer(503, "", {{"retry-after", "7"}}), kNow);
  EXPECT_EQ(v.name, VerdictClass::retryable);
  EXPECT_EQ(v.effect, Effect::maybe_sent);
  EXPECT_EQ(v.retry_after, seconds(7));
}

TEST(HttpAnswers, TryAgainDoesNotMeanThatNothingWasDone) {
  HttpSpec spec;
  spec.answers = {rule(409, VerdictClass::retryable)};
  EXPECT_EQ(judge_http(spec, answer(409), kNow).effect, Effect::maybe_sent);
  spec.answers[0].effect = Effect::not_sent;
  EXPECT_EQ(judge_http(spec, answer(409), kNow).effect, Effect::not_sent);
}

TEST(HttpAnswers, WaitsAsLongAsIsNamed) {
  HttpSpec spec;
  spec.answers = {rule(0, VerdictClass::throttled)};
  spec.answers[0].text = {"limit"};
  spec.answers[0].retry_after = seconds(5);
  spec.answers[0].retry_pointer = "/wait";
  EXPECT_EQ(judge_http(spec, answer(400, "limit"), kNow).retry_after, seconds(5));
  EXPECT_EQ(judge_http(spec, answer(400, R"({"m":"limit","wait":9})"), kNow).retry_after,
            seconds(9));
  EXPECT_EQ(judge_http(spec, answer(400, "limit", {{"retry-after", "3"}}), kNow).retry_after,
            seconds(3));
  EXPECT_EQ(judge_http(spec, answer(429), kNow).retry_after, minutes(1));
}

TEST(HttpAnswers, WaitsAsLongAsAHeaderOfItsOwnSays) {
  HttpSpec spec;
  spec.answers = {rule(429, VerdictClass::throttled)};
  spec.answers[0].retry_header = "x-reset";
  spec.answers[0].retry_after = seconds(5);
  const auto wait = [&](const char* value) {
    return judge_http(spec, answer(429, "", {{"x-reset", value}}), kNow).retry_after;
  };
  EXPECT_EQ(wait("40"), seconds(40));
  EXPECT_EQ(wait(" 0"), seconds(1));
  EXPECT_EQ(wait("999999999"), hours(24 * 7));  // the longest that is waited for
  EXPECT_EQ(wait("1795953690"), seconds(90));   // kNow and 90 s
  EXPECT_EQ(wait("1795953600"), seconds(1));
  EXPECT_EQ(wait("Sun, 29 Nov 2026 12:00:20 GMT"), seconds(20));
  // What has passed, or is no time at all, says nothing.
  for (const char* nothing :
       {"1795953599", "1000000000", "-3", "", "soon", "9223372036854775807", "99999999999999999999",
        "1795953690000", "Sun, 29 Nov 2026 11:00:20 GMT"})
    EXPECT_EQ(wait(nothing), seconds(5)) << nothing;
  EXPECT_EQ(judge_http(spec, answer(429), kNow).retry_after, seconds(5));
}

TEST(HttpAnswers, ATimeInAHeaderIsOneOfTheServersClock) {
  HttpSpec spec;
  spec.answers = {rule(429, VerdictClass::throttled)};
  spec.answers[0].retry_header = "x-reset";
  // Half an hour behind ours: 30 s from the server's now.
  const auto behind =
      answer(429, "", {{"x-reset", "1795951830"}, {"date", "Sun, 29 Nov 2026 11:30:00 GMT"}});
  EXPECT_EQ(judge_http(spec, behind, kNow).retry_after, seconds(30));
}

TEST(HttpAnswers, RetryAfterComesBeforeTheOtherPlaces) {
  HttpSpec spec;
  spec.answers = {rule(429, VerdictClass::throttled)};
  spec.answers[0].retry_header = "x-reset";
  spec.answers[0].retry_pointer = "/wait";
  EXPECT_EQ(judge_http(spec, answer(429, R"({"wait":9})", {{"x-reset", "8"}}), kNow).retry_after,
            seconds(9));
  EXPECT_EQ(
      judge_http(spec, answer(429, R"({"wait":9})", {{"x-reset", "8"}, {"retry-after", "7"}}), kNow)
          .retry_after,
      seconds(7));
}

TEST(HttpAnswers, AFailureIsWhatTheTransportProved) {
  const HttpSpec spec;
  EXPECT_EQ(judge_http(spec, failure(Effect::not_sent, Cause::connect), kNow).effect,
            Effect::not_sent);
  EXPECT_EQ(judge_http(spec, failure(Effect::maybe_sent, Cause::timed_out), kNow).name,
            VerdictClass::ambiguous);
}

}  // namespace
}  // namespace sendonce::test
