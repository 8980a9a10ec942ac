#include "plugin/module/admin/admin_server.hpp"

#include <atomic>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/module/admin/admin_client.hpp"
#include "tests/support/http_exchange.hpp"
#include "tests/support/temp_dir.hpp"

namespace sendonce::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kPatience = seconds(20);  // nothing below takes a fraction of it

AdminRequest ask(std::string verb) {
  return {.verb = std::move(verb)};
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

class AdminServerTest : public ::testing::Test {
 protected:
  void start(HttpLimits limits = {}) {
    server_.emplace(*clock_, *log_, limits);
    const auto started = server_->start(
        path(), [this](const AdminRequest& r, AdminReply& a) { return handle(r, a); }, &page);
    ASSERT_TRUE(started) << started.error().text;
  }

  Result<void> handle(const AdminRequest& request, AdminReply& reply) {
    ++handled_;
    if (request.verb == "list") return list(request, reply);
    if (request.verb == "reload") return fail(Errc::busy, "one is under way");
    sigset_t blocked;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    blocked_ = ::sigismember(&blocked, SIGTERM) == 1 && ::sigismember(&blocked, SIGHUP) == 1;
    reply.result(R"({"state":"ready"})");
    return {};
  }

  static Result<void> list(const AdminRequest& request, AdminReply& reply) {
    SO_TRY(const std::int64_t wanted, request.number_or("limit", 0));
    std::int64_t n = 0;
    while (n < wanted && reply.item("{\"n\":" + std::to_string(n) + "}")) ++n;
    reply.result("{\"next\":" + std::to_string(n) + "}");
    return {};
  }

  static HttpReply page(const HttpQuestion& question) {
    return {.type = "text/plain", .body = "page " + question.path};
  }

  [[nodiscard]] std::string path() const { return (dir_ / "admin.sock").string(); }

  AdminClient client() {
    auto connected = AdminClient::connect(path(), kPatience);
    EXPECT_TRUE(connected) << connected.error().text;
    return std::move(connected).value();
  }

  UniqueFd raw() {
    auto connected = connect_unix(path(), kPatience);
    EXPECT_TRUE(connected);
    return std::move(connected).value();
  }

  TempDir dir_;
  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::unique_ptr<Log> log_ = make_null_log();
  std::atomic<int> handled_{0};
  std::atomic<bool> blocked_{false};
  std::optional<AdminServer> server_;
};

TEST_F(AdminServerTest, AnswersAgainAndAgain) {
  start();
  AdminClient one = client();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(one.call(ask("status")).value(), R"({"state":"ready"})");
  EXPECT_EQ(handled_, 3);
  EXPECT_EQ(get(raw().get(), "/v1/status").body, "{\"state\":\"ready\"}\n");
}

TEST_F(AdminServerTest, HandsOutAListItemByItem) {
  start();
  AdminClient one = client();
  std::vector<std::string> items;
  AdminRequest request = ask("list");
  request.arguments.emplace_back("limit", "3");
  const auto result = one.call(request, [&](std::string_view json) { items.emplace_back(json); });
  EXPECT_EQ(result.value(), R"({"next":3})");
  EXPECT_EQ(items, (std::vector<std::string>{R"({"n":0})", R"({"n":1})", R"({"n":2})"}));
}

TEST_F(AdminServerTest, ALongListEndsWhereTheReplyIsFull) {
  start();
  AdminClient one = client();
  std::size_t items = 0;
  AdminRequest request = ask("list");
  request.arguments.emplace_back("limit", "1000000");
  const auto result = one.call(request, [&](std::string_view) { ++items; });
  EXPECT_EQ(result.value(), "{\"next\":" + std::to_string(items) + "}");
  EXPECT_GT(items, 10'000U);
  EXPECT_LT(items, 200'000U);
}

TEST_F(AdminServerTest, AnErrorOfTheHandlerReachesTheClient) {
  start();
  AdminClient one = client();
  const auto result = one.call(ask("reload"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::busy);
  EXPECT_EQ(result.error().text, "one is under way");
  EXPECT_EQ(one.call(ask("explode")).error().code, Errc::invalid);
  EXPECT_TRUE(one.call(ask("status")));
}

TEST_F(AdminServerTest, PagesAreServedBesideTheVerbs) {
  start();
  for (const std::string_view path : kPublicPaths) {
    const HttpSeen seen = get(raw().get(), path);
    EXPECT_EQ(seen.status, 200);
    EXPECT_EQ(seen.body, "page " + std::string(path));
  }
  EXPECT_EQ(get(raw().get(), "/").status, 404);
  EXPECT_EQ(handled_, 0);
}

// The kernel names who asks; the socket's mode has let it in.
TEST_F(AdminServerTest, AnotherUserMayReadAndNotOperate) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be somebody else";
  start();
  ASSERT_EQ(::chmod(path().c_str(), 0666), 0);
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0755), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool other = ::setgid(65534) == 0 && ::setuid(65534) == 0;
    auto asking = AdminClient::connect(path(), kPatience);
    const bool reads = asking && asking->call(ask("status"));
    const auto operates = asking ? asking->call(ask("reload")) : Result<std::string>();
    const bool denied = !operates && operates.error().code == Errc::denied;
    ::_exit(other && reads && denied ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(handled_, 1) << "the reload never came to the handler";
}

// A scraper that hangs takes its share of the places; root and the service have theirs.
TEST_F(AdminServerTest, AnotherUserTakesHisShareOnly) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be somebody else";
  start({.connections = 6, .idle = std::chrono::seconds(60), .per_peer = 2});
  ASSERT_EQ(::chmod(path().c_str(), 0666), 0);
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0755), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool other = ::setgid(65534) == 0 && ::setuid(65534) == 0;
    const auto first = connect_unix(path(), kPatience);
    const auto second = connect_unix(path(), kPatience);
    auto third = AdminClient::connect(path(), kPatience);
    ::_exit(other && first && second && third && !third->call(ask("status")) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::vector<UniqueFd> ours;
  for (int i = 0; i < 4; ++i) ours.push_back(raw());
  EXPECT_TRUE(client().call(ask("status")).has_value()) << "we may have more";
}

TEST_F(AdminServerTest, ItsThreadTakesNoSignals) {
  start();
  EXPECT_TRUE(client().call(ask("status")));
  EXPECT_TRUE(blocked_);
  sigset_t here;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &here);
  EXPECT_EQ(::sigismember(&here, SIGTERM), 0) << "the caller's mask is as it was";
}

TEST_F(AdminServerTest, AClientThatGoesAwayHarmsNobody) {
  start();
  for (int i = 0; i < 20; ++i) {
    const UniqueFd gone = raw();
    send_all(gone.get(), "GET /v1/rows?limit=40000 HTTP/1.1\r\nHost: test\r\n\r\n");
  }
  const auto answer = client().call(ask("status"));
  EXPECT_TRUE(answer) << answer.error().text;
}

TEST_F(AdminServerTest, StopLeavesNothingBehind) {
  const std::size_t before = open_descriptors();
  start();
  const UniqueFd silent = raw();
  AdminClient asking = client();
  ASSERT_TRUE(asking.call(ask("status")));
  server_->stop();
  EXPECT_EQ(read_to_end(silent.get()), "");
  EXPECT_EQ(asking.call(ask("status")).error().code, Errc::unavailable);
  EXPECT_FALSE(std::filesystem::exists(path()));
  EXPECT_EQ(open_descriptors(), before + 1) << "the silent client";
  server_->stop();
}

TEST_F(AdminServerTest, StartsAgainAfterAStop) {
  start();
  server_->stop();
  ASSERT_TRUE(
      server_->start(path(), [this](const auto& r, auto& a) { return handle(r, a); }, &page));
  EXPECT_TRUE(client().call(ask("status")));
}

TEST_F(AdminServerTest, AFailedStartLeavesTheOtherServerAlone) {
  start();
  AdminServer second(*clock_, *log_);
  const auto started = second.start(
      path(), [](const AdminRequest&, AdminReply&) -> Result<void> { return {}; }, &page);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Errc::busy);
  second.stop();
  EXPECT_TRUE(client().call(ask("status")));
}

