// The parts without a socket: deadlines, endpoints, the words for failures.
#include <chrono>
#include <memory>
#include <vector>

#include <curl/curl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin/core/random.hpp"
#include "plugin/transport/curl/connect_failure.hpp"
#include "plugin/transport/endpoint.hpp"
#include "plugin/transport/h2/deadline_wheel.hpp"

namespace sendonce::test {
namespace {

using namespace std::chrono_literals;

MonoTime at(Duration d) {
  return MonoTime(d);
}
constexpr Duration kTick = 17ms;

TEST(DeadlineWheel, is_late_by_a_tick_at_most_and_never_early) {
  DeadlineWheel wheel(at(1h));
  std::vector<Call*> due;
  Random random(3);
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < 2000; ++i) {
    calls.push_back(std::make_unique<Call>());
    calls.back()->deadline = at(1h) + random.jitter(60s);  // several turns of the wheel
    wheel.arm(*calls.back());
  }
  std::size_t ended = 0;
  MonoTime now = at(1h);
  while (const auto next = wheel.next()) {
    ASSERT_GT(*next, now);
    const MonoTime before = now;
    now = *next;
    wheel.expire(now, due);
    for (const Call* call : due) {
      EXPECT_LE(call->deadline, now);
      EXPECT_GT(call->deadline + kTick, before);
    }
    ended += due.size();
    due.clear();
  }
  EXPECT_EQ(ended, calls.size());
}

TEST(DeadlineWheel, forgets_what_was_disarmed) {
  DeadlineWheel wheel(at(1h));
  Call a;
  Call b;
  Call c;
  for (Call* call : {&a, &b, &c}) {
    call->deadline = at(1h) + 1s;
    wheel.arm(*call);
  }
  wheel.disarm(b);
  wheel.disarm(b);
  std::vector<Call*> due;
  wheel.expire(at(1h) + 999ms, due);
  EXPECT_TRUE(due.empty());
  wheel.expire(at(2h), due);
  EXPECT_THAT(due, ::testing::UnorderedElementsAre(&a, &c));
  EXPECT_FALSE(wheel.next().has_value());
}

TEST(DeadlineWheel, takes_deadlines_that_have_passed_and_ones_without_end) {
  DeadlineWheel wheel(at(1h));
  Call late;
  late.deadline = at(1min);
  Call never;
  never.deadline = MonoTime::max();
  wheel.arm(late);
  wheel.arm(never);
  std::vector<Call*> due;
  wheel.expire(at(1h) + 2 * kTick, due);
  EXPECT_THAT(due, ::testing::ElementsAre(&late));
  due.clear();
  wheel.expire(at(1h) + 1000h, due);
  EXPECT_TRUE(due.empty());
}

TEST(Endpoint, is_taken_apart) {
  const auto usual = parse_endpoint("https://api.push.apple.com", false);
  ASSERT_TRUE(usual.has_value());
  EXPECT_EQ(usual->host, "api.push.apple.com");
  EXPECT_EQ(usual->port, 443);
  EXPECT_EQ(usual->authority, "api.push.apple.com");
  const auto port = parse_endpoint("https://[::1]:8443/", false);
  ASSERT_TRUE(port.has_value());
  EXPECT_EQ(port->host, "[::1]");
  EXPECT_EQ(port->authority, "[::1]:8443");
  const auto url = parse_url("https://oauth2.googleapis.com/token?x=a:b@c", false);
  ASSERT_TRUE(url.has_value());
  EXPECT_EQ(url->authority, "oauth2.googleapis.com");
}

TEST(Endpoint, that_could_mislead_is_refused) {
  for (const char* text : {"",
                           "localhost",
                           "ftp://localhost",
                           "https://",
                           "https://:443",
                           "https://a:0",
                           "https://a:65536",
                           "https://a:4x",
                           "https://u@a",
                           "https://u:p@a",
                           "https://a/path",
                           "https://a?q",
                           "https://a#f",
                           "https://a b",
                           "https://a\r\nb",
                           "https://[::1",
                           "https://[evil]",
                           "http://a",
                           "http://localhost",
                           "HTTPS://a"}) {
    EXPECT_FALSE(parse_endpoint(text, false).has_value()) << text;
  }
  EXPECT_TRUE(parse_endpoint("http://localhost:80", true).has_value());
  EXPECT_TRUE(parse_endpoint("http://127.0.0.1", true).has_value());
  EXPECT_FALSE(parse_endpoint("http://example.com", true).has_value());
  EXPECT_FALSE(parse_endpoint("http://127.0.0.1.evil.com", true).has_value());
}

struct Told {
  ConnectReport report{};
  Cause cause = Cause::connect;
  const char* words = "";
};

TEST(ConnectFailure, has_a_cause_and_words_for_each_code) {
  const ConnectTarget plain{.peer = "api.example:443"};
  const Told cases[] = {
      {{.code = CURLE_COULDNT_RESOLVE_HOST}, Cause::connect, "api.example:443"},
      {{.code = CURLE_COULDNT_CONNECT, .os_errno = ECONNREFUSED}, Cause::connect, "refused"},
      {{.code = CURLE_COULDNT_CONNECT, .os_errno = ENETUNREACH}, Cause::connect, "unreachable"},
      {{.code = CURLE_OPERATION_TIMEDOUT, .phase = ConnectPhase::reaching},
       Cause::connect,
       "firewalls"},
      {{.code = CURLE_PEER_FAILED_VERIFICATION, .verify_result = 1}, Cause::tls, "host name"},
      {{.code = CURLE_PEER_FAILED_VERIFICATION, .verify_result = 10}, Cause::tls, "clocks"},
      {{.code = CURLE_PEER_FAILED_VERIFICATION, .verify_result = 20}, Cause::tls, "check tls.ca"},
      {{.code = CURLE_SSL_CONNECT_ERROR, .detail = "x: no application protocol"},
       Cause::tls,
       "version = \"1.1\""},
      {{.code = CURLE_SSL_CONNECT_ERROR, .detail = "x: wrong version number"},
       Cause::tls,
       "does not speak TLS"},
      {{.code = CURLE_SSL_CONNECT_ERROR, .detail = "x: sslv3 alert bad certificate"},
       Cause::client_auth,
       "none is configured"},
      {{.code = CURLE_SSL_CERTPROBLEM}, Cause::client_auth, "client certificate"},
      {{.code = CURLE_ABORTED_BY_CALLBACK, .tls_done = true, .h2 = false},
       Cause::tls,
       "version = \"1.1\""},
      {{.code = CURLE_UNSUPPORTED_PROTOCOL}, Cause::connect, "failed"},
  };
  for (const Told& c : cases) {
    const ConnectFailure got = explain(c.report, plain);
    EXPECT_EQ(name(got.cause), name(c.cause)) << got.text;
    EXPECT_THAT(got.text, ::testing::HasSubstr(c.words));
  }
}

TEST(ConnectFailure, does_not_blame_the_version_that_nobody_asked_for) {
  const ConnectFailure got =
      explain({.code = CURLE_SSL_CONNECT_ERROR, .detail = "x: no application protocol"},
              {.peer = "api.example:443", .asks_h2 = false});
  EXPECT_EQ(got.text, "api.example:443 does not offer HTTP/1.1: check endpoint and proxy");
}

TEST(ConnectFailure, names_the_proxy_when_it_is_to_blame) {
  const ConnectTarget by_proxy{.peer = "api.example:443", .proxy = "http://proxy:3128"};
  const ConnectPhase phase = ConnectPhase::proxying;
  const auto asks =
      explain({.code = CURLE_RECV_ERROR, .proxy_status = 407, .phase = phase}, by_proxy);
  EXPECT_EQ(asks.cause, Cause::tls) << "nothing of ours was refused: something is missing";
  EXPECT_THAT(asks.text, ::testing::HasSubstr("set proxy_credentials"));
  ConnectTarget known = by_proxy;
  known.proxy_credentials = true;
  const auto refuses =
      explain({.code = CURLE_RECV_ERROR, .proxy_status = 407, .phase = phase}, known);
  EXPECT_EQ(refuses.cause, Cause::client_auth);
  EXPECT_THAT(refuses.text, ::testing::HasSubstr("renew proxy_credentials"));
  const auto bad =
      explain({.code = CURLE_RECV_ERROR, .proxy_status = 502, .phase = phase}, by_proxy);
  EXPECT_EQ(bad.cause, Cause::connect);
  EXPECT_THAT(bad.text, ::testing::HasSubstr("502"));
  const auto gone = explain({.code = CURLE_COULDNT_CONNECT}, by_proxy);
  EXPECT_THAT(gone.text, ::testing::HasSubstr("http://proxy:3128"));
  const auto lost = explain({.code = CURLE_COULDNT_RESOLVE_PROXY}, by_proxy);
  EXPECT_THAT(lost.text, ::testing::HasSubstr("http://proxy:3128"));
}

}  // namespace
}  // namespace sendonce::test
