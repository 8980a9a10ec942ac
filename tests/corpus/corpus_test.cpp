// Every recorded answer gets the verdict it deserves, with and without its context.
#include "tests/corpus/corpus.hpp"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "classifiers/classify_lines.hpp"
#include "classifiers/registry.hpp"
#include "plugin/core/random.hpp"
#include "plugin/pipeline/hygiene.hpp"
#include "plugin/pipeline/policy.hpp"
#include "tests/corpus/profiles.hpp"

namespace sendonce::test {
namespace {

Json classified(const Json& line) {
  const auto out = classify_line(line.dump(), 1, kNow);
  EXPECT_TRUE(out) << out.error().text;
  return out ? Json::parse(*out) : Json::object();
}

TEST(Corpus, holds_what_it_should) {
  std::map<std::string, int> count;
  for (const Json& line : corpus()) ++count[line.at("provider")];
  EXPECT_EQ(count["apns"], 30);
  EXPECT_EQ(count["fcm"], 20);
  EXPECT_EQ(count["fcm-legacy"], 4);
  EXPECT_EQ(count["fcm-oauth"], 2);
  EXPECT_EQ(count["smtp"], 6);
  EXPECT_EQ(count["transport"], 20);
  EXPECT_EQ(count["twilio-callback"], 1);
  EXPECT_EQ(count["webpush-apple"], 7);
  EXPECT_EQ(count["webpush-fcm"], 7);
  EXPECT_EQ(count["webpush-mozilla"], 7);
  EXPECT_EQ(count["webpush-wns"], 4);
}

TEST(Corpus, every_line_has_its_class) {
  for (const Json& line : corpus()) {
    const Json verdict = classified(line);
    EXPECT_EQ(verdict["class"], line["expected_class"]) << line.dump() << '\n' << verdict.dump();
    EXPECT_EQ(verdict["id"], line["id"]);
  }
}

TEST(Corpus, every_line_has_its_effect) {
  for (const Json& line : corpus()) {
    const Json verdict = classified(line);
    const std::string want = line["expected_class"] == "accepted" ? "sent"
                             : line["maybe_sent"].get<bool>()     ? "maybe_sent"
                                                                  : "not_sent";
    EXPECT_EQ(verdict["effect"], want) << line.dump() << '\n' << verdict.dump();
  }
}

// The line as its `alt` has it: the same answer in another context, or with what it lacks. False:
// it takes more than one answer, see below.
bool in_other_light(Json& line) {
  const std::string when = line["alt"]["when"];
  const auto with = [&](const char* flag) { line["context"] = {{flag, true}}; };
  if (when.starts_with("registration environment differs"))
    with("environment_differs");
  else if (when.starts_with("this exact URL was accepted"))
    with("path_proven");
  else if (when.find("last-stream-id") != std::string::npos)
    with("last_stream_below_ours");
  else if (when == "enhanced code is 5.1.1 or 5.1.10")
    line["body"] = "550-5.1.1 mailbox unavailable\r\n550 5.1.1 Failure sending mail";
  else if (when == "sender domain not verified")
    line["body"] = R"({"message":"The from.email domain must be verified. #MS42207"})";
  else
    return false;
  return true;
}

std::vector<Json> lines_with_alt() {
  std::vector<Json> out;
  for (const auto& lines : {corpus(), profile_lines()})
    for (const Json& line : lines)
      if (!line["alt"].is_null()) out.push_back(line);
  return out;
}

TEST(Corpus, context_changes_what_it_should) {
  const auto all = profiles();
  std::vector<std::string> beyond;
  int seen = 0;
  for (Json line : lines_with_alt()) {
    if (!in_other_light(line)) {
      beyond.push_back(line["id"]);
      continue;
    }
    ++seen;
    const auto out = classify_line(line.dump(), 1, kNow, judge_of(all));
    ASSERT_TRUE(out) << out.error().text;
    EXPECT_EQ(Json::parse(*out)["class"], line["alt"]["class"]) << line.dump();
  }
  EXPECT_EQ(seen, 7);
  // The first only an operator sees: its notifications fail, and the metric of its verdict says so.
  EXPECT_THAT(beyond,
              testing::UnorderedElementsAre("wp-apple-014", "wp-fcm-004", "wp-wns-004", "rs-005"));
}

Verdict judged_line(const std::string& id) {
  for (const Json& line : lines_with_alt()) {
    if (line["id"] != id) continue;
    HttpAnswer answer;
    answer.status = line["http_status"];
    answer.body = line["body"].is_null() ? "" : line["body"].get<std::string>();
    for (const auto& [name, value] : line["headers"].items())
      answer.headers.add(name, value.get<std::string>());
    JudgeContext context;
    context.now = kNow;
    const auto known = judge_answer(line["provider"].get<std::string>(), answer, context);
    if (known) return *known;
    return judge_http(profiles().at(line["provider"]).http, answer, kNow);
  }
  ADD_FAILURE() << id;
  return {};
}

// Everybody gets it, those too who have only just subscribed: nobody is ended for it, and an alarm
// says that it is ours.
TEST(Corpus, what_all_subscriptions_of_a_service_get_is_the_senders_own) {
  for (const char* id : {"wp-fcm-004", "wp-wns-004"}) {
    const Verdict said = judged_line(id);
    ASSERT_EQ(said.name, VerdictClass::token_terminal) << id;
    Hygiene hygiene;
    for (int i = 0; i < 100; ++i) {
      const Verdict v = hygiene.weigh(said);
      EXPECT_EQ(v.fault, Fault::mismatch) << id;
      static_cast<void>(hygiene.believes(v, Target{}));
    }
    EXPECT_TRUE(hygiene.mismatches()) << id;
  }
}

// "No record that the first attempt was accepted": nobody knows, and so it never ends as failed.
TEST(Corpus, a_key_that_was_used_before_leaves_a_doubt) {
  const Verdict v = judged_line("rs-005");
  EXPECT_EQ(v.name, VerdictClass::payload_error);
  EXPECT_EQ(v.effect, Effect::maybe_sent);
  Random random(1);
  for (const Effect carried : {Effect::not_sent, Effect::maybe_sent}) {
    for (const AmbiguityPolicy policy :
         {AmbiguityPolicy::give_up, AmbiguityPolicy::resend, AmbiguityPolicy::resend_with_key}) {
      const Decision d = decide(v,
                                {.carried = carried,
                                 .attempts = 1,
                                 .until_deadline = std::chrono::hours(1),
                                 .policy = policy},
                                {}, random);
      EXPECT_NE(d.state, State::failed);
      EXPECT_FALSE(d.dead_letter);
      if (policy == AmbiguityPolicy::give_up) {
        EXPECT_EQ(d.state, State::unknown);
      }
    }
  }
}

// What the flags of a line promise beyond its class.
// A text or a status that may as well be our own fault ends no subscription before a send with the
// same key has been accepted.
TEST(Corpus, doubtful_ends_of_subscriptions_need_proof) {
  int seen = 0;
  for (Json line : corpus()) {
    if (line["alt"].is_null() || line["expected_class"] != "token_terminal" ||
        !line["provider"].get<std::string>().starts_with("webpush"))
      continue;
    ++seen;
    line["context"] = {{"environment_proven", false}};
    EXPECT_EQ(classified(line)["class"], "token_mismatch") << line.dump();
    line["context"] = {{"environment_proven", true}};
    EXPECT_EQ(classified(line)["class"], "token_terminal") << line.dump();
  }
  EXPECT_EQ(seen, 2);
}

TEST(Corpus, flags_are_kept) {
  for (const Json& line : corpus()) {
    const Json verdict = classified(line);
    for (const std::string flag : line["flags"]) {
      SCOPED_TRACE(line["id"].get<std::string>() + " " + flag + " " + verdict.dump());
      if (flag == "reconnect" && line["provider"] == "apns") {
        EXPECT_TRUE(verdict.contains("reconnect"));
      } else if (flag == "refresh_credential_once") {
        EXPECT_TRUE(verdict.contains("refresh_credential"));
      } else if (flag == "keep_credential") {
        EXPECT_FALSE(verdict.contains("refresh_credential"));
        EXPECT_GE(verdict["retry_after_s"], 20 * 60);
      } else if (flag == "pause_provider") {
        EXPECT_EQ(verdict["scope"], "provider");
      } else if (flag == "scope_push_service") {
        // Of a provider with many services, a part: webpush_provider.cpp.
        EXPECT_NE(verdict["scope"], "device");
      } else if (flag == "throttle_in_406") {
        EXPECT_GE(verdict["retry_after_s"], 60);
      } else if (flag == "confirm_before_purge") {
        EXPECT_TRUE(verdict.contains("needs_proof"));
      } else if (flag == "scope_platform_apns") {
        EXPECT_EQ(verdict["scope"], "part");
        EXPECT_EQ(verdict["part"], "apns");
      } else if (flag == "scope_token_or_topic") {
        EXPECT_EQ(verdict["scope"], "device");
      } else if (flag == "verify_environment") {
        EXPECT_TRUE(verdict.contains("needs_proof"));
      } else if (flag == "compare_timestamp_ms" || flag == "timestamp_missing") {
        EXPECT_TRUE(verdict.contains("invalid_since"));
      } else if (flag == "looks_like_success" || flag == "status_known") {
        EXPECT_TRUE(verdict.contains("receipt_missing"));
      }
    }
  }
}

}  // namespace
}  // namespace sendonce::test
