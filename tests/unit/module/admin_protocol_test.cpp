#include "plugin/module/admin/admin_protocol.hpp"

#include <string>
#include <variant>

#include <gtest/gtest.h>

namespace sendonce::test {
namespace {

AdminRequest parsed(std::string_view line) {
  auto request = parse_admin_request(line);
  EXPECT_TRUE(request) << line;
  return request.value_or(AdminRequest{});
}

void expect_refused(std::string_view line) {
  const auto request = parse_admin_request(line);
  ASSERT_FALSE(request) << line;
  EXPECT_EQ(request.error().code, Errc::invalid);
}

TEST(AdminRequest, HoldsFlatArguments) {
  const AdminRequest request = parsed(
      R"({"verb":"list","state":"unknown","limit":-5,"all":true,"big":9223372036854775807})");
  EXPECT_EQ(request.verb, "list");
  EXPECT_EQ(request.text("state").value(), "unknown");
  EXPECT_EQ(request.number_or("limit", 1).value(), -5);
  EXPECT_EQ(request.number_or("big", 1).value(), INT64_MAX);
  EXPECT_TRUE(std::get<bool>(request.arguments[0].second));
}

TEST(AdminRequest, AbsentArgumentsHaveDefaultsOrAreMissing) {
  const AdminRequest request = parsed(R"({"verb":"list"})");
  EXPECT_EQ(request.text_or("state", "all").value(), "all");
  EXPECT_EQ(request.number_or("limit", 100).value(), 100);
  EXPECT_EQ(request.text("key").error().text, "list: argument 'key' is missing");
}

TEST(AdminRequest, AWrongTypeIsAnErrorAndNeverTheDefault) {
  const AdminRequest request = parsed(R"({"verb":"list","state":1,"limit":"x","all":0})");
  EXPECT_EQ(request.text("state").error().code, Errc::invalid);
  EXPECT_EQ(request.text_or("state", "all").error().text, "list: argument 'state' must be a text");
  EXPECT_EQ(request.number_or("limit", 1).error().code, Errc::invalid);
}

TEST(AdminRequest, AnUnknownArgumentIsRefused) {
  const AdminRequest request = parsed(R"({"verb":"list","limt":1})");
  EXPECT_EQ(request.only({"limit", "state"}).error().text, "list: there is no argument 'limt'");
  EXPECT_TRUE(request.only({"limt"}));
}

TEST(AdminRequest, AnythingElseThanAFlatObjectIsRefused) {
  for (const std::string_view line : {"",
                                      " ",
                                      "status",
                                      "[]",
                                      "null",
                                      "{",
                                      R"({"verb":"a"}})",
                                      R"({"verb":"a"} x)",
                                      R"({})",
                                      R"({"verb":""})",
                                      R"({"verb":1})",
                                      R"({"limit":1})",
                                      R"({"verb":"a","x":1.5})",
                                      R"({"verb":"a","x":null})",
                                      R"({"verb":"a","x":{}})",
                                      R"({"verb":"a","x":[1]})",
                                      R"({"verb":"a","x":9223372036854775808})",
                                      R"({"verb":"a","x":1e99999})",
                                      R"({"verb":"a","verb":"b"})",
                                      R"({"verb":"a","x":1,"x":2})",
                                      "{\"verb\":\"\xff\"}",
                                      "{\"verb\":\"a\0b\"}"}) {
    expect_refused(line);
  }
  expect_refused(std::string("{\"verb\":\"a") + '\0' + "\"}");
  expect_refused(std::string(60'000, '['));
  std::string deep = R"({"verb":"a","x":)";
  for (int i = 0; i < 10'000; ++i) deep += R"({"y":)";
  expect_refused(deep);
}

TEST(AdminRequest, SurvivesTheWay) {
  AdminRequest request{.verb = "resolve"};
  request.arguments = {{"key", std::string("quote \" line \n nul \0 end", 23)},
                       {"reason", std::string("\u00e4\u20ac\U0001f600")},
                       {"limit", std::int64_t{-1}},
                       {"yes", true}};
  const auto line = format_admin_request(request);
  ASSERT_TRUE(line);
  EXPECT_EQ(line->find('\n'), line->size() - 1);
  const AdminRequest back = parsed(*line);
  EXPECT_EQ(back.verb, "resolve");
  EXPECT_EQ(back.text("key").value(), std::get<std::string>(request.arguments[0].second));
  EXPECT_EQ(back.text("reason").value(), std::get<std::string>(request.arguments[1].second));
  EXPECT_EQ(back.number_or("limit", 0).value(), -1);
  EXPECT_TRUE(std::get<bool>(back.arguments[3].second));
}

TEST(AdminRequest, TextThatIsNotUtf8IsNotSent) {
  AdminRequest request{.verb = "inspect"};
  request.arguments = {{"event", std::string("order-\xe4")}};
  const auto line = format_admin_request(request);
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().text, "inspect: argument 'event' is not UTF-8");
}

TEST(AdminReply, CollectsItemsAndEndsWithTheResult) {
  AdminReply reply(1000);
  EXPECT_TRUE(reply.item(R"({"n":1})"));
  EXPECT_TRUE(reply.item(R"({"n":2})"));
  reply.result(R"({"next":3})");
  EXPECT_EQ(std::move(reply).finish({}),
            "{\"more\":true,\"item\":{\"n\":1}}\n{\"more\":true,\"item\":{\"n\":2}}\n"
            "{\"ok\":true,\"result\":{\"next\":3}}\n");
}

TEST(AdminReply, AFullReplyTakesNoItemButAlwaysItsEnd) {
  AdminReply reply(50);
  EXPECT_TRUE(reply.item(R"({"n":1})"));
  EXPECT_FALSE(reply.item(R"({"n":2})"));
  reply.result(R"({"next":2})");
  EXPECT_TRUE(std::move(reply).finish({}).ends_with("\n{\"ok\":true,\"result\":{\"next\":2}}\n"));
}

TEST(AdminReply, AnErrorTakesThePlaceOfTheResult) {
  AdminReply reply(1000);
  reply.result(R"({"n":1})");
  EXPECT_EQ(std::move(reply).finish(fail(Errc::denied, "say \"please\"")),
            "{\"ok\":false,\"error\":{\"code\":\"denied\",\"text\":\"say \\\"please\\\"\"}}\n");
}

TEST(AdminAnswer, EveryErrorCodeComesBackAsItWas) {
  for (const Errc code : {Errc::invalid, Errc::unavailable, Errc::exhausted, Errc::corrupt,
                          Errc::denied, Errc::busy, Errc::internal}) {
    std::string text = AdminReply(0).finish(fail(code, "why"));
    text.pop_back();
    const auto line = parse_admin_answer(text);
    ASSERT_TRUE(line);
    const auto& end = std::get<AdminEnd>(*line);
    ASSERT_FALSE(end.result);
    EXPECT_EQ(end.result.error().code, code);
    EXPECT_EQ(end.result.error().text, "why");
  }
}

TEST(AdminAnswer, ItemsAndResultsKeepTheirNumbers) {
  const auto item = parse_admin_answer(R"({"more":true,"item":{"n":18446744073709551615}})");
  ASSERT_TRUE(item);
  EXPECT_EQ(std::get<AdminItem>(*item).json, R"({"n":18446744073709551615})");
  const auto end = parse_admin_answer(R"({"ok":true,"result":{"n":-9223372036854775808}})");
  ASSERT_TRUE(end);
  EXPECT_EQ(std::get<AdminEnd>(*end).result.value(), R"({"n":-9223372036854775808})");
}

TEST(AdminAnswer, NonsenseIsCorruptAndNeverAnAnswer) {
  for (const std::string_view line :
       {"", "HTTP/1.1 200 OK", "{}", R"({"ok":1})", R"({"ok":true})", R"({"more":true})",
        R"({"ok":false})", R"({"ok":false,"error":"x"})", R"({"ok":false,"error":{"code":"x"}})",
        R"({"ok":false,"error":{"code":1,"text":"x"}})"}) {
    const auto answer = parse_admin_answer(line);
    ASSERT_FALSE(answer) << line;
    EXPECT_EQ(answer.error().code, Errc::corrupt);
  }
}

}  // namespace
}  // namespace sendonce::test
