// Credential exchange: one request to a URL of its own, never twice.
#include "tests/unit/transport/rig.hpp"
#include "tests/unit/transport/wire_fakes.hpp"

namespace sendonce::test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kGranted =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Two:  words here \r\n"
    "Content-Length: 14\r\n\r\n{\"token\":\"abc\"";

class Lane : public ::testing::Test {
 protected:
  void SetUp() override {
    add([](H2Options&) {});
  }
  void add(const std::function<void(H2Options&)>& tweak) {
    H2Options o{.name = "lane", .endpoint = "https://localhost", .ca_file = Pki::get().ca()};
    o.connect_timeout = 1s;
    tweak(o);
    rig.add(std::move(o));
  }
  bool ask(const std::string& url, std::uint64_t ticket = 1, Duration timeout = 3s) {
    HttpRequest r;
    r.url = url;
    r.headers.add("content-type", "application/x-www-form-urlencoded");
    r.headers.add("x-empty", "");
    r.body = "grant_type=jwt&assertion=x";
    return rig.transport->submit(Ticket(ticket), Driver::kProvider, std::move(r), timeout);
  }
  void expect_failure(const std::string& url, Effect effect, Cause cause, Duration timeout = 3s) {
    ASSERT_TRUE(ask(url, 1, timeout));
    ASSERT_TRUE(rig.all_ended(1));
    rig.expect_failed(1, effect, cause);
  }
  Driver rig;
};

TEST_F(Lane, brings_the_answer) {
  Http1Server server({kGranted});
  ASSERT_TRUE(ask(server.url("/token?x=1")));
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_answered(1, 200);
  EXPECT_EQ(rig.answer(1)->body, "{\"token\":\"abc\"");
  EXPECT_EQ(rig.answer(1)->headers.find("content-type"), "application/json");
  EXPECT_EQ(rig.answer(1)->headers.find("x-two"), "words here");
  ASSERT_EQ(server.requests().size(), 1U);
  EXPECT_THAT(server.requests()[0], ::testing::StartsWith("POST /token?x=1 HTTP/1.1\r\n"));
  EXPECT_THAT(server.requests()[0], HasSubstr("\r\n\r\ngrant_type=jwt&assertion=x"));
  EXPECT_THAT(server.requests()[0], HasSubstr("x-empty:"));
  EXPECT_THAT(server.requests()[0], Not(HasSubstr("Expect")));
}

TEST_F(Lane, hides_interim_answers_and_keeps_errors) {
  Http1Server server({std::string("HTTP/1.1 103 Hints\r\nLink: x\r\n\r\n") +
                      "HTTP/1.1 400 Bad\r\nContent-Length: 2\r\n\r\nno"});
  ASSERT_TRUE(ask(server.url()));
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_answered(1, 400);
  EXPECT_EQ(rig.answer(1)->body, "no");
  EXPECT_FALSE(rig.answer(1)->headers.find("link").has_value());
}

TEST_F(Lane, follows_no_redirect) {
  Http1Server other({kGranted});
  Http1Server server(
      {"HTTP/1.1 307 Go\r\nLocation: " + other.url() + "\r\nContent-Length: 0\r\n\r\n"});
  ASSERT_TRUE(ask(server.url()));
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_answered(1, 307);
  EXPECT_EQ(other.accepted(), 0);
}

TEST_F(Lane, silence_after_the_request_is_in_doubt) {
  for (const char* end : {"", "RST"}) {
    rig.ended.clear();
    Http1Server server({end, kGranted});
    expect_failure(server.url(), Effect::maybe_sent, Cause::connection_lost);
    EXPECT_EQ(server.requests().size(), 1U);  // never by itself a second time
  }
}

TEST_F(Lane, no_answer_in_time_is_in_doubt) {
  Http1Server server({"HANG"});
  expect_failure(server.url(), Effect::maybe_sent, Cause::timed_out, 300ms);
}

TEST_F(Lane, a_body_that_is_cut_is_in_doubt_with_what_came) {
  Http1Server server({"HTTP/1.1 200 OK\r\nX-Id: 7\r\nContent-Length: 100\r\n\r\nhalf"});
  expect_failure(server.url(), Effect::maybe_sent, Cause::connection_lost);
  ASSERT_TRUE(rig.failure(1)->partial.has_value());
  EXPECT_EQ(rig.failure(1)->partial->status, 200);
  EXPECT_EQ(rig.failure(1)->partial->headers.find("x-id"), "7");
}

TEST_F(Lane, what_is_no_http_is_our_configuration_and_in_doubt) {
  Http1Server server({"220 mail.example.com ESMTP\r\n"});
  expect_failure(server.url(), Effect::maybe_sent, Cause::tls);
}