TEST_F(AdminServerTest, ServesASocketThatWasHandedOver) {
  auto made = UnixListener::bind(path());
  ASSERT_TRUE(made);
  server_.emplace(*clock_, *log_);
  ASSERT_TRUE(server_->adopt(
      UniqueFd(::dup(made->fd())), [this](const auto& r, auto& a) { return handle(r, a); }, &page));
  EXPECT_TRUE(client().call(ask("status")));
  server_->stop();
  EXPECT_TRUE(std::filesystem::exists(path()));
}

TEST_F(AdminServerTest, ManyClientsAtOnce) {
  start();
  std::vector<std::thread> threads;
  std::atomic<int> answered{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      AdminClient mine = client();
      for (int n = 0; n < 50; ++n) {
        if (mine.call(ask("status"))) ++answered;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answered, 400);
}

TEST(AdminClientTest, SaysThatTheOtherSideIsNoDaemon) {
  const TempDir dir;
  const std::string path = dir / "s";
  const auto listener = UnixListener::bind(path);
  ASSERT_TRUE(listener);
  auto client = AdminClient::connect(path, milliseconds(50));
  ASSERT_TRUE(client);
  const auto silent = client->call(ask("status"));
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().code, Errc::unavailable);
  const UniqueFd given_up(::accept(listener->fd(), nullptr, nullptr));
  auto again = AdminClient::connect(path, kPatience);
  ASSERT_TRUE(again);
  const UniqueFd other(::accept(listener->fd(), nullptr, nullptr));
  send_all(other.get(), "220 smtp ready\r\n");
  ::shutdown(other.get(), SHUT_WR);
  const auto strange = again->call(ask("status"));
  ASSERT_FALSE(strange);
  EXPECT_EQ(strange.error().code, Errc::corrupt);
}

}  // namespace
}  // namespace sendonce::test
