// E-mails as bytes: what a mail reader makes of them is asked in tests/integration/daemon.
#include "classifiers/smtp/smtp_message.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "classifiers/smtp/smtp_provider.hpp"
#include "tests/unit/classifiers/fixtures.hpp"

namespace sendonce::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

MailParts parts() {
  return {.from = "no-reply@example.com",
          .to = "someone@example.net",
          .subject = "On its way",
          .text = "Parcel left.\n",
          .message_id = "id@example.com",
          .boundary = "abc",
          .date = kNow};
}

void expect_lines(const std::string& mail) {
  std::size_t from = 0;
  while (from < mail.size()) {
    const std::size_t end = mail.find("\r\n", from);
    ASSERT_NE(end, std::string::npos) << "a line without an end";
    EXPECT_LE(end - from, 78U) << mail.substr(from, end - from);
    from = end + 2;
  }
  EXPECT_TRUE(std::ranges::all_of(mail, [](char c) { return c > 0 && c < 0x7f; }));
  for (std::size_t i = 0; i < mail.size(); ++i) {
    if (mail[i] == '\n') {
      EXPECT_EQ(mail[i - 1], '\r');
    }
    if (mail[i] == '\r') {
      EXPECT_EQ(mail[i + 1], '\n');
    }
  }
}

TEST(SmtpMessage, a_plain_one) {
  const auto mail = write_mail(parts());
  ASSERT_TRUE(mail.has_value());
  EXPECT_EQ(*mail,
            "Date: Sun, 29 Nov 2026 12:00:00 +0000\r\n"
            "From: no-reply@example.com\r\n"
            "To: someone@example.net\r\n"
            "Subject: On its way\r\n"
            "Message-ID: <id@example.com>\r\n"
            "Auto-Submitted: auto-generated\r\n"
            "MIME-Version: 1.0\r\n"
            "Content-Type: text/plain; charset=utf-8\r\n"
            "Content-Transfer-Encoding: quoted-printable\r\n"
            "\r\n"
            "Parcel left.\r\n");
}

TEST(SmtpMessage, html_beside_text) {
  MailParts p = parts();
  p.html = "<p>Parcel left.</p>";
  const auto mail = write_mail(p);
  ASSERT_TRUE(mail.has_value());
  EXPECT_THAT(*mail, HasSubstr("multipart/alternative;\r\n boundary=\"=_abc\""));
  EXPECT_LT(mail->find("text/plain"), mail->find("text/html"));
  EXPECT_TRUE(mail->ends_with("--=_abc--\r\n"));
  p.text = {};
  EXPECT_THAT(*write_mail(p), Not(HasSubstr("multipart")));
}

TEST(SmtpMessage, no_text_brings_a_header) {
  for (const char* subject :
       {"a\r\nBcc: x@example.com", "a\nb", "a\rb", "tab\there", "\x01", "\x7f"}) {
    MailParts p = parts();
    p.subject = subject;
    EXPECT_FALSE(write_mail(p).has_value()) << subject;
    p = parts();
    p.from_name = subject;
    EXPECT_FALSE(write_mail(p).has_value()) << subject;
  }
}

TEST(SmtpMessage, every_line_is_short_ascii_that_ends_in_crlf) {
  const std::string texts[] = {std::string(5000, 'x'),
                               std::string(5000, ' '),
                               std::string(500, '.'),
                               "a\nb\r\nc\rd\n\n\n",
                               "\xC3\xA4\xC3\xB6\xC3\xBC \xE2\x82\xAC",
                               std::string(300, '='),
                               "From me\n.\n..\n"};
  for (const std::string& text : texts) {
    MailParts p = parts();
    p.text = text;
    p.html = text;
    std::string subject = text;
    std::erase_if(subject, [](char c) { return c == '\n' || c == '\r'; });
    p.subject = subject;
    p.from_name = subject;
    const auto mail = write_mail(p);
    ASSERT_TRUE(mail.has_value());
    expect_lines(*mail);
  }
}