TEST_F(Lane, answers_over_a_limit_are_in_doubt) {
  const std::string big(100000, 'x');
  Http1Server body({"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + big});
  expect_failure(body.url(), Effect::maybe_sent, Cause::oversized);
  rig.ended.clear();
  Http1Server head({"HTTP/1.1 200 OK\r\nX-Big: " + big.substr(0, 30000) + "\r\n\r\n"});
  expect_failure(head.url(), Effect::maybe_sent, Cause::oversized);
}

// The connection takes a while, and no byte may leave after the deadline: law 12.
TEST_F(Lane, nothing_leaves_after_a_deadline_that_came_while_connecting) {
  Http1Server server({kGranted});
  HttpRequest r;
  r.url = server.url();
  r.by_url = true;
  r.not_after_wall = rig.clock.wall() + 1min;
  ASSERT_TRUE(rig.transport->submit(Ticket(1), Driver::kProvider, std::move(r), 3s));
  rig.clock.push(2min);
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_failed(1, Effect::not_sent, Cause::not_started);
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(Lane, a_provider_of_http1_has_the_lanes_room) {
  add([](H2Options& o) {
    o.http1 = true;
    o.endpoint.clear();
    o.streams = 2;
  });
  EXPECT_EQ(rig.state().room, 2U);
  Http1Server server({"HANG"});
  HttpRequest r;
  r.url = server.url();
  r.by_url = true;
  ASSERT_TRUE(rig.transport->submit(Ticket(1), Driver::kProvider, std::move(r), 300ms));
  EXPECT_EQ(rig.state().room, 1U);
  EXPECT_EQ(rig.state().open, 1U);
  rig.transport->warm_up(Driver::kProvider);  // connects to nothing
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_failed(1, Effect::maybe_sent, Cause::timed_out);
  EXPECT_EQ(rig.state().room, 2U);
}

// libcurl keeps the first set it has seen for all, unless it is told not to.
TEST_F(Lane, each_provider_trusts_its_own_authorities_alone) {
  Http1Server server({kGranted, kGranted});
  ASSERT_TRUE(ask(server.url()));
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_answered(1, 200);
  H2Options other{.name = "other", .endpoint = "https://localhost"};
  other.ca_file = Pki::get().other_ca();
  ASSERT_TRUE(rig.transport->add_provider(ProviderIndex(1), other));
  HttpRequest r;
  r.url = server.url();
  ASSERT_TRUE(rig.transport->submit(Ticket(2), ProviderIndex(1), std::move(r), 3s));
  ASSERT_TRUE(rig.all_ended(2));
  rig.expect_failed(2, Effect::not_sent, Cause::tls);
}

TEST_F(Lane, no_connection_is_not_sent) {
  Http1Server wrong({kGranted}, "wrong");
  expect_failure(wrong.url(), Effect::not_sent, Cause::tls);
  EXPECT_TRUE(wrong.requests().empty());
  rig.ended.clear();
  Http1Server unknown({kGranted}, "unknown");
  expect_failure(unknown.url(), Effect::not_sent, Cause::tls);
  rig.ended.clear();
  expect_failure("https://no-such-name.invalid/", Effect::not_sent, Cause::connect);
  rig.ended.clear();
  BlackHole hole;
  expect_failure("https://127.0.0.1:" + std::to_string(hole.port()) + "/", Effect::not_sent,
                 Cause::connect, 300ms);
}

TEST_F(Lane, cancel_tells_what_is_proven) {
  BlackHole hole;
  Http1Server server({"HANG"});
  ASSERT_TRUE(ask("https://127.0.0.1:" + std::to_string(hole.port()) + "/", 1));
  ASSERT_TRUE(ask(server.url(), 2));
  ASSERT_TRUE(rig.until([&] { return !server.requests().empty(); }));
  rig.transport->cancel(Ticket(1));
  rig.transport->cancel(Ticket(2));
  rig.transport->cancel(Ticket(3));
  ASSERT_TRUE(rig.all_ended(2));
  rig.expect_failed(1, Effect::not_sent, Cause::cancelled);
  rig.expect_failed(2, Effect::maybe_sent, Cause::cancelled);
}

TEST_F(Lane, plain_http_only_to_loopback_and_only_when_asked) {
  Http1Server server({kGranted}, "server", false);
  expect_failure(server.url(), Effect::not_sent, Cause::not_started);
  EXPECT_EQ(server.accepted(), 0);
  rig.ended.clear();
  add([](H2Options& o) { o.insecure = true; });
  ASSERT_TRUE(ask(server.url()));
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_answered(1, 200);
  rig.ended.clear();
  expect_failure("http://192.0.2.1/", Effect::not_sent, Cause::not_started);
}

TEST_F(Lane, a_line_break_in_a_header_is_not_sent) {
  Http1Server server({kGranted});
  HttpRequest r;
  r.url = server.url();
  r.headers.add("x", "a\r\nevil: 1");
  ASSERT_TRUE(rig.transport->submit(Ticket(1), Driver::kProvider, std::move(r), 1s));
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_failed(1, Effect::not_sent, Cause::not_started);
  EXPECT_EQ(server.accepted(), 0);
}

TEST_F(Lane, goes_by_the_proxy) {
  Proxy proxy(Proxy::Mood::asks);
  Http1Server server({kGranted});
  add([&](H2Options& o) {
    o.proxy = proxy.url();
    o.proxy_credentials = Credential("user:pass");
  });
  ASSERT_TRUE(ask(server.url()));
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_answered(1, 200);
  EXPECT_EQ(proxy.accepted(), 1);
  EXPECT_THAT(server.requests().at(0), Not(HasSubstr("Proxy-Authorization")));
}

}  // namespace
}  // namespace sendonce::test
