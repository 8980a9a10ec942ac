#include "plugin/module/admin/admin_protocol.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sendonce::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr uid_t kService = 950;
constexpr uid_t kOther = 1000;
constexpr std::size_t kRoom = 1000;

HttpQuestion question(std::string method, std::string path,
                      std::vector<std::pair<std::string, std::string>> query = {},
                      std::optional<uid_t> peer = kService) {
  return {.method = std::move(method),
          .path = std::move(path),
          .query = std::move(query),
          .peer = peer};
}

// What the handler was asked, and what became of it.
struct Asked {
  AdminRequest request{};
  int times = 0;
  HttpReply reply{};
};

Asked ask(const HttpQuestion& q, const Result<void>& outcome = {}) {
  Asked asked;
  asked.reply = answer_admin(q, kService, kRoom, [&](const AdminRequest& r, AdminReply& reply) {
    asked.request = r;
    ++asked.times;
    reply.result(R"({"a":1})");
    return outcome;
  });
  return asked;
}

std::string http(std::string_view body, std::string_view status = "200 OK") {
  std::string out = "HTTP/1.1 ";
  out.append(status).append("\r\nContent-Length: ").append(std::to_string(body.size()));
  return out.append("\r\nConnection: close\r\n\r\n").append(body);
}

// They end in the log, in states and in JSON.
TEST(AdminProtocol, AnArgumentIsPlainText) {
  for (const char* bad : {"f\xfcr Wartung", "a\nSTOPPING=1", "a\x7f", "\xc0\x80"}) {
    const Asked asked = ask(question("POST", "/v1/pause", {{"name", "x"}, {"reason", bad}}));
    EXPECT_EQ(asked.times, 0);
    EXPECT_EQ(asked.reply.status, 400);
  }
  EXPECT_EQ(ask(question("POST", "/v1/pause", {{"reason", "f\u00fcr Wartung"}})).times, 1);
}

TEST(AdminProtocol, EachRouteIsItsVerb) {
  for (const AdminRoute& route : admin_routes()) {
    const Asked asked = ask(question(std::string(route.method), std::string(route.path)));
    EXPECT_EQ(asked.request.verb, route.verb);
    EXPECT_EQ(asked.reply.status, 200);
    const Asked other = ask(question("PUT", std::string(route.path)));
    EXPECT_EQ(other.times, 0);
    EXPECT_EQ(other.reply.status, 405);
    EXPECT_THAT(other.reply.allow, HasSubstr(std::string(route.method)));
  }
  EXPECT_EQ(ask(question("GET", "/v1/nothing")).reply.status, 404);
  EXPECT_EQ(ask(question("GET", "/v1/status/")).reply.status, 404);
  EXPECT_EQ(ask(question("HEAD", "/v1/status")).times, 1);
  EXPECT_EQ(ask(question("HEAD", "/v1/reload")).reply.status, 405) << "it would do something";
}

TEST(AdminProtocol, WhoMayOpenTheSocketMayRead) {
  EXPECT_EQ(ask(question("GET", "/v1/status", {}, kOther)).reply.status, 200);
  EXPECT_EQ(ask(question("POST", "/v1/reload", {}, kService)).reply.status, 200);
  EXPECT_EQ(ask(question("POST", "/v1/reload", {}, 0)).reply.status, 200);
  const Asked other = ask(question("POST", "/v1/reload", {}, kOther));
  EXPECT_EQ(other.reply.status, 403);
  EXPECT_EQ(other.times, 0);
  EXPECT_EQ(ask(question("POST", "/v1/reload", {}, std::nullopt)).reply.status, 403)
      << "who cannot be named";
}

TEST(AdminProtocol, ArgumentsAreThoseOfTheRouteAndGivenOnce) {
  const Asked asked =
      ask(question("GET", "/v1/rows", {{"state", "unknown"}, {"limit", "-5"}, {"event", ""}}));
  EXPECT_THAT(asked.request.arguments,
              ElementsAre(Pair("state", "unknown"), Pair("limit", "-5"), Pair("event", "")));
  EXPECT_EQ(asked.request.number_or("limit", 1).value(), -5);
  EXPECT_EQ(asked.request.text_or("state", "all").value(), "unknown");
  EXPECT_EQ(asked.request.text_or("scope", "all").value(), "all");
  EXPECT_EQ(asked.request.text("event").value(), "");
  EXPECT_EQ(asked.request.text("scope").error().text, "list: argument 'scope' is missing");
  for (const auto& query : std::vector<std::vector<std::pair<std::string, std::string>>>{
           {{"limt", "1"}}, {{"limit", "1"}, {"limit", "2"}}, {{"", ""}}, {{"State", "x"}}}) {
    const Asked refused = ask(question("GET", "/v1/rows", query));
    EXPECT_EQ(refused.reply.status, 400);
    EXPECT_EQ(refused.times, 0);
  }
  EXPECT_EQ(ask(question("GET", "/v1/status", {{"limit", "1"}})).reply.status, 400);
}