TEST(SmtpMessage, encoded_words_end_between_characters) {
  EXPECT_EQ(encoded_words("plain"), "plain");
  EXPECT_EQ(encoded_words("=?UTF-8?B?eA==?="), "=?UTF-8?B?PT9VVEYtOD9CP2VBPT0/PQ==?=");
  std::string long_text;
  for (int i = 0; i < 40; ++i) long_text += "\xE2\x82\xAC";
  const std::string words = encoded_words(long_text);
  EXPECT_THAT(words, HasSubstr("?=\r\n =?UTF-8?B?"));
  EXPECT_EQ(words.substr(0, words.find("?=", 10)).size() + 2, 64U);
}

TEST(SmtpMessage, quoted_printable_keeps_what_a_relay_would_change) {
  EXPECT_EQ(quoted_printable("a \r\nb\t"), "a=20\r\nb=09");
  EXPECT_EQ(quoted_printable("1=2"), "1=3D2");
  EXPECT_EQ(quoted_printable("\xC3\xA4"), "=C3=A4");
  const std::string folded = quoted_printable(std::string(80, 'x'));
  EXPECT_EQ(folded.find("=\r\n"), 75U);
  EXPECT_EQ(folded.size(), 83U);
}

TEST(SmtpMessage, dates) {
  EXPECT_EQ(mail_date(WallTime{}), "Thu, 01 Jan 1970 00:00:00 +0000");
  EXPECT_EQ(mail_date(kNow + hours(24) + seconds(1)), "Mon, 30 Nov 2026 12:00:01 +0000");
}

// ---- the provider -----------------------------------------------------------------------------

class SmtpProviderTest : public ::testing::Test {
 protected:
  SmtpProviderTest() {
    auto made = make_smtp_provider({.from = "No-Reply@EXAMPLE.com", .from_name = "Shop"});
    provider = std::move(made).value();
  }
  Sample sample{"someone@example.net"};
  std::unique_ptr<Provider> provider{};
};

TEST_F(SmtpProviderTest, the_same_bytes_for_every_attempt) {
  Attempt attempt = sample.attempt();
  attempt.stored = kNow;
  const auto first = provider->prepare(attempt, kNow);
  const auto second = provider->prepare(attempt, kNow + hours(3));
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(first->body, second->body);
  ASSERT_TRUE(first->mail.has_value());
  EXPECT_EQ(first->mail->sender, "No-Reply@example.com");
  EXPECT_EQ(first->mail->recipient, "someone@example.net");
  EXPECT_THAT(first->body, HasSubstr("From: \"Shop\"\r\n <No-Reply@example.com>\r\n"));
  EXPECT_THAT(first->body, HasSubstr("Message-ID: <f0f1f2f3-"));
  EXPECT_THAT(first->body, HasSubstr("@example.com>\r\n"));
  EXPECT_THAT(first->body, HasSubstr("Date: Sun, 29 Nov 2026 12:00:00 +0000"));
}

TEST_F(SmtpProviderTest, what_cannot_be_a_mail_is_a_payload_error) {
  sample.notification.content.title = "";
  EXPECT_FALSE(provider->prepare(sample.attempt(), kNow).has_value());
  sample.notification.content.title = "a\nb";
  EXPECT_FALSE(provider->prepare(sample.attempt(), kNow).has_value());
  sample.notification.content.title = "a";
  sample.notification.content.body = "";
  EXPECT_FALSE(provider->prepare(sample.attempt(), kNow).has_value());
  sample.notification.content.html = "<p>a</p>";
  EXPECT_TRUE(provider->prepare(sample.attempt(), kNow).has_value());
  sample.notification.overrides = {{ProviderKind::email, "{}"}};
  EXPECT_FALSE(provider->prepare(sample.attempt(), kNow).has_value());
}

TEST_F(SmtpProviderTest, a_sender_must_be_an_address) {
  EXPECT_FALSE(make_smtp_provider({.from = "nobody"}).has_value());
  EXPECT_FALSE(make_smtp_provider({.from = "a@b.example", .sender = "x"}).has_value());
  EXPECT_FALSE(make_smtp_provider({.from = "a@b.example", .reply_to = "x y@b"}).has_value());
  EXPECT_EQ(provider->app_scope(), "email");
}

}  // namespace
}  // namespace sendonce::test
