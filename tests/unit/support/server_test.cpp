#include <algorithm>

#include <gtest/gtest.h>

#include "tests/support/eventually.hpp"
#include "tests/unit/support/provider_rig.hpp"

namespace sendonce::test {
namespace {

class ServerTest : public ProviderRig {
 protected:
  static Result<std::unique_ptr<RawClient>> try_connect(const FakeProvider& to,
                                                        const std::string& ca,
                                                        const Identity& identity = {}) {
    return RawClient::connect(to.port(), {.ca_pem = ca, .identity = identity});
  }
};

TEST_F(ServerTest, its_certificate_is_good_for_its_own_authority_only) {
  start();
  EXPECT_TRUE(try_connect(*provider, provider->ca_pem()));
  const auto stranger = try_connect(*provider, Authority().pem());
  ASSERT_FALSE(stranger);
  EXPECT_NE(stranger.error().text.find("certificate verify failed"), std::string::npos);
}

TEST_F(ServerTest, wrong_name_and_expired_certificates_are_refused_by_clients) {
  const Authority authority;
  for (const Identity& identity : {authority.wrong_name(), authority.expired()}) {
    FakeProviderOptions options = options_for(credentials());
    options.server.identity = identity;
    start(std::move(options));
    EXPECT_FALSE(try_connect(*provider, authority.pem()));
  }
  FakeProviderOptions options = options_for(credentials());
  options.server.identity = authority.issue();
  start(std::move(options));
  EXPECT_TRUE(try_connect(*provider, authority.pem()));
}

TEST_F(ServerTest, more_names_can_be_asked_for) {
  FakeProviderOptions options = options_for(credentials());
  options.names = {"DNS:provider.example"};
  start(std::move(options));
  EXPECT_TRUE(RawClient::connect(provider->port(),
                                 {.ca_pem = provider->ca_pem(), .host = "provider.example"}));
}

TEST_F(ServerTest, client_certificates_can_be_required) {
  const Authority clients;
  FakeProviderOptions options = options_for(credentials());
  options.server.client_ca = clients.pem();
  options.server.tls12_only = true;  // a refusal shows in the handshake
  start(std::move(options));
  EXPECT_FALSE(try_connect(*provider, provider->ca_pem()));
  EXPECT_FALSE(try_connect(*provider, provider->ca_pem(), Authority().issue({.client = true})));
  auto client = try_connect(*provider, provider->ca_pem(), clients.issue({.client = true}));
  ASSERT_TRUE(client) << client.error().text;
  EXPECT_EQ(push(**client).status, 200);
}

TEST_F(ServerTest, a_server_without_settings_says_nothing) {
  FakeProviderOptions options = options_for(credentials());
  options.server.silence = Silence::settings;
  start(std::move(options));
  const auto client = connect();
  submit_push(*client);
  EXPECT_FALSE(
      client->run([&] { return client->settings_received() > 0; }, std::chrono::milliseconds(50)));
  EXPECT_EQ(client->closure(), Closure::open);
}

TEST_F(ServerTest, stop_closes_everything) {
  start();
  const auto client = connect();
  push(*client);
  provider->stop();
  EXPECT_FALSE(client->run([] { return false; }));
  EXPECT_NE(client->closure(), Closure::open);
  EXPECT_FALSE(try_connect(*provider, provider->ca_pem()));
  EXPECT_EQ(seen().accepted, 1U);
  EXPECT_EQ(provider->totals().open, 0U);
}

TEST_F(ServerTest, killed_connections_are_reset_and_new_ones_served) {
  start();
  const auto client = connect();
  push(*client);
  provider->kill_connections();
  EXPECT_FALSE(client->run([] { return false; }));
  EXPECT_EQ(client->closure(), Closure::reset);
  EXPECT_EQ(push(*connect()).status, 200);
}

TEST_F(ServerTest, a_taken_port_is_an_error) {
  start();
  FakeProviderOptions options = options_for(credentials());
  options.server.port = provider->port();
  const auto second = FakeProvider::start(std::move(options));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::unavailable);
}

TEST_F(ServerTest, ipv6_works) {
  FakeProviderOptions options = options_for(credentials());
  options.server.address = "::1";
  start(std::move(options));
  EXPECT_NE(provider->port(), 0);
}

TEST_F(ServerTest, bad_credentials_are_errors) {
  FakeProviderOptions options = options_for(credentials());
  options.apns->keys[0].pem = "no key";
  EXPECT_FALSE(FakeProvider::start(std::move(options)));
  options = options_for(credentials());
  options.oauth->key_pem = credentials().apns.public_pem;
  EXPECT_FALSE(FakeProvider::start(std::move(options)));
  options = options_for(credentials());
  options.server.identity = {.certificate = "x", .key = "y"};
  EXPECT_FALSE(FakeProvider::start(std::move(options)));
}

TEST_F(ServerTest, latency_applies_to_every_answer) {
  FakeProviderOptions options = options_for(credentials());
  options.latency = std::chrono::milliseconds(30);
  start(std::move(options));
  const auto client = connect();
  const auto clock = make_system_clock();
  const MonoTime begin = clock->mono();
  EXPECT_EQ(push(*client).status, 200);
  EXPECT_GE(clock->mono() - begin, std::chrono::milliseconds(30));
}

TEST_F(ServerTest, a_client_that_leaves_before_its_answer_harms_nobody) {
  FakeProviderOptions options = options_for(credentials());
  options.latency = std::chrono::milliseconds(20);
  start(std::move(options));
  {
    const auto client = connect();
    submit_push(*client);
    EXPECT_TRUE(client->run([&] { return seen().accepted == 1; }));
  }
  EXPECT_TRUE(eventually([&] { return provider->totals().open == 0; }));
  EXPECT_EQ(push(*connect()).status, 200);
}

TEST_F(ServerTest, http1_connections_are_kept_and_pipelined) {
  start();
  const auto client = connect(false);
  const std::string two =
      "GET /__stats HTTP/1.1\r\nhost: x\r\n\r\nGET /__nothing HTTP/1.1\r\nhost: x\r\n\r\n";
  const std::string answers = client->exchange_h1(two, "no such page");
  EXPECT_TRUE(answers.starts_with("HTTP/1.1 200 "));
  EXPECT_NE(answers.find("HTTP/1.1 404 "), std::string::npos);
  EXPECT_TRUE(client->exchange_h1("GET /__stats HTTP/1.1\r\nhost: x\r\n\r\n", "received")
                  .starts_with("HTTP/1.1 200 "));
}

TEST_F(ServerTest, http1_bodies_come_in_pieces_and_may_ask_first) {
  start();
  const auto client = connect(false);
  const std::string interim = client->exchange_h1(
      "POST /token HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\n",
      "\r\n\r\n");
  EXPECT_EQ(interim, "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_TRUE(client->exchange_h1("a=b", "\r\n\r\n").starts_with("HTTP/1.1 400 "));
}

TEST_F(ServerTest, malformed_http1_is_hung_up_on) {
  start();
  EXPECT_EQ(connect(false)->exchange_h1("rubbish\r\n\r\n"), "");
  EXPECT_EQ(
      connect(false)->exchange_h1("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"),
      "");
  EXPECT_EQ(connect(false)->exchange_h1("POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n"), "");
}

TEST_F(ServerTest, many_requests_on_many_streams) {
  start();
  const auto client = connect();
  push(*client);
  ASSERT_TRUE(client->run([&] { return client->max_concurrent_streams() == 1000; }));
  std::vector<std::int32_t> streams;
  streams.reserve(500);
  for (int i = 0; i < 500; ++i) streams.push_back(submit_push(*client));
  EXPECT_TRUE(client->run([&] {
    return std::ranges::all_of(streams, [&](auto s) { return client->answer(s).whole; });
  }));
  EXPECT_EQ(seen().accepted, 501U);
  EXPECT_EQ(provider->totals().requests, 501U);
}

}  // namespace
}  // namespace sendonce::test