TEST(AdminProtocol, ANumberThatIsNoneIsAnErrorAndNeverTheDefault) {
  for (const char* bad : {"", "x", "1x", " 1", "1.0", "9223372036854775808"}) {
    const AdminRequest request{.verb = "list", .arguments = {{"limit", bad}}};
    EXPECT_EQ(request.number_or("limit", 1).error().text,
              "list: argument 'limit' must be a whole number")
        << bad;
  }
}

TEST(AdminProtocol, AFlagIsTrueOrFalseAndNothingElse) {
  const AdminRequest request{.verb = "v", .arguments = {{"a", true}, {"b", false}, {"c", "yes"}}};
  EXPECT_TRUE(request.flag_or("a", false).value());
  EXPECT_FALSE(request.flag_or("b", true).value());
  EXPECT_TRUE(request.flag_or("d", true).value());
  EXPECT_EQ(request.flag_or("c", true).error().text, "v: argument 'c' must be true or false");
  EXPECT_EQ(request.only({"a", "b"}).error().text, "v: argument 'c' is none that it knows");
  EXPECT_TRUE(request.only({"a", "b", "c"}));
}

TEST(AdminProtocol, ErrorsAreProblemsThatComeBackAsTheyWere) {
  for (const auto& [code, status] :
       {std::pair{Errc::invalid, 400}, std::pair{Errc::denied, 403}, std::pair{Errc::busy, 409},
        std::pair{Errc::unavailable, 503}, std::pair{Errc::exhausted, 503},
        std::pair{Errc::corrupt, 500}, std::pair{Errc::internal, 500}}) {
    const HttpReply reply = ask(question("GET", "/v1/status"), fail(code, "a \"reason\"")).reply;
    EXPECT_EQ(reply.status, status);
    EXPECT_EQ(reply.type, "application/problem+json");
    const auto back = parse_admin_answer(http(reply.body, std::to_string(status) + " X"), {});
    ASSERT_FALSE(back);
    EXPECT_EQ(back.error().code, code);
    EXPECT_EQ(back.error().text, "a \"reason\"");
  }
}

TEST(AdminProtocol, ItemsComeBeforeTheResultAndStopWhereTheRoomEnds) {
  AdminReply reply(20);
  EXPECT_TRUE(reply.item(R"({"n":1})"));
  EXPECT_TRUE(reply.item(R"({"n":2})"));
  EXPECT_FALSE(reply.item(R"({"n":3})"));
  reply.result(R"({"rows":2,"more":true})");
  const HttpReply done = std::move(reply).finish({});
  EXPECT_EQ(done.body, "{\"items\":[{\"n\":1},{\"n\":2}],\"rows\":2,\"more\":true}\n");
  std::vector<std::string> items;
  const auto result =
      parse_admin_answer(http(done.body), [&](std::string_view json) { items.emplace_back(json); });
  EXPECT_EQ(result.value(), R"({"rows":2,"more":true})");
  EXPECT_THAT(items, ElementsAre(R"({"n":1})", R"({"n":2})"));
  AdminReply empty(20);
  EXPECT_EQ(std::move(empty).finish({}).body, "{\"items\":[]}\n");
}

TEST(AdminProtocol, ARequestSaysWhatItsVerbIs) {
  EXPECT_EQ(format_admin_request({.verb = "reload"}).value(),
            "POST /v1/reload HTTP/1.1\r\nHost: sendonce\r\nConnection: close\r\n"
            "Content-Length: 0\r\n\r\n");
  const AdminRequest list{.verb = "list",
                          .arguments = {{"event", "a b&c=d%\r\nX: y"}, {"recipient", "\xC3\xA9"}}};
  EXPECT_THAT(format_admin_request(list).value(),
              HasSubstr("GET /v1/rows?event=a%20b%26c%3dd%25%0d%0aX%3a%20y&recipient=%c3%a9 "));
  EXPECT_EQ(format_admin_request({.verb = "explode"}).error().code, Errc::invalid);
}

TEST(AdminProtocol, AnAnswerWithoutItsEndIsNone) {
  const std::string whole = http(R"({"state":"ready"})");
  EXPECT_EQ(parse_admin_answer(whole, {}).value(), R"({"state":"ready"})");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(parse_admin_answer(std::string_view(whole).substr(0, size), {}).error().code,
              Errc::corrupt)
        << size;
  for (const std::string& bad :
       {std::string("220 smtp ready\r\n"), http("[]"), http("{"), http(R"({"items":1})"),
        http("{}", "500 Oops"), http(R"({"code":1,"detail":"x"})", "400 Bad"), whole + "x"})
    EXPECT_EQ(parse_admin_answer(bad, {}).error().code, Errc::corrupt) << bad;
}

}  // namespace
}  // namespace sendonce::test
