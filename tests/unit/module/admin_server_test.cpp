#include "plugin/module/admin/admin_server.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/module/admin/admin_client.hpp"
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
  void start(AdminLimits limits = {}) {
    server_.emplace(*clock_, *log_, limits);
    const auto started = server_->start(
        path(), [this](const AdminRequest& r, AdminReply& a) { return handle(r, a); });
    ASSERT_TRUE(started) << started.error().text;
  }

  Result<void> handle(const AdminRequest& request, AdminReply& reply) {
    ++handled_;
    if (request.verb == "status") {
      reply.result(R"({"state":"ready"})");
      return {};
    }
    if (request.verb == "list") return list(request, reply);
    if (request.verb == "signals") {
      sigset_t blocked;
      ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
      reply.result(::sigismember(&blocked, SIGTERM) == 1 && ::sigismember(&blocked, SIGHUP) == 1
                       ? R"({"blocked":true})"
                       : R"({"blocked":false})");
      return {};
    }
    return fail(Errc::invalid, "there is no verb '" + request.verb + "'");
  }

  static Result<void> list(const AdminRequest& request, AdminReply& reply) {
    SO_TRY(const std::int64_t wanted, request.number_or("count", 0));
    std::int64_t n = 0;
    while (n < wanted && reply.item("{\"n\":" + std::to_string(n) + "}")) ++n;
    reply.result("{\"next\":" + std::to_string(n) + "}");
    return {};
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
  std::optional<AdminServer> server_;
};

// recv, again when a signal cut it short: with a timeout on the socket, stop and continue do so.
ssize_t receive(int fd, std::span<char> to) {
  ssize_t got = 0;
  do {
    got = ::recv(fd, to.data(), to.size(), 0);
  } while (got < 0 && errno == EINTR);
  return got;
}

