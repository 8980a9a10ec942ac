// What passes between a browser and the daemon, and what does not.
#include <algorithm>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/socket.h>

#include "plugin/cli/page/assets.hpp"
#include "plugin/cli/page/bridge.hpp"
#include "plugin/core/log.hpp"
#include "plugin/module/admin/admin_protocol.hpp"
#include "plugin/module/admin/admin_server.hpp"
#include "plugin/module/admin/unix_socket.hpp"
#include "tests/support/fake_clock.hpp"
#include "tests/support/http_exchange.hpp"
#include "tests/support/temp_dir.hpp"

namespace sendonce::cli {
namespace {

using test::FakeClock;
using test::TempDir;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

using Pairs = std::vector<std::pair<std::string, std::string>>;

class PageBridgeTest : public ::testing::Test {
 protected:
  HttpReply ask(std::string method, std::string path, Pairs query = {}, bool session = true) {
    HttpQuestion question{.method = std::move(method),
                          .path = std::move(path),
                          .query = std::move(query),
                          .fields = {{"host", "127.0.0.1:8228"},
                                     {"origin", "http://127.0.0.1:8228"},
                                     {"sendonce-request", "the-proof"}}};
    if (session) question.fields.emplace_back("cookie", "sendonce-8228=the-session");
    return bridge_.answer(question);
  }
  static std::string field(const HttpReply& reply, std::string_view name) {
    const auto at = std::ranges::find(reply.fields, name,
                                      [](const auto& f) { return std::string_view(f.first); });
    return at == reply.fields.end() ? "" : at->second;
  }
  static std::string detail(const HttpReply& reply) {
    return nlohmann::json::parse(reply.body, nullptr, false).value("detail", "");
  }

