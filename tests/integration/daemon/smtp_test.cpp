// E-mail by SMTP, with the real daemon: to a mail server of other people's making, and to one that
// fails as it is told.
#include <fstream>
#include <iterator>

#include <sysexits.h>

#include "tests/integration/daemon/rig.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/fake_smtp.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_dir.hpp"

namespace sendonce::test {
namespace {

using Then = SmtpFault::Then;

// Both may not repeat what is in doubt. The calls are shorter than a mail server deserves.
constexpr const char* kMail = R"(
[class.marketing]
subject   = "notify.campaign.>"
expires   = "10m"
claim     = "12s"
ack_wait  = "15s"
retention = "2d"
retry     = { first = "50ms", factor = 2.0, cap = "500ms", attempts = 12, horizon = "5m" }
ambiguous = { default = "give-up" }
route     = { email = ["mail"] }

[provider.mail]
kind        = "smtp"
endpoint    = "smtp://localhost:@SMTP@"
from        = "no-reply@example.com"
from_name   = "Bäckerei"
reply_to    = "help@example.com"
sender      = "bounces@example.com"
auth        = { user = "shop", secret = "file:@FOLDER@/password" }
call        = { connect = "2s", total = "4s" }
concurrency = { connections = 4 }
tls         = { ca = "@FOLDER@/ca.pem" }
)";

void write_file(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
  std::filesystem::permissions(
      path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

std::string file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class SmtpDaemonTest : public DaemonTest {
 protected:
  SmtpDaemonTest() {
    write_file(at("ca.pem"), authority_.pem());
    write_file(at("password"), "s3cret");
  }
  void make_mail(std::uint16_t port) {
    std::string text = kMail;
    const auto put = [&text](std::string_view what, const std::string& with) {
      for (std::size_t i = 0; (i = text.find(what, i)) != std::string::npos;)
        text.replace(i, what.size(), with);
    };
    put("@SMTP@", std::to_string(port));
    put("@FOLDER@", folder_.path().string());
    make({.classes = text});
  }
  void serve(std::vector<SmtpFault> faults = {}) {
    SmtpServerOptions o;
    o.tls = SmtpServerOptions::Tls::starttls;
    o.identity = authority_.issue();
    o.user = "shop";
    o.password = "s3cret";
    o.faults = std::move(faults);
    server_ = FakeSmtp::start(std::move(o)).value();
    make_mail(server_->port());
  }
  static std::string address(int event) { return "u" + std::to_string(event) + "@example.net"; }
  void publish_mails(int from, int to) {
    for (int i = from; i < to; ++i) {
      const std::string n = std::to_string(i);
      publish_body("marketing", R"({"event_id":"e)" + n + R"(","recipient":"u)" + n +
                                    R"(","channel":"email","template":"t","targets":[{"kind":)"
                                    R"("email","email":")" +
                                    address(i) + R"(","ref":"d)" + n +
                                    R"("}],"notification":{"title":"On its way","body":"Gone."}})");
    }
  }
  // Messages with their end, to the recipient of an event.
  [[nodiscard]] int ends(int event) const {
    int n = 0;
    for (const SeenMail& m : server_->mails()) n += m.recipient == address(event) ? 1 : 0;
    return n;
  }
  [[nodiscard]] std::string at(const std::string& name) const {
    return (folder_.path() / name).string();
  }

  Authority authority_{};
  TempDir folder_{};
  std::unique_ptr<FakeSmtp> server_{};
};

TEST_F(SmtpDaemonTest, AMailServerOfOthersReadsWhatWasMeant) {
  const Identity identity = authority_.issue();
  write_file(at("server.pem"), identity.certificate);
  write_file(at("server.key"), identity.key);
  // Debian's: the one that has python3-aiosmtpd.
  auto reader = Process::start({.program = "/usr/bin/python3",
                                .args = {SENDONCE_MAIL_READER, at("server.pem"), at("server.key"),
                                         "shop", "s3cret", at("mails")},
                                .output = at("port"),
                                .errors = at("reader.log")});
  ASSERT_TRUE(reader.has_value()) << reader.error().text;
  ASSERT_TRUE(within(seconds(30), [&] { return file_text(at("port")).ends_with('\n'); }))
      << file_text(at("reader.log"));
  make_mail(static_cast<std::uint16_t>(std::stoi(file_text(at("port")))));
  start();
  publish_body("marketing",
               R"({"event_id":"e1","recipient":"u1","channel":"email","template":"t","targets":)"
               R"([{"kind":"email","email":"Some.One@Example.NET"}],"notification":{"title":)"
               R"("Päckchen unterwegs: viele Wörter, die in keine Zeile passen \u20ac 5",)"
               R"("body":".\n..zwei\nÄ = ä \nEnde","html":"<p>Ä</p>"}})");
  ASSERT_TRUE(settled()) << file_text(at("reader.log"));
  EXPECT_EQ(counter("accepted"), 1U);
  EXPECT_EQ(stop(), EX_OK);
  const Json mail = Json::parse(file_text(at("mails")));
  EXPECT_EQ(mail["sender"], "bounces@example.com");
  EXPECT_EQ(mail["recipients"], Json::array({"Some.One@example.net"}));
  EXPECT_EQ(mail["tls"], true);
  EXPECT_EQ(mail["authenticated"], true);
  EXPECT_EQ(mail["defects"], Json::array());
  const Json& headers = mail["headers"];
  EXPECT_EQ(headers["subject"],
            "Päckchen unterwegs: viele Wörter, die in keine Zeile passen \u20ac 5");
  EXPECT_EQ(headers["from"], "Bäckerei <no-reply@example.com>");
  EXPECT_EQ(headers["to"], "Some.One@example.net");
  EXPECT_EQ(headers["reply-to"], "help@example.com");
  EXPECT_THAT(headers["message-id"].get<std::string>(), HasSubstr("@example.com>"));
  EXPECT_EQ(mail["text"], ".\r\n..zwei\r\nÄ = ä \r\nEnde");
  EXPECT_EQ(mail["html"], "<p>Ä</p>");
}

