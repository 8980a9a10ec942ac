#include "tests/support/script.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace sendonce::test {
namespace {

Script parsed(const std::string& text) {
  auto script = Script::parse(text, "s.toml");
  EXPECT_TRUE(script) << script.error().text;
  return script ? std::move(*script) : Script{};
}

std::string error_of(const std::string& text) {
  const auto script = Script::parse(text, "s.toml");
  EXPECT_FALSE(script) << text;
  return script ? "" : script.error().text;
}

// Which of `n` requests for a token the script hits, as a string of 0 and 1.
std::string hits(Script& script, int n, std::string_view token = "aa",
                 ProviderKind provider = ProviderKind::apns) {
  std::string out;
  for (int i = 0; i < n; ++i) {
    out += script.match({.provider = provider, .token = token}) == nullptr ? '0' : '1';
  }
  return out;
}

TEST(Script, patterns) {
  EXPECT_TRUE(matches_pattern("dead*", "dead"));
  EXPECT_TRUE(matches_pattern("*beef*", "deadbeef00"));
  EXPECT_TRUE(matches_pattern("a?c*e", "abcddde"));
  EXPECT_TRUE(matches_pattern("*", ""));
  EXPECT_FALSE(matches_pattern("dead*", "adead"));
  EXPECT_FALSE(matches_pattern("a?c", "ac"));
  EXPECT_FALSE(matches_pattern("", "a"));
  EXPECT_FALSE(matches_pattern("a*b*c", "acb"));
}

TEST(Script, nothing_matches_an_empty_one) {
  Script script = parsed("");
  EXPECT_TRUE(script.empty());
  EXPECT_EQ(hits(script, 2), "00");
}

TEST(Script, counts_the_requests_that_reach_a_rule) {
  Script nth = parsed("[[rule]]\nnth = [1, 3]\nstatus = 503");
  EXPECT_EQ(hits(nth, 5), "10100");
  Script every = parsed("[[rule]]\nevery = 2\nstatus = 503");
  EXPECT_EQ(hits(every, 5), "01010");
  Script window = parsed("[[rule]]\nfrom = 2\nuntil = 4\nstatus = 503");
  EXPECT_EQ(hits(window, 5), "01100");
  Script chosen = parsed("[[rule]]\ntoken = \"b*\"\nnth = 1\nstatus = 503");
  EXPECT_EQ(hits(chosen, 2, "aa"), "00");
  EXPECT_EQ(hits(chosen, 2, "bb"), "10");
  Script kinds = parsed("[[rule]]\nprovider = \"fcm\"\nstatus = 503");
  EXPECT_EQ(hits(kinds, 1), "0");
  EXPECT_EQ(hits(kinds, 1, "t", ProviderKind::fcm), "1");
}

TEST(Script, counts_per_token_when_asked) {
  Script script = parsed("[[rule]]\nper_token = true\nnth = 1\nstatus = 503");
  EXPECT_EQ(hits(script, 2, "aa"), "10");
  EXPECT_EQ(hits(script, 2, "bb"), "10");
}

TEST(Script, the_first_rule_that_fires_decides) {
  Script script = parsed("[[rule]]\nnth = 1\nstatus = 500\n[[rule]]\nnth = 1\nstatus = 503");
  EXPECT_EQ(script.match({})->status, 500);
  EXPECT_EQ(script.match({})->status, 503);
  EXPECT_EQ(script.match({}), nullptr);
}

TEST(Script, chance_is_the_same_in_every_run) {
  const std::string text = "[[rule]]\nprobability = 0.3\nseed = 7\nstatus = 503";
  Script one = parsed(text);
  Script two = parsed(text);
  const std::string drawn = hits(one, 1000);
  EXPECT_EQ(drawn, hits(two, 1000));
  const auto n = std::ranges::count(drawn, '1');
  EXPECT_GT(n, 240);
  EXPECT_LT(n, 360);
  Script other = parsed("[[rule]]\nprobability = 0.3\nseed = 8\nstatus = 503");
  EXPECT_NE(drawn, hits(other, 1000));
}

TEST(Script, time_windows) {
  Script script = parsed("[[rule]]\nfrom = \"2s\"\nuntil = \"1m\"\nstatus = 503");
  const auto at = [&](Duration since) { return script.match({.since_start = since}) != nullptr; };
  EXPECT_FALSE(at(std::chrono::milliseconds(1999)));
  EXPECT_TRUE(at(std::chrono::seconds(2)));
  EXPECT_TRUE(at(std::chrono::seconds(59)));
  EXPECT_FALSE(at(std::chrono::seconds(60)));
}

TEST(Script, stages_do_not_mix) {
  Script script = parsed("[[rule]]\nat = \"headers\"\nclose = \"fin\"");
  EXPECT_EQ(script.match({.stage = Stage::request}), nullptr);
  EXPECT_NE(script.match({.stage = Stage::headers}), nullptr);
}

TEST(Script, what_counts_as_processed) {
  EXPECT_FALSE(parsed("[[rule]]\nstatus = 503").match({})->processed);
  EXPECT_FALSE(parsed("[[rule]]\nreason = \"Unregistered\"").match({})->processed);
  EXPECT_TRUE(parsed("[[rule]]\nstatus = 503\nprocessed = true").match({})->processed);
  EXPECT_TRUE(parsed("[[rule]]\ndelay = \"1s\"").match({})->processed);
  EXPECT_TRUE(parsed("[[rule]]\ncut = \"body\"").match({})->processed);
  EXPECT_FALSE(parsed("[[rule]]\ngoaway = { last = \"below\" }").match({})->processed);
}

TEST(Script, a_mail_server_can_only_say_what_there_is_in_its_protocol) {
  const std::string smtp = "[[rule]]\nprovider = \"smtp\"\n";
  EXPECT_EQ(error_of(smtp + "reason = \"busy\""),
            "s.toml:3: a mail server gives a reason with a status only");
  EXPECT_EQ(error_of(smtp + "status = 421\nclose = \"rst\"\nprocessed = false"),
            "s.toml:3: a mail server that ends the dialogue or stalls says nothing");
  EXPECT_EQ(error_of(smtp + "goaway = { last = \"below\" }"),
            "s.toml:3: goaway means nothing to a mail server");
}

TEST(Script, errors_name_file_and_line) {
  EXPECT_EQ(error_of("[[rule]]\nstatus = 503\n\ncolour = 1"), "s.toml:4: unknown key 'colour'");
  EXPECT_EQ(error_of("[[rule]]\nstatus = 99"),
            "s.toml:2: status must be a whole number from 200 to 599");
  EXPECT_EQ(error_of("[[rule]]\nstatus = 503\ndelay = 5"),
            "s.toml:3: delay must be a duration such as \"200ms\", \"5s\", \"1m\"");
  EXPECT_EQ(error_of("[[rule]]\nprovider = \"sms\"\nstatus = 500"),
            "s.toml:2: provider must be one of apns, fcm, oauth, webpush, http, smtp");
  EXPECT_EQ(error_of("[[rule]]\n\nreset = \"OOPS\"\nprocessed = true"),
            "s.toml:3: reset must be an HTTP/2 error code such as \"REFUSED_STREAM\"");
  EXPECT_EQ(error_of("[[rule]]\nprobability = 1.5\nstatus = 500"),
            "s.toml:2: probability must be from 0 to 1");
  EXPECT_EQ(error_of("[[rule]]\nsettings = { windows = 3 }"),
            "s.toml:2: unknown setting 'windows'");
  EXPECT_TRUE(
      error_of("[[rule]]\ngoaway = { last = \"never\" }").starts_with("s.toml:2: last must"));
  EXPECT_TRUE(error_of("[[rule]]\nstatus = = 1").starts_with("s.toml:2: not TOML"));
  EXPECT_TRUE(error_of("rules = 1").starts_with("s.toml:1: unknown key 'rules'"));
  EXPECT_TRUE(error_of("rule = 1").starts_with("s.toml: write rules as [[rule]]"));
}

TEST(Script, contradictions_are_errors) {
  EXPECT_NE(error_of("[[rule]]\nclose = \"fin\"").find("say whether"), std::string::npos);
  EXPECT_NE(error_of("[[rule]]\nreset = 2").find("say whether"), std::string::npos);
  EXPECT_NE(error_of("[[rule]]\nstall = \"stream\"").find("say whether"), std::string::npos);
  EXPECT_NE(error_of("[[rule]]\nclose = \"fin\"\nreset = 2\nprocessed = true").find("only one of"),
            std::string::npos);
  EXPECT_NE(error_of("[[rule]]\nat = \"headers\"\nclose = \"fin\"\nprocessed = true")
                .find("cannot be processed"),
            std::string::npos);
  EXPECT_NE(error_of("[[rule]]\nat = \"headers\"\ndelay = \"1s\"").find("needs a status"),
            std::string::npos);
  EXPECT_NE(error_of("[[rule]]\nprovider = \"fcm\"\ntoken = \"a\"\nat = \"headers\"\nstatus = 500")
                .find("not known"),
            std::string::npos);
}

// Found by fuzzing: toml11 reads past the end of such a literal string.
TEST(Script, what_is_not_utf8_is_refused_unread) {
  EXPECT_EQ(error_of("\n'[\xe7\xff\xff\xff\xff\xff\xff'"), "s.toml:2: not UTF-8");
}

TEST(Script, a_missing_file_is_an_error) {
  const auto script = Script::load("/no/such/script.toml");
  ASSERT_FALSE(script);
  EXPECT_EQ(script.error().text, "/no/such/script.toml: cannot be read");
}

}  // namespace
}  // namespace sendonce::test