  FakeClock clock_{};
  std::vector<HttpQuestion> asked_{};  // of the daemon
  std::vector<LettersWanted> letters_{};
  std::vector<ReplayWanted> replays_{};
  HttpReply answer_{.body = "{}\n"};
  Result<std::string> json_ = "{}";
  Bridge bridge_{clock_,
                 Gate(8228, {.token = "the-token", .session = "the-session", .proof = "the-proof"},
                      clock_.mono()),
                 "ada",
                 BridgePorts{.daemon =
                                 [this](const HttpQuestion& question) {
                                   asked_.push_back(question);
                                   return answer_;
                                 },
                             .letters =
                                 [this](const LettersWanted& wanted) {
                                   letters_.push_back(wanted);
                                   return json_;
                                 },
                             .replay =
                                 [this](const ReplayWanted& wanted) {
                                   replays_.push_back(wanted);
                                   return json_;
                                 }}};
};

// ---- the way in ---------------------------------------------------------------------------------

TEST_F(PageBridgeTest, TheTokenIsExchangedForACookieAndLeavesTheAddress) {
  const HttpReply in = ask("GET", "/", {{"token", "the-token"}}, false);
  EXPECT_EQ(in.status, 303);
  EXPECT_EQ(field(in, "Location"), "/#proof=the-proof");
  EXPECT_EQ(field(in, "Set-Cookie"),
            "sendonce-8228=the-session; Path=/; HttpOnly; SameSite=Strict");
  const HttpReply again = ask("GET", "/", {{"token", "the-token"}}, false);
  EXPECT_EQ(again.status, 403);
  EXPECT_EQ(field(again, "Set-Cookie"), "");
  EXPECT_THAT(again.body, HasSubstr("sendonce page"));
  EXPECT_EQ(field(ask("GET", "/", {{"token", "the-token"}}), "Set-Cookie"), "");
}

TEST_F(PageBridgeTest, WithoutASessionThereIsNothing) {
  EXPECT_EQ(ask("GET", "/", {}, false).status, 401);
  for (const Asset& asset : page_assets()) {
    const HttpReply reply = ask("GET", std::string(asset.path), {}, false);
    EXPECT_EQ(reply.status, 401) << asset.path;
    EXPECT_EQ(reply.body.find("module"), std::string::npos);
  }
  for (const AdminRoute& route : admin_routes())
    EXPECT_EQ(ask(std::string(route.method), std::string(route.path), {}, false).status, 401);
  EXPECT_EQ(ask("GET", "/metrics", {}, false).status, 401);
  EXPECT_EQ(ask("GET", "/letters", {}, false).status, 401);
  EXPECT_EQ(ask("POST", "/letters/replay", {{"sequence", "1"}}, false).status, 401);
  EXPECT_TRUE(asked_.empty());
  EXPECT_TRUE(letters_.empty());
  EXPECT_TRUE(replays_.empty());
}

TEST_F(PageBridgeTest, EveryAnswerSaysWhatABrowserMayDoWithIt) {
  for (const bool session : {true, false})
    for (const char* path : {"/", "/app.js", "/v1/status", "/none", "/letters"}) {
      const HttpReply reply = ask("GET", path, {}, session);
      EXPECT_EQ(field(reply, "Content-Security-Policy"),
                "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'");
      EXPECT_EQ(field(reply, "Referrer-Policy"), "no-referrer");
      EXPECT_EQ(field(reply, "Cross-Origin-Resource-Policy"), "same-origin");
      EXPECT_EQ(field(reply, "Access-Control-Allow-Origin"), "");
    }
}

// ---- the page -----------------------------------------------------------------------------------

TEST_F(PageBridgeTest, TheFilesOfThePageAreServedWhole) {
  std::set<std::string_view> paths;
  for (const Asset& asset : page_assets()) {
    EXPECT_TRUE(paths.insert(asset.path).second) << asset.path;
    EXPECT_FALSE(asset.type.empty()) << asset.path;
    const HttpReply reply = ask("GET", std::string(asset.path));
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.type, asset.type);
    EXPECT_EQ(reply.body, asset.bytes);
    EXPECT_EQ(ask("POST", std::string(asset.path)).status, 405);
  }
  EXPECT_TRUE(paths.contains("/"));
  EXPECT_TRUE(paths.contains("/uplot/uPlot.esm.js"));
  EXPECT_FALSE(paths.contains("/index.html"));
}

// The policy forbids all of that; a browser would only say so in its console.
TEST_F(PageBridgeTest, NoFileNeedsMoreThanThePolicyAllows) {
  for (const Asset& asset : page_assets()) {
    const std::string text(asset.bytes);
    if (asset.path.starts_with("/uplot/") && asset.path.ends_with(".js")) continue;
    for (const char* bad : {"style=\"", "onclick=", "innerHTML", "eval(",
                            "javascript:", "insertAdjacentHTML", "document.write"})
      EXPECT_EQ(text.find(bad), std::string::npos) << asset.path << ": " << bad;
    if (asset.path != "/favicon.svg") {
      EXPECT_EQ(text.find("://"), std::string::npos) << asset.path << " loads from elsewhere";
    }
  }
}

// ---- the daemon ---------------------------------------------------------------------------------

TEST_F(PageBridgeTest, TheAdminRoutesArePassedOnAsTheyAre) {
  answer_ = {.status = 409, .type = "application/problem+json", .body = "{\"detail\":\"x\"}\n"};
  for (const AdminRoute& route : admin_routes()) {
    asked_.clear();
    const HttpReply reply = ask(std::string(route.method), std::string(route.path), {{"key", "k"}});
    EXPECT_EQ(reply.status, 409) << route.path;
    EXPECT_EQ(reply.type, answer_.type);
    EXPECT_EQ(reply.body, answer_.body);
    ASSERT_EQ(asked_.size(), 1U);
    EXPECT_EQ(asked_[0].method, route.method);
    EXPECT_EQ(asked_[0].path, route.path);
    EXPECT_EQ(asked_[0].query.front(), Pairs::value_type("key", "k"));
    EXPECT_TRUE(asked_[0].fields.empty()) << "cookie and all stay here";
  }
  for (const std::string_view path : kPublicPaths)
    EXPECT_EQ(ask("GET", std::string(path)).status, 409);
}

TEST_F(PageBridgeTest, NothingElseIsPassedOn) {
  for (const char* path :
       {"/v1", "/v1/", "/v1/status/", "/v1/none", "//v1/status", "/v1/../v1/status", "/metrics/x",
        "/V1/status", "/index.html", "/assets/page.css"})
    EXPECT_EQ(ask("GET", path).status, 404) << path;
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"}) {
    EXPECT_EQ(ask(method, "/v1/status").status, 405) << method;
    EXPECT_EQ(ask(method, "/metrics").status, 405) << method;
    EXPECT_EQ(ask(method, "/letters").status, 405) << method;
  }
  EXPECT_EQ(ask("GET", "/v1/pause").status, 405);
  EXPECT_EQ(ask("GET", "/letters/replay").status, 405);
  EXPECT_TRUE(asked_.empty());
  EXPECT_TRUE(letters_.empty());
  EXPECT_TRUE(replays_.empty());
}

