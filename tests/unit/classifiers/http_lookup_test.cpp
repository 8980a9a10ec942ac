// What answers to a lookup prove: `absent` sends a second copy, so nothing may look like it.
#include "classifiers/http/http_lookup.hpp"

#include <gtest/gtest.h>

#include "classifiers/http/http_provider.hpp"
#include "plugin/core/text.hpp"
#include "tests/unit/classifiers/fixtures.hpp"

namespace sendonce::test {
namespace {

TextTemplate parsed(std::string_view text) {
  auto t = TextTemplate::parse(text, TemplateUse::text);
  EXPECT_TRUE(t.has_value());
  return t.value_or(TextTemplate{});
}

HttpSpec searched() {
  HttpSpec spec;
  spec.channel = Channel::sms;
  spec.version = HttpVersion::one_one;
  spec.path = parsed("/v1/send");
  spec.lookup.path = parsed("/v1/find/{phone_digits}");
  spec.lookup.query = {{"ref", parsed("{key}")}};
  spec.lookup.lag = seconds(30);
  spec.lookup.window = hours(24);
  spec.lookup.receipt_pointer = "/list/0/id";
  LookupRule absent;
  absent.status = {{200, 299}};
  absent.pointer = "/count";
  absent.equals = {"0"};
  absent.look = Look::absent;
  spec.lookup.answers = {absent};
  return spec;
}

Look look_of(const CallResult& result) {
  return judge_lookup(searched(), result, kNow).look;
}

TEST(HttpLookup, FoundCarriesItsReceipt) {
  const LookAnswer a =
      judge_lookup(searched(), answer(200, R"({"count":1,"list":[{"id":"m-7"}]})"), kNow);
  EXPECT_EQ(a.look, Look::found);
  EXPECT_EQ(a.message_id, "m-7");
}

TEST(HttpLookup, AbsentIsOnlyWhatALineSays) {
  EXPECT_EQ(look_of(answer(200, R"({"count":0,"list":[]})")), Look::absent);
  EXPECT_EQ(look_of(answer(200, R"({"list":[]})")), Look::undecided);
  EXPECT_EQ(look_of(answer(200, "<html>ok</html>")), Look::undecided);
  EXPECT_EQ(look_of(answer(200, "")), Look::undecided);
  EXPECT_EQ(look_of(answer(404, R"({"count":0})")), Look::undecided);
  for (const int status : {301, 401, 403, 404, 408, 429, 500, 503})
    EXPECT_EQ(look_of(answer(status)), Look::undecided) << status;
  for (const Effect effect : {Effect::not_sent, Effect::maybe_sent})
    EXPECT_EQ(look_of(failure(effect, Cause::timed_out)), Look::undecided);
}

TEST(HttpLookup, ACutAnswerProvesNothing) {
  const std::string there = R"({"count":1,"list":[{"id":"m-7"}]})";
  const std::string none = R"({"count":0,"list":[]})";
  for (const std::string& body : {there, none})
    for (std::size_t at = 0; at < body.size(); ++at)
      EXPECT_EQ(look_of(answer(200, body.substr(0, at))), Look::undecided) << body.substr(0, at);
  CallFailure cut = failure(Effect::maybe_sent, Cause::connection_lost);
  cut.partial = answer(200, none);
  EXPECT_EQ(look_of(cut), Look::undecided);
}

// Absent is what sends a second copy: only the whole answer of this search says it.
TEST(HttpLookup, NoDamageMakesAnAnswerAbsent) {
  const std::string there = R"({"count":1,"list":[{"id":"m-7"}]})";
  const std::string none = R"({"count":0,"list":[]})";
  ASSERT_EQ(look_of(answer(200, none)), Look::absent);
  const std::string spaces(std::size_t{1024} * 1024, ' ');
  for (const std::string& body :
       {"<html><pre>" + none + "</pre></html>", "[" + none + "]", "{\"data\":" + none + "}",
        "\"" + none + "\"", none + none, none + "x", spaces + none,
        std::string(R"({"count":0,"count":1,"list":[]})"), std::string(100'000, '['),
        std::string(R"({"count":"0 of 1","list":[]})"), std::string(R"({"count":[0]})")})
    EXPECT_EQ(look_of(answer(200, body)), Look::undecided) << body.substr(0, 60);
  // A byte that is another: of a found one, and of one that says nothing.
  for (const std::string& body : {there, std::string(R"({"error":"later","list":[]})")}) {
    for (std::size_t at = 0; at < body.size(); ++at) {
      for (const char other : {'\0', '"', '}', ' ', '\xff'}) {
        std::string damaged = body;
        damaged[at] = other;
        EXPECT_NE(look_of(answer(200, damaged)), Look::absent) << damaged;
      }
    }
  }
  for (int status = -1; status < 1000; ++status) {
    if (status >= 200 && status <= 299) continue;
    EXPECT_EQ(look_of(answer(status, none)), Look::undecided) << status;
  }
}

TEST(HttpLookup, FoundNeedsASuccessAndTheReceipt) {
  HttpSpec spec = searched();
  EXPECT_EQ(judge_lookup(spec, answer(500, R"({"count":1,"list":[{"id":"m-7"}]})"), kNow).look,
            Look::undecided);
  EXPECT_EQ(judge_lookup(spec, answer(200, R"({"count":1,"list":[{"id":""}]})"), kNow).look,
            Look::undecided);
  LookupRule found;
  found.status = {{200, 200}};
  found.look = Look::found;
  spec.lookup.answers = {found};
  EXPECT_EQ(judge_lookup(spec, answer(200, "{}"), kNow).look, Look::undecided);
  spec.lookup.receipt_pointer.clear();
  EXPECT_EQ(judge_lookup(spec, answer(200, "{}"), kNow).look, Look::found);
}

TEST(HttpLookup, RetryAfterIsTakenOver) {
  EXPECT_EQ(judge_lookup(searched(), answer(429, "", {{"retry-after", "7"}}), kNow).retry_after,
            Duration(seconds(7)));
}

TEST(HttpLookup, TheQuestionIsAGetWithTheCredential) {
  Sample sample("+15555550100");
  sample.notification.channel = Channel::sms;
  HttpOptions options;
  options.spec = searched();
  options.spec.auth.type = HttpAuth::bearer;
  options.secret = Credential("s3cret");
  options.endpoint = "https://gate.example.com/";
  auto provider = make_http_provider(options);
  ASSERT_TRUE(provider.has_value()) << provider.error().text;
  EXPECT_TRUE((*provider)->capabilities().lookup);
  EXPECT_EQ((*provider)->capabilities().lookup_lag, Duration(seconds(30)));
  const auto r = (*provider)->prepare_lookup(sample.attempt(), kNow);
  ASSERT_TRUE(r.has_value()) << r.error().text;
  EXPECT_EQ(r->method, "GET");
  EXPECT_EQ(r->url, "https://gate.example.com/v1/find/15555550100?ref=" + hex(sample.key.view()));
  EXPECT_TRUE(r->by_url);
  EXPECT_TRUE(r->body.empty());
  EXPECT_EQ(r->headers.find("authorization"), "Bearer s3cret");
  options.spec.lookup = {};
  auto blind = make_http_provider(options);
  EXPECT_FALSE((*blind)->capabilities().lookup);
}

}  // namespace
}  // namespace sendonce::test
