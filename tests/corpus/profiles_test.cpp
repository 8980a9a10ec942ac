// The shipped profiles: each is read without a finding, and gives every recorded answer of its
// provider the verdict that it deserves.
#include "tests/corpus/profiles.hpp"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "classifiers/http/http_answers.hpp"
#include "classifiers/http/http_lookup.hpp"
#include "classifiers/http/http_provider.hpp"

namespace sendonce::test {
namespace {

TEST(Profiles, hold_what_they_should) {
  std::vector<std::string> names;
  for (const auto& [name, provider] : profiles()) names.push_back(name);
  EXPECT_THAT(names,
              testing::ElementsAre("emailit", "huawei", "mailersend", "mailgun", "messagebird",
                                   "postmark", "resend", "sendgrid", "ses", "ses-v1", "sinch",
                                   "telnyx", "twilio", "vonage", "webhook"));
}

TEST(Profiles, every_line_has_its_class_and_effect) {
  const auto all = profiles();
  std::map<std::string, int> count;
  for (const Json& line : profile_lines()) {
    const auto out = classify_line(line.dump(), 1, kNow, judge_of(all));
    ASSERT_TRUE(out) << out.error().text;
    const Json verdict = Json::parse(*out);
    EXPECT_EQ(verdict["class"], line["expected_class"]) << line.dump() << '\n' << *out;
    const std::string effect = line["expected_class"] == "accepted" ? "sent"
                               : line["maybe_sent"].get<bool>()     ? "maybe_sent"
                                                                    : "not_sent";
    EXPECT_EQ(verdict["effect"], effect) << line.dump() << '\n' << *out;
    ++count[line.at("provider")];
  }
  EXPECT_EQ(count["twilio"], 9);
  EXPECT_EQ(count["resend"], 6);
  EXPECT_EQ(count["vonage"], 4);
  EXPECT_EQ(count["huawei"], 18);
  EXPECT_EQ(count["ses"], 11);
}

// The form of both vendors' searches, as their API references have it.
TEST(Profiles, can_be_asked_where_the_vendor_can) {
  const auto all = profiles();
  const auto look = [&](const char* name, const char* body) {
    HttpAnswer answer;
    answer.status = 200;
    answer.body = body;
    return judge_lookup(all.at(name).http, answer, kNow);
  };
  EXPECT_EQ(look("sinch", R"({"page":0,"page_size":1,"count":0,"batches":[]})").look, Look::absent);
  const LookAnswer batch = look(
      "sinch", R"({"page":0,"page_size":1,"count":1,"batches":[{"id":"01FC66621XXXXX119Z8PMV1QPQ",)"
               R"("to":["15555550100"],"client_reference":"k"}]})");
  EXPECT_EQ(batch.look, Look::found);
  EXPECT_EQ(batch.message_id, "01FC66621XXXXX119Z8PMV1QPQ");
  EXPECT_EQ(look("postmark", R"({"TotalCount":0,"Messages":[]})").look, Look::absent);
  EXPECT_EQ(look("postmark", R"({"TotalCount":1,"Messages":[{"MessageID":"0a129aee-e1cd",)"
                             R"("Status":"Sent"}]})")
                .look,
            Look::found);
  for (const auto& [name, provider] : all) {
    const bool can = name == "sinch" || name == "postmark";
    EXPECT_EQ(!provider.http.lookup.path.empty(), can) << name;
  }
}

// https://www.twilio.com/docs/sendgrid/api-reference/how-to-use-the-sendgrid-v3-api/rate-limits has
// this time; https://resend.com/docs/api-reference/rate-limit this header.
TEST(Profiles, wait_until_the_window_of_a_rate_begins_anew) {
  const auto all = profiles();
  HttpAnswer sendgrid;
  sendgrid.status = 429;
  sendgrid.headers.add("date", "Wed, 19 Feb 2014 13:07:13 GMT");
  sendgrid.headers.add("x-ratelimit-limit", "150");
  sendgrid.headers.add("x-ratelimit-remaining", "0");
  sendgrid.headers.add("x-ratelimit-reset", "1392815263");
  sendgrid.body = R"({"errors":[{"field":null,"message":"too many requests"}]})";
  const Verdict of_sendgrid = judge_http(all.at("sendgrid").http, sendgrid, kNow);
  EXPECT_EQ(of_sendgrid.name, VerdictClass::throttled);
  EXPECT_EQ(of_sendgrid.scope, FaultScope::provider);
  EXPECT_EQ(of_sendgrid.retry_after, std::chrono::seconds(30));

  HttpAnswer resend;
  resend.status = 429;
  resend.headers.add("ratelimit-limit", "2");
  resend.headers.add("ratelimit-remaining", "0");
  resend.headers.add("ratelimit-reset", "3");
  resend.body = R"({"statusCode":429,"name":"rate_limit_exceeded","message":"Too many requests."})";
  const Verdict of_resend = judge_http(all.at("resend").http, resend, kNow);
  EXPECT_EQ(of_resend.name, VerdictClass::throttled);
  EXPECT_EQ(of_resend.retry_after, std::chrono::seconds(3));
}

TEST(Profiles, make_a_request_of_a_notification) {
  for (const auto& [name, config] : profiles()) {
    auto provider = make_http_provider({.spec = config.http,
                                        .endpoint = config.endpoint,
                                        .token_endpoint = config.token_endpoint,
                                        .secret = Credential("user:secret")});
    ASSERT_TRUE(provider.has_value()) << name << ": " << provider.error().text;
    if (const auto asked = (*provider)->needs_auth(kNow)) {
      HttpAnswer token;
      token.status = 200;
      token.body = R"({"access_token":"t","expires_in":3600})";
      EXPECT_EQ((*provider)->accept_auth(token, kNow).name, VerdictClass::accepted) << name;
    }
    Notification note{.event_id = "e", .recipient = "u", .channel = config.http.channel};
    note.content.title = "On its way";
    note.content.body = "Parcel \"8812\" left";
    Target target{.destination = Destination(destination_on(config.http.channel))};
    const Key key{};
    const NidDigest nid{};
    const auto request = (*provider)->prepare({note, target, key, nid, "c", WallTime::max()}, kNow);
    ASSERT_TRUE(request.has_value()) << name << ": " << request.error().text;
    if (config.http.json) {
      EXPECT_TRUE(Json::accept(request->body)) << name << ": " << request->body;
    }
    if ((*provider)->capabilities().lookup) {
      const auto question =
          (*provider)->prepare_lookup({note, target, key, nid, "c", WallTime::max()}, kNow);
      ASSERT_TRUE(question.has_value()) << name << ": " << question.error().text;
      EXPECT_THAT(question->url, testing::HasSubstr(std::string(64, '0'))) << name;
    }
    EXPECT_EQ(request->body.find("html"), std::string::npos) << name << ": " << request->body;
    // Until the end of time, but for what the vendor takes at most.
    if (name == "twilio") {
      EXPECT_THAT(request->body, testing::HasSubstr("ValidityPeriod=36000"));
    }
    if (name == "huawei") {
      EXPECT_THAT(request->body, testing::HasSubstr(R"("ttl":"1296000s")"));
    }
  }
}

}  // namespace
}  // namespace sendonce::test
