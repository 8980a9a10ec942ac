// A look at a server from outside: as far as the handshake, and not a byte of a request further.
#include "plugin/transport/curl/reach.hpp"

#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/eventually.hpp"
#include "tests/support/fake_smtp.hpp"
#include "tests/unit/transport/fault_server.hpp"
#include "tests/unit/transport/pki.hpp"
#include "tests/unit/transport/wire_fakes.hpp"

namespace sendonce::test {
namespace {

using ::testing::HasSubstr;

ReachOptions to(int port, bool h2) {
  return {.url = "https://localhost:" + std::to_string(port), .h2 = h2, .ca_file = Pki::get().ca()};
}

void expect_error(const Result<void>& reached, Errc code, const char* words) {
  ASSERT_FALSE(reached.has_value());
  EXPECT_EQ(static_cast<int>(reached.error().code), static_cast<int>(code));
  EXPECT_THAT(reached.error().text, HasSubstr(words));
}

TEST(Reach, a_server_of_http2_sees_a_handshake_and_nothing_else) {
  const FaultServer server;
  const auto reached = reach(to(server.port(), true));
  EXPECT_TRUE(reached.has_value()) << reached.error().text;
  EXPECT_TRUE(eventually([&] { return server.totals().handshakes == 1; }, std::chrono::seconds(5)));
  EXPECT_EQ(server.totals().plaintext, 0U);
  EXPECT_TRUE(server.seen().empty());
}

TEST(Reach, http11_needs_no_alpn) {
  const FaultServer server({.alpn = "none"});
  EXPECT_TRUE(reach(to(server.port(), false)).has_value());
  EXPECT_EQ(server.totals().plaintext, 0U);
}

TEST(Reach, what_is_wrong_is_named) {
  struct Case {
    FaultOptions faults;
    Errc code;
    const char* words;
  };
  const Case cases[] = {{{.identity = "wrong"}, Errc::invalid, "host name"},
                        {{.identity = "unknown"}, Errc::invalid, "check tls.ca"},
                        {{.identity = "expired"}, Errc::invalid, "expired"},
                        {{.alpn = "none"}, Errc::invalid, "HTTP/2"},
                        {{.alpn = "alert"}, Errc::invalid, "HTTP/2"}};
  for (const Case& c : cases) {
    const FaultServer server(c.faults);
    expect_error(reach(to(server.port(), true)), c.code, c.words);
    EXPECT_EQ(server.totals().plaintext, 0U);
  }
}

TEST(Reach, nobody_there) {
  expect_error(reach(to(1, true)), Errc::unavailable, "cannot be reached");
  ReachOptions o = to(1, true);
  o.url = "https://no-such-host.invalid";
  expect_error(reach(o), Errc::unavailable, "was not found");
}

TEST(Reach, silence_ends) {
  const FaultServer server({.hang = true});
  ReachOptions o = to(server.port(), true);
  o.timeout = std::chrono::milliseconds(300);
  expect_error(reach(o), Errc::unavailable, "no answer");
}

TEST(Reach, options_that_cannot_work) {
  ReachOptions o = to(1, true);
  o.ca_file = "/no/such/file";
  expect_error(reach(o), Errc::invalid, "CA file");
  o.url = "ftp://localhost";
  expect_error(reach(o), Errc::invalid, "");
}

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(Reach, a_mail_server_is_greeted_and_left) {
  using Tls = SmtpServerOptions::Tls;
  for (const Tls tls : {Tls::implicit, Tls::starttls}) {
    SmtpServerOptions options;
    options.tls = tls;
    options.user = "shop";
    options.password = "s3cret";
    options.identity = {text_of(Pki::get().certificate("server")),
                        text_of(Pki::get().key("server"))};
    const auto server = FakeSmtp::start(std::move(options)).value();
    ReachOptions o = to(0, false);
    o.url = std::string(tls == Tls::implicit ? "smtps" : "smtp") +
            "://localhost:" + std::to_string(server->port());
    o.starttls = tls == Tls::starttls;
    const auto reached = reach(o);
    EXPECT_TRUE(reached.has_value()) << reached.error().text;
    EXPECT_EQ(server->count("AUTH"), 0U);
    EXPECT_EQ(server->count("MAIL"), 0U);
  }
}

TEST(Reach, a_mail_server_without_tls_is_not_good_enough) {
  SmtpServerOptions options;
  options.tls = SmtpServerOptions::Tls::none;
  const auto server = FakeSmtp::start(std::move(options)).value();
  ReachOptions o = to(0, false);
  o.url = "smtp://localhost:" + std::to_string(server->port());
  o.starttls = true;
  expect_error(reach(o), Errc::invalid, "STARTTLS");
}

}  // namespace
}  // namespace sendonce::test
