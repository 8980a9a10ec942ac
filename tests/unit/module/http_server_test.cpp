#include "plugin/module/http/http_server.hpp"

#include <atomic>
#include <csignal>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin/module/http/tcp_listener.hpp"
#include "tests/support/http_exchange.hpp"

namespace sendonce::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::uint16_t port_of(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

class HttpServerTest : public ::testing::Test {
 protected:
  void start(HttpLimits limits = {}) {
    server_.emplace(*clock_, limits);
    auto socket = listen_tcp("127.0.0.1", 0);
    ASSERT_TRUE(socket) << socket.error().text;
    port_ = port_of(socket->get());
    const auto started = server_->start(*std::move(socket), "so-test", [this](const auto& q) {
      ++handled_;
      if (throws_) throw std::runtime_error("a bug");
      const std::lock_guard lock(mutex_);
      question_ = q;
      return reply_;
    });
    ASSERT_TRUE(started) << started.error().text;
  }
  HttpSeen ask(std::string_view target, std::string_view method = "GET") const {
    return get(connect_loopback(port_).get(), target, method);
  }

  [[nodiscard]] HttpQuestion asked() {
    const std::lock_guard lock(mutex_);
    return question_;
  }

  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::atomic<int> handled_{0};
  std::mutex mutex_{};
  HttpQuestion question_{};  // under mutex_
  HttpReply reply_{.body = "{}\n"};
  bool throws_ = false;
  std::uint16_t port_ = 0;
  std::optional<HttpServer> server_{};
};

TEST_F(HttpServerTest, AnswersOneRequestAConnection) {
  start();
  const HttpSeen seen = ask("/x");
  EXPECT_EQ(seen.status, 200);
  EXPECT_EQ(seen.body, "{}\n");
  EXPECT_THAT(seen.head, HasSubstr("Content-Type: application/json"));
  EXPECT_THAT(seen.head, HasSubstr("Content-Length: 3"));
  EXPECT_THAT(seen.head, HasSubstr("Connection: close"));
  const HttpQuestion question = asked();
  EXPECT_EQ(question.method, "GET");
  EXPECT_EQ(question.path, "/x");
  EXPECT_FALSE(question.peer) << "TCP does not say who asks";
}

TEST_F(HttpServerTest, FieldsOfTheHeadPassInBothDirections) {
  reply_.status = 303;
  reply_.fields = {{"Location", "/x"}, {"Set-Cookie", "a=b"}};
  start();
  const UniqueFd fd = connect_loopback(port_);
  send_all(fd.get(),
           "GET /y HTTP/1.1\r\nHost: h:1\r\nCookie: a=b; c=d\r\nX-Twice: 1\r\nx-twice: 2\r\n\r\n");
  const std::string answer = read_to_end(fd.get());
  EXPECT_THAT(answer, HasSubstr("Location: /x\r\n"));
  EXPECT_THAT(answer, HasSubstr("Set-Cookie: a=b\r\n"));
  const HttpQuestion question = asked();
  EXPECT_EQ(question.field("host"), "h:1");
  EXPECT_EQ(question.field("cookie"), "a=b; c=d");
  EXPECT_EQ(question.field("x-twice"), std::nullopt) << "which one?";
  EXPECT_EQ(question.field("origin"), std::nullopt);
}

TEST_F(HttpServerTest, AnExceptionOfTheHandlerEndsWithItsAnswer) {
  throws_ = true;
  start();
  EXPECT_EQ(ask("/x").status, 500);
  EXPECT_EQ(ask("/x").status, 500) << "and it goes on";
}

TEST_F(HttpServerTest, AnAnswerToHeadHasNoBody) {
  start();
  const HttpSeen seen = ask("/x", "HEAD");
  EXPECT_EQ(seen.status, 200);
  EXPECT_EQ(seen.body, "");
  EXPECT_THAT(seen.head, HasSubstr("Content-Length: 3"));
}

TEST_F(HttpServerTest, TheQueryComesDecodedAndInOrder) {
  start();
  EXPECT_EQ(ask("/a%20b?event=ord%2F1&x=&event=a+b&flag&u=%C3%A9").status, 200);
  const HttpQuestion question = asked();
  EXPECT_EQ(question.path, "/a b");
  EXPECT_THAT(question.query,
              ElementsAre(Pair("event", "ord/1"), Pair("x", ""), Pair("event", "a b"),
                          Pair("flag", ""), Pair("u", "\xC3\xA9")));
}

TEST_F(HttpServerTest, ALargeAnswerComesWhole) {
  reply_.body.assign(std::size_t{4} << 20U, 'x');
  start();
  EXPECT_EQ(ask("/x").body.size(), reply_.body.size());
}

TEST_F(HttpServerTest, WhatIsNoRequestIsNeverHandled) {
  start({.idle = seconds(1)});
  for (const std::string_view junk :
       {"\x16\x03\x01\x02garbage\r\n\r\n", "GET /x\r\n\r\n", "GET /x HTTP/1.1\r\n\r\n",
        "GET /x HTTP/9.9\r\nHost: a\r\n\r\n", "GET /x HTTP/1.1\r\nHost a\r\n\r\n"}) {
    const HttpSeen seen = say_http(connect_loopback(port_).get(), junk);
    EXPECT_TRUE(seen.status == 0 || seen.status >= 400) << junk << " got " << seen.status;
  }
  EXPECT_EQ(handled_, 0);
  EXPECT_EQ(ask("/x").status, 200);
}

TEST_F(HttpServerTest, ABodyIsRefused) {
  start();
  for (const std::string_view more :
       {"Content-Length: 2\r\n\r\n{}", "Content-Length: 9999999\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"}) {
    std::string request = "POST /x HTTP/1.1\r\nHost: test\r\n";
    EXPECT_EQ(say_http(connect_loopback(port_).get(), request += more).status, 413) << more;
  }
  EXPECT_EQ(handled_, 0);
  EXPECT_EQ(say_http(connect_loopback(port_).get(),
                     "POST /x HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n")
                .status,
            200);
}

TEST_F(HttpServerTest, AHeadThatIsTooLongIsRefused) {
  start();
  const std::string path(64UL * 1024, 'x');
  const int status = ask("/" + path).status;
  EXPECT_TRUE(status == 414 || status == 431) << status;
  std::string request = "GET / HTTP/1.1\r\nHost: test\r\nX: ";
  const HttpSeen seen = say_http(connect_loopback(port_).get(), request.append(path) += "\r\n\r\n");
  EXPECT_TRUE(seen.status == 431 || seen.status == 413) << seen.status;
  EXPECT_EQ(handled_, 0);
}

TEST_F(HttpServerTest, ARequestMayComeInPieces) {
  start();
  const UniqueFd fd = connect_loopback(port_);
  for (const char byte : std::string_view("GET /x HTTP/1.1\r\nHost: test\r\n\r"))
    send_all(fd.get(), {&byte, 1});
  EXPECT_EQ(say_http(fd.get(), "\n").status, 200);
}

TEST_F(HttpServerTest, WhoTricklesIsClosedAfterItsLife) {
  start({.connections = 1, .idle = seconds(30), .life = milliseconds(200)});
  const UniqueFd slow = connect_loopback(port_);
  send_all(slow.get(), "GET /x HTT");
  EXPECT_EQ(read_to_end(slow.get()), "") << "long before it counts as idle";
  EXPECT_EQ(ask("/x").status, 200) << "and makes room";
}

TEST_F(HttpServerTest, WhoIsSilentIsClosed) {
  start({.connections = 1, .idle = seconds(1)});
  const UniqueFd silent = connect_loopback(port_);
  EXPECT_EQ(ask("/x").status, 200) << "once the silent one is gone";
  EXPECT_EQ(read_to_end(silent.get()), "");
}

TEST_F(HttpServerTest, WhoDoesNotReadHoldsUpNobody) {
  reply_.body.assign(std::size_t{8} << 20U, 'x');
  start({.idle = seconds(1)});
  const UniqueFd lazy = connect_loopback(port_);
  send_all(lazy.get(), "GET /x HTTP/1.1\r\nHost: test\r\n\r\n");
  EXPECT_EQ(ask("/x").status, 200);
}

TEST_F(HttpServerTest, ACrowdIsServedInTurn) {
  start({.connections = 2});
  std::vector<std::thread> threads;
  std::atomic<int> answered{0};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 25; ++n)
        if (ask("/x").status == 200) ++answered;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answered, 200);
}

