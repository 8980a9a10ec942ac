// Mails to a server that fails at every point of the dialogue: each ends once, is in doubt only
// after its end was offered, and its end is never offered twice.
#include <array>
#include <thread>

#include "plugin/transport/smtp/reply.hpp"
#include "tests/support/fake_smtp.hpp"
#include "tests/unit/transport/rig.hpp"
#include "tests/unit/transport/wire_fakes.hpp"

namespace sendonce::test {
namespace {

using ::testing::HasSubstr;
using Tls = SmtpServerOptions::Tls;
using Then = SmtpFault::Then;

std::string file_text(const std::string& path) {
  std::string out;
  std::FILE* f = std::fopen(path.c_str(), "re");
  SO_ASSERT(f != nullptr);
  for (int c = std::fgetc(f); c != EOF; c = std::fgetc(f)) out.push_back(static_cast<char>(c));
  static_cast<void>(std::fclose(f));
  return out;
}

Identity identity(const std::string& name) {
  const Pki& pki = Pki::get();
  return {file_text(pki.certificate(name)), file_text(pki.key(name))};
}

class Smtp : public ::testing::Test {
 protected:
  void serve(Tls tls = Tls::implicit, std::vector<SmtpFault> faults = {},
             const std::string& name = "server") {
    SmtpServerOptions o;
    o.tls = tls;
    o.identity = identity(name);
    o.user = "shop";
    o.password = "s3cret";
    o.faults = std::move(faults);
    server = FakeSmtp::start(std::move(o)).value();
    H2Options options{.name = "mail", .ca_file = Pki::get().ca(), .connections = 2, .smtp = true};
    options.endpoint = std::string(tls == Tls::implicit ? "smtps" : "smtp") +
                       "://localhost:" + std::to_string(server->port());
    options.login = {"example.com", "shop", Credential("s3cret")};
    options.insecure = tls == Tls::none;
    options.connect_timeout = 700ms;
    last = options;
    rig.add(std::move(options));
  }
  bool mail(std::uint64_t ticket, const std::string& to = "a@example.net", Duration timeout = 3s,
            std::string body = "Subject: x\r\n\r\n.hidden\r\n..\r\nbye\r\n") {
    HttpRequest r;
    r.mail = MailEnvelope{"from@example.com", to};
    r.body = std::move(body);
    return rig.transport->submit(Ticket(ticket), Driver::kProvider, std::move(r), timeout);
  }
  void expect_reply(std::uint64_t ticket, int code, MailStep step) {
    rig.expect_answered(ticket, code);
    const HttpAnswer* a = rig.answer(ticket);
    if (a == nullptr) return;
    EXPECT_EQ(name(a->step), name(step));
  }
  void send_one(std::uint64_t ticket = 1, Duration timeout = 3s) {
    ASSERT_TRUE(mail(ticket, "a@example.net", timeout));
    ASSERT_TRUE(rig.all_ended(ticket));
  }
  Driver rig;
  H2Options last{};
  std::unique_ptr<FakeSmtp> server{};
};

class SmtpTls : public Smtp, public ::testing::WithParamInterface<Tls> {};

TEST_P(SmtpTls, a_mail_arrives_as_it_is) {
  serve(GetParam());
  send_one();
  expect_reply(1, 250, MailStep::message);
  ASSERT_NE(rig.answer(1), nullptr);
  EXPECT_THAT(rig.answer(1)->body, HasSubstr("queued as"));
  const auto mails = server->mails();
  ASSERT_EQ(mails.size(), 1U);
  EXPECT_EQ(mails[0].sender, "from@example.com");
  EXPECT_EQ(mails[0].recipient, "a@example.net");
  EXPECT_EQ(mails[0].message, "Subject: x\r\n\r\n.hidden\r\n..\r\nbye\r\n");
  EXPECT_EQ(server->in_clear() > 0, GetParam() == Tls::none);
}

INSTANTIATE_TEST_SUITE_P(How, SmtpTls, ::testing::Values(Tls::implicit, Tls::starttls, Tls::none),
                         [](const auto& tested) {
                           return tested.param == Tls::implicit   ? "implicit"
                                  : tested.param == Tls::starttls ? "starttls"
                                                                  : "plain";
                         });

TEST_F(Smtp, a_connection_takes_one_mail_after_another) {
  serve();
  for (std::uint64_t i = 1; i <= 10; ++i) {
    send_one(i);
    expect_reply(i, 250, MailStep::message);
  }
  EXPECT_EQ(server->connections(), 1U);
  EXPECT_EQ(rig.state().connections, 1U);
  rig.transport.reset();
  const auto end = rig.real->mono() + 3s;
  while (server->count("QUIT") == 0 && rig.real->mono() < end) std::this_thread::yield();
  EXPECT_EQ(server->count("QUIT"), 1U);
}

TEST_F(Smtp, says_farewell_when_a_connection_retires) {
  serve();
  send_one();
  rig.transport->renew(Driver::kProvider);
  EXPECT_TRUE(rig.until([this] { return server->count("QUIT") == 1; }));
  send_one(2);
  EXPECT_EQ(server->connections(), 2U);
}

TEST_F(Smtp, takes_as_many_mails_as_it_may_have_connections) {
  serve(Tls::implicit, {{.at = "END", .then = Then::stall}});
  EXPECT_EQ(rig.state().room, 2U);
  ASSERT_TRUE(mail(1, "a@example.net", 500ms));
  ASSERT_TRUE(mail(2, "b@example.net", 500ms));
  EXPECT_EQ(rig.state().room, 0U);
  EXPECT_FALSE(mail(3));
  ASSERT_TRUE(rig.all_ended(2));
  rig.expect_failed(1, Effect::maybe_sent, Cause::timed_out);
  EXPECT_EQ(rig.state().room, 2U);
  EXPECT_LT(rig.longest_step, 200ms) << "nothing may wait for a server";
}

TEST_F(Smtp, a_large_message_goes_whole) {
  serve();
  std::string body = "Subject: x\r\n\r\n";
  for (int i = 0; i < 40'000; ++i) body += ".line " + std::to_string(i) + "\r\n";
  ASSERT_TRUE(mail(1, "a@example.net", 10s, body));
  ASSERT_TRUE(rig.all_ended(1, 10s));
  expect_reply(1, 250, MailStep::message);
  ASSERT_EQ(server->mails().size(), 1U);
  EXPECT_EQ(server->mails()[0].message, body);
}

// ---- every point of the dialogue --------------------------------------------------------------

struct Stage {
  const char* name = "";
  SmtpFault fault{};
  Effect effect = Effect::not_sent;
  Cause cause = Cause::connect;
};

class SmtpStages : public Smtp, public ::testing::WithParamInterface<Stage> {};

TEST_P(SmtpStages, ends_once_with_what_is_proven) {
  serve(Tls::starttls, {GetParam().fault});
  send_one(1, 1500ms);
  const CallFailure* failure = rig.failure(1);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(name(failure->effect), name(GetParam().effect)) << failure->text;
  EXPECT_EQ(name(failure->cause), name(GetParam().cause)) << failure->text;
  EXPECT_FALSE(failure->text.empty());
  EXPECT_THAT(failure->text, Not(HasSubstr("s3cret")));
  EXPECT_THAT(failure->text, Not(HasSubstr("a@example.net")));
  rig.for_a_while(100ms);
  EXPECT_EQ(rig.ended.size(), 1U);
  EXPECT_LE(server->count("DATA"), 1U);
  EXPECT_LE(server->ends(), 1U);
  EXPECT_EQ(server->in_clear(), 0U);
  EXPECT_LT(rig.longest_step, 200ms) << "nothing may wait for a server";
  if (failure->effect == Effect::not_sent) {
    EXPECT_EQ(server->ends(), 0U);
  }
}

std::vector<Stage> stages() {
  std::vector<Stage> out;
  for (const char* at : {"connect", "EHLO", "STARTTLS", "AUTH"}) {
    out.push_back({at, {.at = at, .then = Then::close}, Effect::not_sent, Cause::connect});
    out.push_back({at, {.at = at, .then = Then::reset}, Effect::not_sent, Cause::connect});
    out.push_back({at, {.at = at, .then = Then::stall}, Effect::not_sent, Cause::connect});
  }
  for (const char* at : {"MAIL", "RCPT", "DATA"}) {
    out.push_back({at, {.at = at, .then = Then::close}, Effect::not_sent, Cause::connection_lost});
    out.push_back({at, {.at = at, .then = Then::reset}, Effect::not_sent, Cause::connection_lost});
    out.push_back({at, {.at = at, .then = Then::stall}, Effect::not_sent, Cause::timed_out});
    out.push_back(
        {at, {.at = at, .reply = "what\nis this"}, Effect::not_sent, Cause::connection_lost});
    out.push_back(
        {at, {.at = at, .reply = "250 one\n250 two"}, Effect::not_sent, Cause::connection_lost});
  }
  out.push_back(
      {"END", {.at = "END", .then = Then::close}, Effect::maybe_sent, Cause::connection_lost});
  out.push_back(
      {"END", {.at = "END", .then = Then::reset}, Effect::maybe_sent, Cause::connection_lost});
  out.push_back({"END", {.at = "END", .then = Then::stall}, Effect::maybe_sent, Cause::timed_out});
  out.push_back(
      {"END", {.at = "END", .reply = "so long"}, Effect::maybe_sent, Cause::connection_lost});
  return out;
}

std::string stage_name(const ::testing::TestParamInfo<Stage>& tested) {
  static constexpr std::array<const char*, 4> kHow{"answers", "closes", "resets", "stalls"};
  return std::string(tested.param.name) + "_" +
         kHow.at(static_cast<std::size_t>(tested.param.fault.then)) + std::to_string(tested.index);
}

INSTANTIATE_TEST_SUITE_P(Points, SmtpStages, ::testing::ValuesIn(stages()), stage_name);

// The message has begun and the server is gone: whether its end was offered decides.
TEST_F(Smtp, a_message_cut_short_was_not_sent) {
  serve(Tls::implicit, {{.at = "BODY", .then = Then::reset}});
  ASSERT_TRUE(mail(1, "a@example.net", 5s, std::string(8'000'000, 'x') + "\r\n"));
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_failed(1, Effect::not_sent, Cause::connection_lost);
  EXPECT_EQ(server->ends(), 0U);
}

TEST_F(Smtp, a_message_refused_in_its_middle_was_not_sent) {
  serve(Tls::implicit, {{.at = "BODY", .then = Then::stall, .reply = "552 5.3.4 too much of it"}});
  ASSERT_TRUE(mail(1, "a@example.net", 5s, std::string(64'000'000, 'x') + "\r\n"));
  ASSERT_TRUE(rig.all_ended(1));
  expect_reply(1, 552, MailStep::data);
}

// ---- refusals ---------------------------------------------------------------------------------

struct Refusal {
  const char* at = "";
  const char* reply = "";
  int code = 0;
  MailStep step = MailStep::none;
};

class SmtpRefusals : public Smtp, public ::testing::WithParamInterface<Refusal> {};

TEST_P(SmtpRefusals, are_answers_that_name_their_command) {
  serve(Tls::starttls, {{.at = GetParam().at, .reply = GetParam().reply, .times = 1}});
  send_one();
  expect_reply(1, GetParam().code, GetParam().step);
  ASSERT_NE(rig.answer(1), nullptr);
  EXPECT_EQ(rig.answer(1)->body, GetParam().reply);
  EXPECT_EQ(server->ends(), GetParam().step == MailStep::message ? 1U : 0U);
  send_one(2);  // and the next mail goes
  expect_reply(2, 250, MailStep::message);
}

INSTANTIATE_TEST_SUITE_P(
    Commands, SmtpRefusals,
    ::testing::Values(Refusal{"connect", "554 5.3.2 no service here", 554, MailStep::greeting},
                      Refusal{"STARTTLS", "454 4.7.0 not now", 454, MailStep::hello},
                      Refusal{"AUTH", "535 5.7.8 no", 535, MailStep::auth},
                      Refusal{"MAIL", "550 5.1.8 not you", 550, MailStep::sender},
                      Refusal{"RCPT", "550-5.1.1 no such\n550 5.1.1 user", 550,
                              MailStep::recipient},
                      Refusal{"RCPT", "421 4.3.2 closing", 421, MailStep::recipient},
                      Refusal{"DATA", "451 4.3.0 later", 451, MailStep::data},
                      Refusal{"END", "554 5.7.1 spam", 554, MailStep::message}));

// After a refused recipient the transaction is undone, and the connection goes on.
TEST_F(Smtp, a_refused_mail_is_reset_before_the_next) {
  serve(Tls::implicit, {{.at = "RCPT", .reply = "550 5.1.1 no", .times = 1}});
  send_one(1);
  send_one(2);
  expect_reply(2, 250, MailStep::message);
  EXPECT_EQ(server->connections(), 1U);
  EXPECT_EQ(server->count("RSET"), 1U);
}

TEST_F(Smtp, no_starttls_is_a_fault_of_the_configuration_and_nothing_goes_in_clear) {
  serve(Tls::none);
  last.insecure = false;  // loopback or not: TLS is wanted
  rig.add(last);
  send_one();
  rig.expect_failed(1, Effect::not_sent, Cause::tls);
  EXPECT_EQ(server->in_clear(), 0U);
}

TEST_F(Smtp, the_certificate_is_verified) {
  serve(Tls::starttls, {}, "wrong");
  send_one();
  rig.expect_failed(1, Effect::not_sent, Cause::tls);
  serve(Tls::implicit, {}, "expired");
  rig.ended.clear();
  send_one();
  rig.expect_failed(1, Effect::not_sent, Cause::tls);
  EXPECT_EQ(server->count("EHLO"), 0U);
}

TEST_F(Smtp, a_wrong_password_is_told_and_a_new_one_is_used) {
  serve();
  H2Options wrong = last;
  wrong.login.password = Credential("wrong");
  rig.add(wrong);
  send_one(1);
  expect_reply(1, 535, MailStep::auth);
  rig.add(last);
  send_one(2);
  expect_reply(2, 250, MailStep::message);
}

TEST_F(Smtp, logs_in_by_login_too) {
  SmtpServerOptions o;
  o.tls = Tls::none;
  o.user = "shop";
  o.password = "s3cret";
  o.auth = "LOGIN CRAM-MD5";
  server = FakeSmtp::start(std::move(o)).value();
  H2Options options{.name = "mail", .ca_file = Pki::get().ca(), .insecure = true, .smtp = true};
  options.endpoint = "smtp://localhost:" + std::to_string(server->port());
  options.login = {"example.com", "shop", Credential("s3cret")};
  rig.add(std::move(options));
  send_one();
  expect_reply(1, 250, MailStep::message);
}

// ---- used connections -------------------------------------------------------------------------

// A server closes an idle connection just when it is used again. MAIL was not answered: nothing
// was taken, and the mail goes by a new connection.
TEST_F(Smtp, a_stale_connection_is_replaced) {
  for (const SmtpFault& fault :
       {SmtpFault{.at = "MAIL", .then = Then::close, .times = 1},
        SmtpFault{.at = "MAIL", .then = Then::close, .reply = "421 4.4.2 idle", .times = 1},
        SmtpFault{.at = "IDLE", .then = Then::close, .times = 1}}) {
    rig.ended.clear();
    serve();
    if (fault.at == "IDLE") server->set_faults({fault});
    send_one(1);
    expect_reply(1, 250, MailStep::message);
    if (fault.at != "IDLE") server->set_faults({fault});
    send_one(2);
    expect_reply(2, 250, MailStep::message);
    EXPECT_EQ(server->ends(), 2U);
    EXPECT_EQ(server->connections(), 2U);
  }
}

// Once only: a server that does nothing else is not asked for ever.
TEST_F(Smtp, a_fresh_connection_that_dies_is_a_failure) {
  serve();
  send_one(1);
  server->set_faults({{.at = "MAIL", .then = Then::close}});
  send_one(2);
  rig.expect_failed(2, Effect::not_sent, Cause::connection_lost);
  EXPECT_EQ(server->count("MAIL"), 3U);
}

TEST_F(Smtp, a_used_connection_that_dies_after_the_end_is_in_doubt) {
  serve();
  send_one(1);
  server->set_faults({{.at = "END", .then = Then::close}});
  send_one(2);
  rig.expect_failed(2, Effect::maybe_sent, Cause::connection_lost);
  rig.for_a_while(100ms);
  EXPECT_EQ(server->ends(), 2U);
  EXPECT_EQ(server->count("DATA"), 2U);
}

TEST_F(Smtp, an_idle_connection_is_closed_in_time) {
  serve();
  send_one(1);
  EXPECT_EQ(rig.state().connections, 1U);
  rig.clock.push(31s);
  ASSERT_TRUE(rig.until([&] { return rig.state().connections == 0; }));
  send_one(2);
  expect_reply(2, 250, MailStep::message);
  EXPECT_EQ(server->connections(), 2U);
}

// ---- what ends a mail from our side -----------------------------------------------------------

TEST_F(Smtp, nothing_leaves_after_its_deadline) {
  serve();
  HttpRequest r;
  r.mail = MailEnvelope{"from@example.com", "a@example.net"};
  r.body = "x\r\n";
  r.not_after_wall = rig.clock.wall() + 1min;
  ASSERT_TRUE(rig.transport->submit(Ticket(1), Driver::kProvider, std::move(r), 10min));
  rig.clock.push(2min);
  ASSERT_TRUE(rig.all_ended(1));
  ASSERT_NE(rig.failure(1), nullptr);
  EXPECT_EQ(rig.failure(1)->effect, Effect::not_sent);
  EXPECT_EQ(server->count("MAIL"), 0U);
}

TEST_F(Smtp, cancel_tells_what_is_proven) {
  serve(Tls::implicit,
        {{.at = "RCPT", .then = Then::stall, .times = 1}, {.at = "END", .then = Then::stall}});
  ASSERT_TRUE(mail(1));
  ASSERT_TRUE(rig.until([&] { return server->count("RCPT") == 1; }));
  rig.transport->cancel(Ticket(1));
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_failed(1, Effect::not_sent, Cause::cancelled);
  ASSERT_TRUE(mail(2));
  ASSERT_TRUE(rig.until([&] { return server->ends() == 1; }));
  rig.transport->cancel(Ticket(2));
  ASSERT_TRUE(rig.all_ended(2));
  rig.expect_failed(2, Effect::maybe_sent, Cause::cancelled);
}

TEST_F(Smtp, an_address_cannot_bring_a_command) {
  serve();
  for (const char* to : {"a@example.net>\r\nDATA", "a b@example.net", "", "a@example.net\n"}) {
    rig.ended.clear();
    ASSERT_TRUE(mail(1, to));
    ASSERT_TRUE(rig.all_ended(1));
    rig.expect_failed(1, Effect::not_sent, Cause::not_started);
  }
  EXPECT_EQ(server->connections(), 0U);
}

TEST_F(Smtp, goes_by_the_proxy) {
  serve(Tls::starttls);
  Proxy proxy(Proxy::Mood::open);
  last.proxy = proxy.url();
  rig.add(last);
  send_one();
  expect_reply(1, 250, MailStep::message);
  EXPECT_EQ(proxy.accepted(), 1);
  rig.transport.reset();
  server.reset();
}

// ---- the wire, alone --------------------------------------------------------------------------

TEST(SmtpReply, is_put_together_from_any_pieces) {
  const std::string wire = "250-first\r\n250-second\r\n250 last\r\nrest";
  for (std::size_t cut = 0; cut < wire.size() - 4; ++cut) {
    SmtpReplyReader reader;
    std::string_view a = std::string_view(wire).substr(0, cut);
    std::string_view b = std::string_view(wire).substr(cut);
    ASSERT_EQ(reader.feed(a), SmtpReplyReader::State::more) << cut;
    ASSERT_EQ(reader.feed(b), SmtpReplyReader::State::whole) << cut;
    EXPECT_EQ(b, "rest");
    const SmtpReply reply = reader.take();
    EXPECT_EQ(reply.code, 250);
    EXPECT_EQ(reply.lines, "250-first\n250-second\n250 last");
  }
}

TEST(SmtpReply, what_is_none_is_refused) {
  for (const char* wire : {"hello\r\n", "99 x\r\n", "650 x\r\n", "2500 x\r\n", "250-a\r\n251 b\r\n",
                           "\r\n", "25\r\n", "250_x\r\n"}) {
    SmtpReplyReader reader;
    std::string_view bytes = wire;
    EXPECT_EQ(reader.feed(bytes), SmtpReplyReader::State::broken) << wire;
  }
  SmtpReplyReader reader(100);
  const std::string endless(200, '2');
  std::string_view bytes = endless;
  EXPECT_EQ(reader.feed(bytes), SmtpReplyReader::State::oversized);
}

TEST(SmtpMessage, has_one_end) {
  EXPECT_EQ(smtp_message("a\r\n.\r\n.b").bytes, "a\r\n..\r\n..b\r\n.\r\n");
  EXPECT_EQ(smtp_message("").bytes, ".\r\n");
  EXPECT_EQ(smtp_message("a\r\n").end_at, 3U);
}

}  // namespace
}  // namespace sendonce::test