// All that comes until the other side closes.
std::string read_to_end(int fd) {
  std::string text;
  std::array<char, 4096> buffer{};
  ssize_t got = 0;
  while ((got = receive(fd, buffer)) > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::string read_line(int fd) {
  std::string line;
  char byte = 0;
  while (receive(fd, {&byte, 1}) == 1 && byte != '\n') line += byte;
  return line;
}

void send_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;  // the server may hang up on us
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

TEST_F(AdminServerTest, AnswersAgainAndAgainOnOneConnection) {
  start();
  AdminClient one = client();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(one.call(ask("status")).value(), R"({"state":"ready"})");
  EXPECT_EQ(handled_, 3);
}

TEST_F(AdminServerTest, HandsOutAListLineByLine) {
  start();
  AdminClient one = client();
  std::vector<std::string> items;
  AdminRequest request = ask("list");
  request.arguments.emplace_back("count", std::int64_t{3});
  const auto result = one.call(request, [&](std::string_view json) { items.emplace_back(json); });
  EXPECT_EQ(result.value(), R"({"next":3})");
  EXPECT_EQ(items, (std::vector<std::string>{R"({"n":0})", R"({"n":1})", R"({"n":2})"}));
}

TEST_F(AdminServerTest, ALongListEndsWhereTheReplyIsFull) {
  start({.reply_bytes = 1000});
  AdminClient one = client();
  std::size_t items = 0;
  AdminRequest request = ask("list");
  request.arguments.emplace_back("count", std::int64_t{1'000'000});
  const auto result = one.call(request, [&](std::string_view) { ++items; });
  EXPECT_EQ(result.value(), "{\"next\":" + std::to_string(items) + "}");
  EXPECT_GT(items, 10U);
  EXPECT_LT(items, 100U);
}

TEST_F(AdminServerTest, AnErrorOfTheHandlerReachesTheClient) {
  start();
  AdminClient one = client();
  const auto result = one.call(ask("explode"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::invalid);
  EXPECT_EQ(result.error().text, "there is no verb 'explode'");
  EXPECT_TRUE(one.call(ask("status"))) << "the connection lives on";
}

TEST_F(AdminServerTest, ItsThreadTakesNoSignals) {
  start();
  EXPECT_EQ(client().call(ask("signals")).value(), R"({"blocked":true})");
  sigset_t here;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &here);
  EXPECT_EQ(::sigismember(&here, SIGTERM), 0) << "the caller's mask is as it was";
}

TEST_F(AdminServerTest, JunkIsAnsweredWithAnErrorAndNeverHandled) {
  start();
  const UniqueFd fd = raw();
  for (const std::string_view junk :
       {"\n", "GET / HTTP/1.1\r\n", "{\"verb\":\n", "\x01\x02\xff\n"}) {
    send_all(fd.get(), junk);
    EXPECT_TRUE(read_line(fd.get()).starts_with(R"({"ok":false,"error":{"code":"invalid")"));
  }
  EXPECT_EQ(handled_, 0);
  send_all(fd.get(), "{\"verb\":\"status\"}\r\n");
  EXPECT_EQ(read_line(fd.get()), R"({"ok":true,"result":{"state":"ready"}})");
}

TEST_F(AdminServerTest, ARequestMayComeInPiecesAndManyAtOnce) {
  start();
  const UniqueFd fd = raw();
  for (const char byte : std::string_view("{\"verb\":\"status\"}\n")) {
    send_all(fd.get(), {&byte, 1});
  }
  EXPECT_EQ(read_line(fd.get()), R"({"ok":true,"result":{"state":"ready"}})");
  send_all(fd.get(), "{\"verb\":\"status\"}\n{\"verb\":\"no\"}\n{\"verb\":\"status\"}\n{\"ver");
  ::shutdown(fd.get(), SHUT_WR);
  const std::string rest = read_to_end(fd.get());
  EXPECT_EQ(std::ranges::count(rest, '\n'), 3) << rest;
  EXPECT_EQ(handled_, 4);
}

TEST_F(AdminServerTest, ATooLongRequestIsRefusedAndEndsTheConnection) {
  start();
  for (const bool ends : {false, true}) {
    const UniqueFd fd = raw();
    send_all(fd.get(), std::string(64UL * 1024 + 1, 'x'));
    if (ends) send_all(fd.get(), "\n");
    const std::string answer = read_to_end(fd.get());
    EXPECT_NE(answer.find("at most 65536 bytes"), std::string::npos) << answer;
  }
  EXPECT_EQ(handled_, 0);
}

TEST_F(AdminServerTest, TheLongestRequestIsTaken) {
  start();
  const UniqueFd fd = raw();
  std::string request = R"({"verb":"status","x":")";
  request.append(64UL * 1024 - request.size() - 2, 'x').append("\"}\n");
  send_all(fd.get(), request);
  EXPECT_EQ(read_line(fd.get()), R"({"ok":true,"result":{"state":"ready"}})");
}

TEST_F(AdminServerTest, AClientThatDoesNotReadHoldsUpNobody) {
  start({.reply_bytes = 8UL << 20});
  const UniqueFd lazy = raw();
  send_all(lazy.get(), "{\"verb\":\"list\",\"count\":100000}\n{\"verb\":\"status\"}\n");
  EXPECT_TRUE(client().call(ask("status"))) << "while megabytes wait for the lazy one";
  ::shutdown(lazy.get(), SHUT_WR);
  const std::string all = read_to_end(lazy.get());
  EXPECT_EQ(std::ranges::count(all, '\n'), 100'002);
  EXPECT_TRUE(all.ends_with("{\"ok\":true,\"result\":{\"state\":\"ready\"}}\n"));
}

TEST_F(AdminServerTest, AClientThatGoesAwayHarmsNobody) {
  start({.reply_bytes = 8UL << 20});
  for (int i = 0; i < 20; ++i) {
    const UniqueFd gone = raw();
    send_all(gone.get(), "{\"verb\":\"list\",\"count\":40000}\n");  // more than a socket holds
  }
  const auto answer = client().call(ask("status"));
  EXPECT_TRUE(answer) << answer.error().text;
}

TEST_F(AdminServerTest, TooManyClientsAreToldSo) {
  start({.connections = 2});
  AdminClient one = client();
  AdminClient two = client();
  ASSERT_TRUE(one.call(ask("status")));
  ASSERT_TRUE(two.call(ask("status")));
  const auto refused = client().call(ask("status"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::exhausted);
  EXPECT_TRUE(one.call(ask("status")));
}

TEST_F(AdminServerTest, AnIdleClientIsClosedAndMakesRoom) {
  start({.connections = 1, .idle = milliseconds(50)});
  const UniqueFd idle = raw();
  EXPECT_EQ(read_to_end(idle.get()), "");
  EXPECT_TRUE(client().call(ask("status")));
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
  EXPECT_EQ(open_descriptors(), before + 2) << "the two clients";
  server_->stop();
}

TEST_F(AdminServerTest, StartsAgainAfterAStop) {
  start();
  server_->stop();
  ASSERT_TRUE(server_->start(path(), [this](const auto& r, auto& a) { return handle(r, a); }));
  EXPECT_TRUE(client().call(ask("status")));
}

TEST_F(AdminServerTest, AFailedStartLeavesTheOtherServerAlone) {
  start();
  AdminServer second(*clock_, *log_);
  const auto started =
      second.start(path(), [](const AdminRequest&, AdminReply&) -> Result<void> { return {}; });
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Errc::busy);
  second.stop();
  EXPECT_TRUE(client().call(ask("status")));
}

TEST_F(AdminServerTest, ServesASocketThatWasHandedOver) {
  auto made = UnixListener::bind(path());
  ASSERT_TRUE(made);
  server_.emplace(*clock_, *log_);
  ASSERT_TRUE(server_->adopt(UniqueFd(::dup(made->fd())),
                             [this](const auto& r, auto& a) { return handle(r, a); }));
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
  const UniqueFd other(::accept(listener->fd(), nullptr, nullptr));
  send_all(other.get(), "220 smtp ready\r\n");
  const auto strange = client->call(ask("status"));
  ASSERT_FALSE(strange);
  EXPECT_EQ(strange.error().code, Errc::corrupt);
}

}  // namespace
}  // namespace sendonce::test
