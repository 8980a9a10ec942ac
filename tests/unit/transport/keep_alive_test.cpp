// Deliveries over HTTP/1.1: connections are used again, and nothing is sent twice for it.
#include "tests/unit/transport/rig.hpp"
#include "tests/unit/transport/wire_fakes.hpp"

namespace sendonce::test {
namespace {

constexpr const char* kTaken = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

class KeepAlive : public ::testing::Test {
 protected:
  void SetUp() override {
    H2Options o{.name = "gate", .ca_file = Pki::get().ca(), .streams = 4, .http1 = true};
    o.connect_timeout = 1s;
    rig.add(std::move(o));
  }
  void ask(const Http1Server& server, std::uint64_t ticket) {
    HttpRequest r;
    r.url = server.url();
    r.by_url = true;
    r.body = "{\"n\":1}";
    ASSERT_TRUE(rig.transport->submit(Ticket(ticket), Driver::kProvider, std::move(r), 3s));
    ASSERT_TRUE(rig.all_ended(ticket));
  }
  Driver rig;
};

TEST_F(KeepAlive, one_connection_serves_many_requests) {
  Http1Server server({kTaken}, "server", true, true);
  for (std::uint64_t i = 1; i <= 20; ++i) {
    ask(server, i);
    rig.expect_answered(i, 200);
  }
  EXPECT_EQ(server.accepted(), 1);
  EXPECT_EQ(server.requests().size(), 20U);
}

// libcurl would send the request once more on a new connection, and say nothing.
class Dying : public KeepAlive, public ::testing::WithParamInterface<const char*> {};

TEST_P(Dying, a_request_on_a_used_connection_that_dies_is_in_doubt_and_not_repeated) {
  for (const bool tls : {true, false}) {
    Http1Server server({kTaken, GetParam(), kTaken}, "server", tls, true);
    H2Options o{.name = "gate", .ca_file = Pki::get().ca(), .streams = 4, .http1 = true};
    o.insecure = !tls;
    rig.add(std::move(o));
    rig.ended.clear();
    ask(server, 1);
    rig.expect_answered(1, 200);
    ask(server, 2);
    rig.expect_failed(2, Effect::maybe_sent, Cause::connection_lost);
    rig.for_a_while(50ms);
    EXPECT_EQ(server.requests().size(), 2U);
    EXPECT_EQ(rig.ended.size(), 2U);
    ask(server, 3);  // goes by a new one
    rig.expect_answered(3, 200);
    EXPECT_EQ(server.requests().size(), 3U);
    EXPECT_LE(server.accepted(), 3);  // libcurl has connected once more, before it was stopped
  }
}

INSTANTIATE_TEST_SUITE_P(How, Dying, ::testing::Values("", "RST"), [](const auto& tested) {
  return std::string_view(tested.param) == "RST" ? "reset" : "closed";
});

// More than was asked for belongs to nobody: the next request must not take it for its answer.
TEST_F(KeepAlive, an_answer_too_many_is_nobodys) {
  const std::string twice =
      std::string(kTaken) + "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n";
  Http1Server server({twice, kTaken}, "server", true, true);
  ask(server, 1);
  rig.expect_answered(1, 200);
  ask(server, 2);
  rig.expect_answered(2, 200);
}

TEST_F(KeepAlive, a_farewell_is_obeyed) {
  Http1Server server({"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"},
                     "server", true, true);
  ask(server, 1);
  ask(server, 2);
  rig.expect_answered(2, 200);
  EXPECT_EQ(server.accepted(), 2);
}

// Two providers may call the same host, and not trust the same authorities.
TEST_F(KeepAlive, no_provider_uses_the_connections_of_another) {
  Http1Server server({kTaken}, "server", true, true);
  ask(server, 1);
  rig.expect_answered(1, 200);
  H2Options other{.name = "other", .ca_file = Pki::get().other_ca(), .http1 = true};
  ASSERT_TRUE(rig.transport->add_provider(ProviderIndex(1), other));
  HttpRequest r;
  r.url = server.url();
  r.by_url = true;
  ASSERT_TRUE(rig.transport->submit(Ticket(2), ProviderIndex(1), std::move(r), 300ms));
  ASSERT_TRUE(rig.all_ended(2));
  const CallFailure* failure = rig.failure(2);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->effect, Effect::not_sent);
  EXPECT_EQ(server.requests().size(), 1U);
}

// A provider that stalls has its own places.
TEST_F(KeepAlive, a_stalled_provider_takes_no_room_from_another) {
  Http1Server stalled({"HANG"}, "server", true, true);
  Http1Server server({kTaken}, "server", true, true);
  ASSERT_TRUE(rig.transport->add_provider(
      ProviderIndex(1), H2Options{.name = "other", .ca_file = Pki::get().ca(), .http1 = true}));
  for (std::uint64_t i = 0; rig.state().room > 0; ++i) {
    HttpRequest r;
    r.url = stalled.url();
    r.by_url = true;
    ASSERT_TRUE(rig.transport->submit(Ticket(100 + i), Driver::kProvider, std::move(r), 30s));
  }
  HttpRequest r;
  r.url = server.url();
  r.by_url = true;
  ASSERT_TRUE(rig.transport->submit(Ticket(1), ProviderIndex(1), std::move(r), 3s));
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_answered(1, 200);
  rig.transport.reset();
}

}  // namespace
}  // namespace sendonce::test