TEST_F(SmtpDaemonTest, EachMailGoesOnceWhateverIsPublishedAgain) {
  serve();
  start();
  publish_mails(0, 40);
  publish_mails(0, 40);
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("accepted"), 40U);
  EXPECT_EQ(stop(), EX_OK);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(ends(i), 1) << "event " << i;
  EXPECT_LE(server_->connections(), 8U) << "connections are used again";
  EXPECT_EQ(server_->in_clear(), 0U);
}

TEST_F(SmtpDaemonTest, WhatWasRefusedForNowIsTriedAgain) {
  serve({{.at = "RCPT", .reply = "421 4.3.2 busy", .times = 5},
         {.at = "END", .reply = "421 4.3.2 busy", .times = 3}});
  start();
  publish_mails(0, 10);
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("accepted"), 10U);
  EXPECT_EQ(stop(), EX_OK);
  int accepted = 0;
  for (const SeenMail& m : server_->mails()) accepted += m.accepted ? 1 : 0;
  EXPECT_EQ(accepted, 10);
}

// A greylist holds its own recipients, for minutes, and nobody else.
TEST_F(SmtpDaemonTest, GreylistedRecipientsWaitAlone) {
  std::vector<SmtpFault> faults;
  for (int i = 0; i < 30; ++i)
    faults.push_back({.at = "RCPT", .reply = "451 4.7.1 Greylisted", .to = address(i)});
  serve(std::move(faults));
  start();
  publish_mails(0, 60);
  ASSERT_TRUE(within(seconds(60),
                     [this] { return counter("accepted") == 30 && server_->count("RCPT") >= 60; }));
  EXPECT_EQ(counter("failed"), 0U);
  EXPECT_EQ(server_->count("RCPT"), 60U) << "none is tried again at once";
  EXPECT_THAT(log(), Not(HasSubstr("provider.held")));
  EXPECT_EQ(stop(), EX_OK);
  const auto all = rows();
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(all.contains(i)) << "event " << i;
    EXPECT_EQ(name(all.at(i)), name(State::waiting)) << "event " << i;
  }
}

TEST_F(SmtpDaemonTest, ADeadAddressIsToldAndAnotherIsNot) {
  serve({{.at = "RCPT", .reply = "550 5.1.1 no such user", .to = address(3)},
         {.at = "RCPT", .reply = "550 5.7.1 policy", .to = address(4)}});
  start();
  publish_mails(0, 6);
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("accepted"), 4U);
  EXPECT_EQ(counter("failed"), 2U);
  const auto told = [this](const char* subjects) {
    return api("STREAM.INFO.SENDONCE_OUTCOMES",
               R"({"subjects_filter":")" + std::string(subjects) + R"("})")
        .value("/state/subjects"_json_pointer, Json::object());
  };
  ASSERT_TRUE(within(seconds(30), [&] { return !told("sendonce.device.>").empty(); }));
  const Json devices = told("sendonce.device.>");
  EXPECT_EQ(devices, Json({{"sendonce.device.email.invalid", 1}}));
  EXPECT_EQ(stop(), EX_OK);
}

TEST_F(SmtpDaemonTest, AWrongPasswordHoldsTheProviderAndLosesNothing) {
  serve({{.at = "AUTH", .reply = "535 5.7.8 bad credentials"}});
  start();
  publish_mails(0, 20);
  ASSERT_TRUE(logs("provider.held"));
  EXPECT_EQ(stored(), 20U);
  EXPECT_EQ(counter("failed"), 0U);
  EXPECT_EQ(server_->count("MAIL"), 0U);
  EXPECT_THAT(log(), Not(HasSubstr("s3cret")));
  server_->set_faults({});
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("accepted"), 20U);
  EXPECT_EQ(stop(), EX_OK);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ends(i), 1) << "event " << i;
}

// The server has the whole message and no answer came: nobody knows, and it is not sent again.
TEST_F(SmtpDaemonTest, ADaemonKilledBeforeTheAnswerSendsNoSecondMessage) {
  serve({{.at = "END", .then = Then::stall}});
  start();
  publish_mails(0, 1);
  ASSERT_TRUE(within(seconds(30), [this] { return server_->ends() == 1; }));
  world_->daemon().kill();
  server_->set_faults({});
  start();
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("unknown"), 1U);
  EXPECT_EQ(stop(), EX_OK);
  EXPECT_EQ(server_->ends(), 1U);
  EXPECT_EQ(server_->count("DATA"), 1U);
}

TEST_F(SmtpDaemonTest, AnAnswerThatIsLostLeavesAMailInDoubt) {
  serve({{.at = "END", .then = Then::reset, .to = address(1)},
         {.at = "DATA", .then = Then::reset, .times = 1}});
  start();
  publish_mails(0, 3);
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("unknown"), 1U);
  EXPECT_EQ(counter("accepted"), 2U);
  EXPECT_EQ(stop(), EX_OK);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ends(i), 1) << "event " << i;
}

}  // namespace
}  // namespace sendonce::test
