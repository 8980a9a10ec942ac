// What can go wrong before a connection is ready, and in which words it is told.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/transport/rig.hpp"
#include "tests/unit/transport/wire_fakes.hpp"

namespace sendonce::test {
namespace {

using ::testing::HasSubstr;

// A request is queued, no connection comes up: it must end as not sent, with the reason.
void expect_no_connection(Driver& rig, Cause cause, const std::string& words, Duration limit = 5s) {
  ASSERT_TRUE(rig.submit("/ok", 1));
  ASSERT_TRUE(rig.all_ended(1, limit));
  rig.expect_failed(1, Effect::not_sent, cause);
  EXPECT_THAT(rig.failure(1)->text, HasSubstr(words));
  const PoolState s = rig.state();
  EXPECT_EQ(s.room, 0U);
  EXPECT_THAT(s.last_error, HasSubstr(words));
  EXPECT_EQ(s.last_cause, cause);
  EXPECT_TRUE(s.retry_at.has_value());
  EXPECT_FALSE(rig.submit("/ok", 2));  // not before the pause is over
}

void expect_tls_failure(
    const FaultOptions& faults, Cause cause, const std::string& words,
    const std::function<void(H2Options&)>& tweak = [](H2Options&) {}) {
  Rig rig(faults, tweak);
  expect_no_connection(rig, cause, words);
  EXPECT_EQ(rig.server.totals().plaintext, 0U);  // not a byte of HTTP left
  rig.hold_against_witness();
}

TEST(H2Tls, wrong_name) {
  expect_tls_failure({.identity = "wrong"}, Cause::tls, "host name");
}
TEST(H2Tls, unknown_authority) {
  expect_tls_failure({.identity = "unknown"}, Cause::tls, "check tls.ca");
}
TEST(H2Tls, expired) {
  expect_tls_failure({.identity = "expired"}, Cause::tls, "expired");
}
TEST(H2Tls, no_alpn) {
  expect_tls_failure({.alpn = "none"}, Cause::tls, "HTTP/2");
}
TEST(H2Tls, alpn_alert) {
  expect_tls_failure({.alpn = "alert"}, Cause::tls, "HTTP/2");
}
TEST(H2Tls, http1_only) {
  expect_tls_failure({.alpn = "http/1.1"}, Cause::tls, "check endpoint");
}

// The machine's own CAs must not be trusted beside the one that was named.
TEST(H2Tls, system_authorities_are_not_trusted_beside_a_named_one) {
  Rig rig({}, [](H2Options& o) { o.ca_file = Pki::get().other_ca(); });
  expect_no_connection(rig, Cause::tls, "check tls.ca");
}

// libcurl keeps the first set it has seen for all, unless it is told not to.
TEST(H2Tls, each_provider_trusts_its_own_authorities_alone) {
  Rig rig;
  ASSERT_TRUE(rig.connected());
  const FaultServer of_the_other({.identity = "unknown"});
  H2Options pinned_elsewhere = Rig::to(rig.server);
  H2Options other = Rig::to(of_the_other);
  pinned_elsewhere.ca_file = other.ca_file = Pki::get().other_ca();
  ASSERT_TRUE(rig.transport->add_provider(ProviderIndex(1), pinned_elsewhere));
  ASSERT_TRUE(rig.transport->add_provider(ProviderIndex(2), other));
  for (const std::uint16_t provider : std::initializer_list<std::uint16_t>{1, 2})
    ASSERT_TRUE(rig.transport->submit(Ticket(provider), ProviderIndex(provider),
                                      Driver::request("/ok", provider), 10s));
  ASSERT_TRUE(rig.all_ended(2));
  rig.expect_failed(1, Effect::not_sent, Cause::tls);
  rig.expect_answered(2, 200);
}

TEST(H2Tls, by_address_and_by_tls12) {
  Rig rig({.tls12 = true},
          [](H2Options& o) { o.endpoint.replace(o.endpoint.find("localhost"), 9, "127.0.0.1"); });
  ASSERT_TRUE(rig.connected());
  ASSERT_TRUE(rig.submit("/ok", 1));
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_answered(1, 200);
}

TEST(H2Tls, something_that_is_not_tls) {
  Proxy plain(Proxy::Mood::broken);
  Driver rig;
  rig.add({.endpoint = "https://localhost:" + std::to_string(plain.port()),
           .ca_file = Pki::get().ca(),
           .connect_timeout = 500ms});
  // It waits for a line that never comes; nothing is sent either way.
  expect_no_connection(rig, Cause::connect, "too long");
}

TEST(H2Tls, sessions_are_resumed) {
  Rig rig;
  ASSERT_TRUE(rig.connected());
  rig.for_a_while(30ms);  // tickets arrive after the handshake
  rig.transport->renew(Driver::kProvider);
  ASSERT_TRUE(rig.until([&] { return rig.state().connects == 2; }));
  EXPECT_EQ(rig.server.totals().resumed, 1);
}

void with_client(H2Options& o, const char* who) {
  o.client_certificate = Pki::get().certificate(who);
  o.client_key = Pki::get().key(who);
}

TEST(H2ClientCertificate, is_shown) {
  Rig rig({.wants_client = true}, [](H2Options& o) { with_client(o, "client"); });
  ASSERT_TRUE(rig.connected());
  EXPECT_EQ(rig.server.totals().with_client_certificate, 1);
}

TEST(H2ClientCertificate, refused_or_missing_is_the_operators_business) {
  for (const bool tls12 : {false, true}) {
    const FaultOptions faults{.wants_client = true, .tls12 = tls12};
    expect_tls_failure(faults, Cause::client_auth, "client certificate",
                       [](H2Options& o) { with_client(o, "stranger"); });
  }
  // Without a certificate of ours there is nothing to suspect when the peer's alert gets lost
  // behind the reset that our first bytes provoked; under TLS 1.2 it cannot.
  expect_tls_failure({.wants_client = true, .tls12 = true}, Cause::tls, "TLS handshake");
  Rig rig({.wants_client = true});
  ASSERT_TRUE(rig.submit("/ok", 1));
  ASSERT_TRUE(rig.all_ended(1));
  ASSERT_NE(rig.failure(1), nullptr);
  EXPECT_EQ(rig.failure(1)->effect, Effect::not_sent);
  EXPECT_THAT(rig.failure(1)->text,
              ::testing::AnyOf(HasSubstr("none is configured"), HasSubstr("right after TLS")));
}

TEST(H2ClientCertificate, that_cannot_be_used_is_named) {
  expect_tls_failure({}, Cause::client_auth, "client certificate", [](H2Options& o) {
    o.client_certificate = Pki::get().certificate("client");
    o.client_key = Pki::get().key("stranger");
  });
  expect_tls_failure({}, Cause::client_auth, "client certificate",
                     [](H2Options& o) { o.client_certificate = Pki::get().at("no-such.pem"); });
}

TEST(H2ClientCertificate, is_suspected_when_the_peer_closes_before_its_settings) {
  Rig rig({.close_after_tls = true}, [](H2Options& o) { with_client(o, "client"); });
  expect_no_connection(rig, Cause::client_auth, "client certificate");
}

TEST(H2Reach, closed_before_settings) {
  Rig rig({.close_after_tls = true});
  expect_no_connection(rig, Cause::connect, "right after TLS");
}

TEST(H2Reach, no_settings) {
  Rig rig({.mute = true}, [](H2Options& o) { o.connect_timeout = 200ms; });
  expect_no_connection(rig, Cause::connect, "SETTINGS");
  EXPECT_TRUE(rig.server.seen().empty());
}

TEST(H2Reach, tls_never_answers) {
  Rig rig({.hang = true}, [](H2Options& o) { o.connect_timeout = 200ms; });
  expect_no_connection(rig, Cause::connect, "TLS handshake");
}

int unused_port() {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof a;
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&a), size), 0);
  EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&a), &size), 0);
  ::close(fd);
  return ntohs(a.sin_port);
}