TEST_F(PageBridgeTest, WhoDecidesIsSaidByTheBridge) {
  (void)ask("POST", "/v1/delivery/resolve", {{"by", "mallory"}, {"as", "failed"}, {"by", "eve"}});
  ASSERT_EQ(asked_.size(), 1U);
  EXPECT_THAT(asked_[0].query, ElementsAre(Pair("as", "failed"), Pair("by", "ada")));
  (void)ask("GET", "/v1/rows", {{"by", "x"}});
  EXPECT_THAT(asked_[1].query, ElementsAre(Pair("by", "x"))) << "the daemon refuses it";
}

TEST_F(PageBridgeTest, AForeignPostReachesNobody) {
  HttpQuestion question{.method = "POST",
                        .path = "/v1/pause",
                        .query = {{"name", "otp"}, {"reason", "x"}},
                        .fields = {{"host", "127.0.0.1:8228"},
                                   {"cookie", "sendonce-8228=the-session"},
                                   {"origin", "http://evil.example"},
                                   {"sendonce-request", "the-proof"}}};
  const HttpReply reply = bridge_.answer(question);
  EXPECT_EQ(reply.status, 403);
  EXPECT_TRUE(asked_.empty());
}

TEST_F(PageBridgeTest, ACookieWithoutTheProofGetsTheFilesAlone) {
  const auto with_cookie = [&](const char* path) {
    return bridge_.answer(
        {.method = "GET",
         .path = path,
         .fields = {{"host", "127.0.0.1:8228"}, {"cookie", "sendonce-8228=the-session"}}});
  };
  EXPECT_EQ(with_cookie("/").status, 200);
  EXPECT_EQ(with_cookie("/app.js").status, 200);
  for (const char* path : {"/v1/status", "/metrics", "/letters", "/v1/rows"})
    EXPECT_EQ(with_cookie(path).status, 403) << path;
  EXPECT_TRUE(asked_.empty() && letters_.empty());
}

// ---- dead letters -------------------------------------------------------------------------------

TEST_F(PageBridgeTest, LettersAreBounded) {
  json_ = R"({"items":[]})";
  EXPECT_EQ(ask("GET", "/letters").body, "{\"items\":[]}\n");
  (void)ask("GET", "/letters", {{"from", "7"}, {"limit", "20"}});
  (void)ask("GET", "/letters", {{"limit", "100000"}});
  ASSERT_EQ(letters_.size(), 3U);
  EXPECT_EQ(letters_[0].from, 1U);
  EXPECT_EQ(letters_[0].limit, 0);
  EXPECT_EQ(letters_[1].from, 7U);
  EXPECT_EQ(letters_[1].limit, 20);
  EXPECT_EQ(letters_[2].limit, 100);
  for (const Pairs& bad :
       {Pairs{{"from", "0"}}, Pairs{{"from", "-1"}}, Pairs{{"limit", "x"}}, Pairs{{"other", "1"}}})
    EXPECT_EQ(ask("GET", "/letters", bad).status, 400);
  EXPECT_EQ(letters_.size(), 3U);
}

TEST_F(PageBridgeTest, AReplayNamesALetterAndForceAReason) {
  EXPECT_EQ(ask("POST", "/letters/replay", {{"sequence", "3"}}).status, 200);
  EXPECT_EQ(ask("POST", "/letters/replay",
                {{"sequence", "4"}, {"force", "true"}, {"reason", "lost phone"}})
                .status,
            200);
  ASSERT_EQ(replays_.size(), 2U);
  EXPECT_EQ(replays_[0].sequence, 3U);
  EXPECT_FALSE(replays_[0].force);
  EXPECT_TRUE(replays_[1].force);
  EXPECT_EQ(replays_[1].reason, "lost phone");
  for (const Pairs& bad :
       {Pairs{}, Pairs{{"sequence", "0"}}, Pairs{{"sequence", "x"}},
        Pairs{{"sequence", "1"}, {"force", "true"}}, Pairs{{"sequence", "1"}, {"force", "yes"}},
        Pairs{{"sequence", "1"}, {"by", "x"}}})
    EXPECT_EQ(ask("POST", "/letters/replay", bad).status, 400);
  EXPECT_EQ(replays_.size(), 2U);
}

