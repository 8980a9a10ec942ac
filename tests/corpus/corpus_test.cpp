// Every recorded answer gets the verdict it deserves, with and without its context.
#include "tests/corpus/corpus.hpp"

#include <map>

#include <gtest/gtest.h>

#include "classifiers/classify_lines.hpp"

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

Json context_of(const std::string& when) {
  if (when.starts_with("registration environment differs")) return {{"environment_differs", true}};
  if (when.starts_with("this exact URL was accepted")) return {{"path_proven", true}};
  if (when.find("last-stream-id") != std::string::npos) return {{"last_stream_below_ours", true}};
  ADD_FAILURE() << "a context that nobody understands: " << when;
  return {};
}

// What no single answer and nothing that we remember tells: only an operator sees it, in the holds
// and in the share of invalidations.
bool is_beyond_one_answer(const std::string& when) {
  return when == "every send to this origin fails with it" ||
         when == "endpoint URL was rewritten or truncated by us" ||
         when == "freshly made subscriptions also get 401" ||
         when == "enhanced code is 5.1.1 or 5.1.10";  // another answer: smtp_answers_test.cpp
}

TEST(Corpus, context_changes_what_it_should) {
  int seen = 0;
  for (Json line : corpus()) {
    if (line["alt"].is_null() || is_beyond_one_answer(line["alt"]["when"])) continue;
    ++seen;
    line["context"] = context_of(line["alt"]["when"]);
    EXPECT_EQ(classified(line)["class"], line["alt"]["class"]) << line.dump();
  }
  EXPECT_EQ(seen, 5);
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