TEST_F(HttpServerTest, WhenEveryPlaceIsTakenTheStuckGoSoon) {
  start({.connections = 3, .idle = seconds(60), .crowded_life = milliseconds(200), .per_peer = 9});
  std::vector<UniqueFd> stuck;
  for (int i = 0; i < 3; ++i) {
    stuck.push_back(connect_loopback(port_));
    send_all(stuck.back().get(), "GET /x HTT");
  }
  EXPECT_EQ(ask("/x").status, 200) << "long before their life is over";
}

UniqueFd connect_from(const char* source, std::uint16_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in from{};
  from.sin_family = AF_INET;
  ::inet_pton(AF_INET, source, &from.sin_addr);
  sockaddr_in to = from;
  ::inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
  to.sin_port = htons(port);
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&from), sizeof from) != 0 ||
      ::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0)
    fd.reset();
  return fd;
}

TEST_F(HttpServerTest, OneAddressDoesNotTakeThePlacesOfTheOthers) {
  start({.connections = 6, .idle = seconds(60), .per_peer = 2});
  std::vector<UniqueFd> stuck;
  for (int i = 0; i < 2; ++i) stuck.push_back(connect_from("127.0.0.2", port_));
  const UniqueFd third = connect_from("127.0.0.2", port_);
  ASSERT_TRUE(third);
  EXPECT_EQ(read_to_end(third.get()), "") << "closed at once";
  EXPECT_EQ(ask("/x").status, 200) << "another address";
  stuck.clear();
  // And it is served again once it has let go.
  for (int status = 0; status != 200;)
    status = get(connect_from("127.0.0.2", port_).get(), "/x", "GET").status;
}

TEST_F(HttpServerTest, StopClosesWhoIsThereAndThePort) {
  start();
  const UniqueFd waiting = connect_loopback(port_);
  send_all(waiting.get(), "GET /x");
  server_->stop();
  EXPECT_EQ(read_to_end(waiting.get()), "");
  EXPECT_FALSE(connect_loopback(port_));
  server_->stop();
  start();
  EXPECT_EQ(ask("/x").status, 200);
}

TEST(TcpListenerTest, SaysWhatIsInTheWay) {
  const auto taken = listen_tcp("127.0.0.1", 0);
  ASSERT_TRUE(taken);
  EXPECT_EQ(listen_tcp("127.0.0.1", port_of(taken->get())).error().code, Errc::busy);
  EXPECT_EQ(listen_tcp("example.com", 80).error().code, Errc::invalid) << "no names";
  EXPECT_EQ(listen_tcp("192.0.2.1", 0).error().code, Errc::invalid) << "of another machine";
}

}  // namespace
}  // namespace sendonce::test