TEST_F(PageBridgeTest, WhatNatsDoesNotGiveIsSaid) {
  json_ = fail(Errc::unavailable, "no connection to NATS");
  const HttpReply away = ask("GET", "/letters");
  EXPECT_EQ(away.status, 502);
  EXPECT_EQ(detail(away), "no connection to NATS");
  json_ = fail(Errc::invalid, "there is no letter 9");
  EXPECT_EQ(ask("POST", "/letters/replay", {{"sequence", "9"}}).status, 400);
}

// ---- the daemon's side --------------------------------------------------------------------------

class RelayTest : public ::testing::Test {
 protected:
  void serve() {
    const auto started = server_.start(
        socket_,
        [](const AdminRequest& request, AdminReply& reply) -> Result<void> {
          SO_TRY(const std::string reason, request.text_or("reason", ""));
          if (reason.empty()) return fail(Errc::busy, "one is under way");
          reply.result(nlohmann::json{{"reason", reason}}.dump());
          return {};
        },
        [](const HttpQuestion&) -> HttpReply { return {.type = "text/plain", .body = "m 1\n"}; });
    ASSERT_TRUE(started) << started.error().text;
  }
  [[nodiscard]] HttpReply ask(std::string method, std::string path, Pairs query = {}) const {
    return relay(socket_, std::chrono::seconds(20),
                 {.method = std::move(method), .path = std::move(path), .query = std::move(query)});
  }

  TempDir dir_{};
  std::string socket_ = dir_ / "s";
  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::unique_ptr<Log> log_ = make_null_log();
  AdminServer server_{*clock_, *log_};
};

TEST_F(RelayTest, AnyAnswerComesBackAsItIs) {
  serve();
  const HttpReply done = ask("POST", "/v1/pause", {{"reason", "a&b=c %41 \u00fc"}});
  EXPECT_EQ(done.status, 200);
  EXPECT_EQ(done.type, "application/json");
  EXPECT_EQ(done.body, "{\"reason\":\"a&b=c %41 \u00fc\"}\n");
  const HttpReply refused = ask("POST", "/v1/pause");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.type, "application/problem+json");
  EXPECT_THAT(refused.body, HasSubstr("one is under way"));
  const HttpReply metrics = ask("GET", "/metrics");
  EXPECT_EQ(metrics.type, "text/plain");
  EXPECT_EQ(metrics.body, "m 1\n");
}

TEST_F(RelayTest, ADaemonThatIsAwayIsABadGateway) {
  const HttpReply reply = ask("GET", "/v1/status");
  EXPECT_EQ(reply.status, 502);
  EXPECT_EQ(reply.type, "application/problem+json");
  EXPECT_THAT(reply.body, HasSubstr("is sendonced running?"));
}

TEST_F(RelayTest, ADaemonThatDoesNotAnswerInTimeIsATimeout) {
  auto listening = UnixListener::bind(socket_);  // takes connections, answers none
  ASSERT_TRUE(listening);
  const HttpReply reply =
      relay(socket_, std::chrono::milliseconds(50), {.method = "GET", .path = "/v1/status"});
  EXPECT_EQ(reply.status, 504);
  EXPECT_THAT(reply.body, HasSubstr("does not answer in time"));
}

// Its beginning came, its end did not.
TEST_F(RelayTest, AnAnswerWithoutItsEndIsNoAnswer) {
  auto listening = UnixListener::bind(socket_);
  ASSERT_TRUE(listening);
  std::thread half([&] {
    pollfd ready{.fd = listening->fd(), .events = POLLIN, .revents = 0};
    ::poll(&ready, 1, 20'000);
    const UniqueFd client(::accept(listening->fd(), nullptr, nullptr));
    test::send_all(client.get(), "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{");
  });
  const HttpReply reply = ask("GET", "/v1/status");
  half.join();
  EXPECT_EQ(reply.status, 502);
  EXPECT_EQ(reply.type, "application/problem+json");
}

}  // namespace
}  // namespace sendonce::cli