TEST(H2Reach, refused) {
  Driver rig;
  rig.add({.endpoint = "https://127.0.0.1:" + std::to_string(unused_port()),
           .ca_file = Pki::get().ca()});
  expect_no_connection(rig, Cause::connect, "Connection refused");
}

TEST(H2Reach, name_unknown) {
  Driver rig;
  rig.add({.endpoint = "https://no-such-name.invalid", .ca_file = Pki::get().ca()});
  expect_no_connection(rig, Cause::connect, "DNS");
}

TEST(H2Reach, syn_dropped) {
  BlackHole hole;
  Driver rig;
  rig.add({.endpoint = "https://127.0.0.1:" + std::to_string(hole.port()),
           .ca_file = Pki::get().ca(),
           .connect_timeout = 300ms});
  expect_no_connection(rig, Cause::connect, "firewalls");
}

TEST(H2Reach, a_slow_name_server_blocks_nothing) {
  FaultServer fast;
  Driver rig;
  rig.add(
      {.endpoint = "https://slow.example", .ca_file = Pki::get().ca(), .connect_timeout = 300ms});
  ASSERT_TRUE(rig.transport->add_provider(ProviderIndex(1), Rig::to(fast)).has_value());
  rig.transport->warm_up(ProviderIndex(1));
  rig.longest_step = {};
  ASSERT_TRUE(rig.submit("/ok", 1));
  ASSERT_TRUE(rig.until([&] { return rig.transport->state(ProviderIndex(1)).room > 0; }));
  ASSERT_TRUE(rig.transport->submit(Ticket(2), ProviderIndex(1), Driver::request("/ok", 2), 5s));
  ASSERT_TRUE(rig.all_ended(2));
  rig.expect_failed(1, Effect::not_sent, Cause::connect);
  EXPECT_THAT(rig.failure(1)->text, HasSubstr("DNS"));
  rig.expect_answered(2, 200);
  const auto before = rig.real->mono();
  rig.transport.reset();  // gives up while the resolver still sleeps
  EXPECT_LT(rig.real->mono() - before, 1s);
  EXPECT_LT(rig.longest_step, 1s);  // one look-up takes three
}

