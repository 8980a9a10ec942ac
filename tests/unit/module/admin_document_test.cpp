// config/schema/admin-api.json describes what is served, all of it and nothing else.
#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "plugin/module/admin/admin_protocol.hpp"

namespace sendonce::test {
namespace {

using Json = nlohmann::json;

Json document() {
  std::ifstream file(SENDONCE_SOURCE_DIR "/config/schema/admin-api.json");
  return Json::parse(file);
}

TEST(AdminDocument, HasEachRouteAndNoOther) {
  const Json document = sendonce::test::document();
  EXPECT_EQ(document["openapi"], "3.1.0");
  std::set<std::string> described;
  for (const auto& [path, item] : document["paths"].items()) {
    ASSERT_EQ(item.size(), 1U) << path << ": one method each";
    described.insert(item.begin().key() + " " + path);
  }
  std::set<std::string> served;
  for (const AdminRoute& route : admin_routes())
    served.insert((route.method == "GET" ? "get " : "post ") + std::string(route.path));
  for (const std::string_view path : kPublicPaths) served.insert("get " + std::string(path));
  EXPECT_EQ(described, served);
}

TEST(AdminDocument, NamesEachArgumentAndWhoMayAsk) {
  const Json document = sendonce::test::document();
  for (const AdminRoute& route : admin_routes()) {
    const Json& operation =
        document["paths"][std::string(route.path)][route.method == "GET" ? "get" : "post"];
    EXPECT_EQ(operation["operationId"], route.verb);
    EXPECT_EQ(operation["x-access"], route.access == AdminAccess::read ? "read" : "operate");
    std::vector<std::string> named;
    for (const Json& parameter : operation.value("parameters", Json::array())) {
      EXPECT_EQ(parameter["in"], "query");
      named.push_back(parameter["name"]);
    }
    EXPECT_THAT(named, testing::ElementsAreArray(route.arguments.begin(), route.arguments.end()));
  }
}

// What the document describes answers, and one step beside it nothing does.
TEST(AdminDocument, EachDescribedPathAnswers) {
  const Json document = sendonce::test::document();
  for (const auto& [path, item] : document["paths"].items()) {
    if (std::ranges::find(kPublicPaths, path) != kPublicPaths.end()) continue;
    const std::string method = item.begin().key() == "get" ? "GET" : "POST";
    const auto ask = [&](const std::string& at) {
      return answer_admin({.method = method, .path = at, .peer = 0}, 0, 1000,
                          [](const AdminRequest&, AdminReply&) { return Result<void>{}; })
          .status;
    };
    EXPECT_EQ(ask(path), 200) << path;
    EXPECT_EQ(ask(path + "/"), 404);
    EXPECT_EQ(ask(path.substr(0, path.size() - 1)), 404);
  }
}

}  // namespace
}  // namespace sendonce::test
