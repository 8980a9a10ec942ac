// An operator's lines before the table of a provider that knows its answers itself: they may say
// what an unknown answer means, and may not say more than an answer can.
#include "classifiers/answer_rules.hpp"

#include <gtest/gtest.h>

#include "classifiers/apns/apns_answers.hpp"
#include "classifiers/fcm/fcm_answers.hpp"
#include "tests/unit/classifiers/fixtures.hpp"

namespace sendonce::test {
namespace {

AnswerRule reason_is(const std::string& text, VerdictClass verdict) {
  AnswerRule rule;
  rule.pointer = "/reason";
  rule.equals = {text};
  rule.verdict = verdict;
  return rule;
}

AnswerRule status_is(StatusRange range, VerdictClass verdict) {
  AnswerRule rule;
  rule.status = {range};
  rule.verdict = verdict;
  return rule;
}

Verdict apns(const std::vector<AnswerRule>& rules, const CallResult& result,
             std::optional<WallTime> registered = {}) {
  return amended(rules, result, judge_apns(result, registered, kNow), kNow);
}

CallResult with_id(int status, std::string body) {
  HttpAnswer out = answer(status, std::move(body));
  out.headers.add("apns-id", "11111111-2222-3333-4444-555555555555");
  return out;
}

TEST(AnswerRules, the_first_line_that_matches_decides) {
  const std::vector<AnswerRule> rules{reason_is("NewReason", VerdictClass::throttled),
                                      reason_is("NewReason", VerdictClass::payload_error)};
  const Verdict v = apns(rules, answer(400, R"({"reason":"NewReason"})"));
  EXPECT_EQ(v.name, VerdictClass::throttled);
  EXPECT_EQ(v.effect, Effect::not_sent);
  EXPECT_EQ(v.reason, "http_400 NewReason");
  EXPECT_EQ(apns(rules, answer(400, R"({"reason":"BadTopic"})")).name, VerdictClass::config_error)
      << "what no line knows is the built-in table's";
}

TEST(AnswerRules, a_line_comes_before_the_built_in_table) {
  const std::vector<AnswerRule> rules{reason_is("BadTopic", VerdictClass::payload_error)};
  EXPECT_EQ(apns(rules, answer(400, R"({"reason":"BadTopic"})")).name, VerdictClass::payload_error);
}

TEST(AnswerRules, a_receipt_and_a_transport_stand_above_every_line) {
  const std::vector<AnswerRule> rules{status_is({200, 599}, VerdictClass::retryable)};
  const Verdict taken = apns(rules, with_id(200, ""));
  EXPECT_EQ(taken.name, VerdictClass::accepted);
  EXPECT_EQ(taken.effect, Effect::sent);
  const Verdict lost = apns(rules, failure(Effect::maybe_sent, Cause::reset));
  EXPECT_EQ(lost.name, VerdictClass::ambiguous);
  const Verdict refused = apns(rules, failure(Effect::not_sent, Cause::refused));
  EXPECT_EQ(refused.effect, Effect::not_sent);
}

TEST(AnswerRules, no_line_accepts_anything) {
  const std::vector<AnswerRule> rules{status_is({200, 299}, VerdictClass::accepted)};
  const Verdict v = apns(rules, answer(200, ""));
  EXPECT_NE(v.name, VerdictClass::accepted);
  EXPECT_EQ(v.effect, Effect::maybe_sent);
}

TEST(AnswerRules, a_device_ends_only_once_the_credential_was_accepted) {
  const std::vector<AnswerRule> rules{reason_is("TokenIsGone", VerdictClass::token_terminal)};
  const Verdict v = apns(rules, answer(400, R"({"reason":"TokenIsGone"})"));
  EXPECT_EQ(v.name, VerdictClass::token_terminal);
  EXPECT_EQ(v.scope, FaultScope::device);
  EXPECT_TRUE(v.needs_proof);
  EXPECT_EQ(in_light_of(v, false).name, VerdictClass::token_mismatch);
  EXPECT_EQ(in_light_of(v, true).name, VerdictClass::token_terminal);
}

TEST(AnswerRules, nothing_that_may_have_been_sent_ends_a_device) {
  AnswerRule gone = reason_is("Gone", VerdictClass::token_terminal);
  gone.effect = Effect::not_sent;
  const std::vector<AnswerRule> rules{gone};
  for (const int status : {302, 408, 500, 503, 599}) {
    const Verdict v = apns(rules, answer(status, R"({"reason":"Gone"})"));
    EXPECT_EQ(v.name, VerdictClass::ambiguous) << status;
    EXPECT_EQ(v.effect, Effect::maybe_sent) << status;
    EXPECT_NE(v.fault, Fault::device) << status;
  }
}

// What the answer says of time stays: a registration that is newer than the provider's moment.
TEST(AnswerRules, a_newer_registration_is_kept) {
  const std::vector<AnswerRule> rules{reason_is("Unregistered", VerdictClass::token_terminal)};
  const auto result = answer(410, R"({"reason":"Unregistered","timestamp":1520467200000})");
  EXPECT_TRUE(apns(rules, result, kNow).ignore_device);
  EXPECT_TRUE(apns(rules, result, kNow).invalid_since.has_value());
}

TEST(AnswerRules, a_server_error_stays_maybe_sent_unless_the_line_says_otherwise) {
  std::vector<AnswerRule> rules{status_is({503, 503}, VerdictClass::throttled)};
  const auto result = answer(503, R"({"error":{"status":"UNAVAILABLE"}})");
  EXPECT_EQ(amended(rules, result, judge_fcm(result, kNow), kNow).effect, Effect::maybe_sent);
  rules[0].effect = Effect::not_sent;
  EXPECT_EQ(amended(rules, result, judge_fcm(result, kNow), kNow).effect, Effect::not_sent);
}

TEST(AnswerRules, damaged_bodies_meet_no_line) {
  const std::vector<AnswerRule> rules{reason_is("TokenIsGone", VerdictClass::token_terminal)};
  const std::string whole = R"({"reason":"TokenIsGone"})";
  for (std::size_t cut = 0; cut < whole.size(); ++cut)
    EXPECT_NE(apns(rules, answer(400, whole.substr(0, cut))).fault, Fault::device) << cut;
  for (const std::string& body :
       {"<html>" + whole, std::string(R"({"reason":"x","reason":"TokenIsGone"})"),
        std::string(100'000, '['), std::string(std::size_t{1} << 20U, ' ') + whole})
    EXPECT_NE(apns(rules, answer(400, body)).fault, Fault::device) << body.substr(0, 40);
}

}  // namespace
}  // namespace sendonce::test