// ---- proxies --------------------------------------------------------------------------------

void expect_by_proxy(Proxy::Mood mood, const std::string& credentials) {
  Proxy proxy(mood);
  Rig rig({}, [&](H2Options& o) {
    o.proxy = proxy.url();
    o.proxy_credentials = Credential(credentials);
  });
  ASSERT_TRUE(rig.connected());
  ASSERT_TRUE(rig.submit("/ok", 1));
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_answered(1, 200);
  ASSERT_FALSE(proxy.requests().empty());
  EXPECT_THAT(proxy.requests().back(),
              HasSubstr("CONNECT localhost:" + std::to_string(rig.server.port())));
  rig.hold_against_witness();
}

TEST(H2Proxy, passes) {
  expect_by_proxy(Proxy::Mood::open, "");
}
TEST(H2Proxy, passes_with_credentials) {
  expect_by_proxy(Proxy::Mood::asks, "user:pass");
}
TEST(H2Proxy, answers_in_pieces) {
  expect_by_proxy(Proxy::Mood::slow, "");
}

void expect_proxy_failure(Proxy::Mood mood, Cause cause, const std::string& words,
                          const std::string& credentials = "") {
  Proxy proxy(mood);
  Rig rig({}, [&](H2Options& o) {
    o.proxy = proxy.url();
    o.proxy_credentials = Credential(credentials);
    o.connect_timeout = 400ms;
  });
  expect_no_connection(rig, cause, words);
  EXPECT_THAT(rig.failure(1)->text, Not(HasSubstr("s3cret")));
  EXPECT_EQ(rig.server.totals().accepted, 0);
}

TEST(H2Proxy, asks_for_credentials) {
  expect_proxy_failure(Proxy::Mood::asks, Cause::tls, "407");
}
TEST(H2Proxy, refuses_credentials) {
  expect_proxy_failure(Proxy::Mood::asks, Cause::client_auth, "proxy_credentials", "user:s3cret");
}
TEST(H2Proxy, answers_502) {
  expect_proxy_failure(Proxy::Mood::broken, Cause::connect, "502");
}
TEST(H2Proxy, closes) {
  expect_proxy_failure(Proxy::Mood::closes, Cause::connect, "closed");
}
TEST(H2Proxy, hangs) {
  expect_proxy_failure(Proxy::Mood::hangs, Cause::connect, "did not answer CONNECT");
}

TEST(H2Proxy, of_the_environment_is_ignored) {
  Proxy proxy(Proxy::Mood::broken);
  ::setenv("https_proxy", proxy.url().c_str(), 1);
  Rig rig;
  EXPECT_TRUE(rig.connected());
  ::unsetenv("https_proxy");
  EXPECT_EQ(proxy.accepted(), 0);
}

// ---- options --------------------------------------------------------------------------------

std::string refusal_of(const H2Options& options) {
  Driver rig;
  const auto added = rig.transport->add_provider(Driver::kProvider, options);
  return added ? "" : added.error().text;
}

TEST(H2Options, that_cannot_work_are_refused_by_name) {
  const H2Options good{.name = "p", .endpoint = "https://localhost", .ca_file = Pki::get().ca()};
  EXPECT_EQ(refusal_of(good), "");
  H2Options o = good;
  o.endpoint = "http://localhost:80";
  EXPECT_THAT(refusal_of(o), HasSubstr("https"));
  o.insecure = true;
  EXPECT_THAT(refusal_of(o), HasSubstr("HTTP/2 is spoken over TLS only"));
  o = good;
  o.endpoint = "https://user@localhost";
  EXPECT_THAT(refusal_of(o), HasSubstr("endpoint"));
  o = good;
  o.ca_file = Pki::get().at("missing.pem");
  EXPECT_THAT(refusal_of(o), HasSubstr("ca"));
  o.ca_file = Pki::get().at("empty.pem");
  EXPECT_THAT(refusal_of(o), HasSubstr("no PEM certificate"));
  o = good;
  o.proxy = "https://proxy:3128";
  EXPECT_THAT(refusal_of(o), HasSubstr("proxy"));
  o.proxy = "http://user:pw@proxy:3128";
  EXPECT_THAT(refusal_of(o), HasSubstr("proxy"));
  o = good;
  o.connections = 0;
  EXPECT_THAT(refusal_of(o), HasSubstr("connections"));
}

TEST(H2Options, without_a_ca_file_trust_the_systems_bundle) {
  Rig rig({}, [](H2Options& o) { o.ca_file.clear(); });
  expect_no_connection(rig, Cause::tls, "check tls.ca");
}

}  // namespace
}  // namespace sendonce::test
