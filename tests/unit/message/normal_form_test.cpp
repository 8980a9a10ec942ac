#include "plugin/message/normal_form.hpp"

#include <string>

#include <gtest/gtest.h>

namespace sendonce {
namespace {

std::string phone(std::string text) {
  const auto normal = normal_phone(Destination(std::move(text)));
  return normal ? normal->expose() : "refused";
}

std::string email(std::string text) {
  const auto normal = normal_email(Destination(std::move(text)));
  return normal ? normal->expose() : "refused";
}

std::string url(std::string text) {
  const auto normal = normal_url(Destination(std::move(text)));
  return normal ? normal->expose() : "refused";
}

TEST(NormalPhone, IsE164) {
  EXPECT_EQ(phone("+4915112345678"), "+4915112345678");
  EXPECT_EQ(phone("+2901234"), "+2901234");
  EXPECT_EQ(phone("+123456789012345"), "+123456789012345");
}

TEST(NormalPhone, RefusesEverythingElse) {
  for (const char* text :
       {"", "+", "4915112345678", "004915112345678", "+0415112345678", "+49 151 12345678",
        "+49-151-12345678", "+491511234567x", "+123456", "+1234567890123456", "++4915112345678",
        "+\xd9\xa1\xd9\xa2\xd9\xa3\xd9\xa4\xd9\xa5", "+49151123456\n"})
    EXPECT_EQ(phone(text), "refused") << text;
}

TEST(NormalEmail, LowersTheDomainAlone) {
  EXPECT_EQ(email("Jane.Doe+x@Example.COM"), "Jane.Doe+x@example.com");
  EXPECT_EQ(email("a@xn--MNCHEN-3YA.de"), "a@xn--mnchen-3ya.de");
  EXPECT_EQ(email("root@localhost"), "root@localhost");
  EXPECT_EQ(email("!#$%&'*+-/=?^_`{|}~@x.y"), "!#$%&'*+-/=?^_`{|}~@x.y");
}

TEST(NormalEmail, RefusesWhatCouldBeReadTwoWays) {
  for (const std::string& text : {std::string(""),
                                  std::string("jane"),
                                  std::string("@example.com"),
                                  std::string("a@"),
                                  std::string("a b@example.com"),
                                  std::string("a@b@example.com"),
                                  std::string(".a@x.y"),
                                  std::string("a.@x.y"),
                                  std::string("a..b@x.y"),
                                  std::string("\"a b\"@x.y"),
                                  std::string("a@[192.0.2.1]"),
                                  std::string("a@x..y"),
                                  std::string("a@x.y."),
                                  std::string("a@-x.y"),
                                  std::string("a@x-.y"),
                                  std::string("a@x_y.z"),
                                  std::string("a@x.y\r\nBcc: b@x.y"),
                                  std::string("<a@x.y>"),
                                  std::string("a,b@x.y"),
                                  std::string("\xc3\xa9@x.y"),
                                  std::string(65, 'a') + "@x.y",
                                  "a@" + std::string(64, 'x') + ".y",
                                  std::string(60, 'a') + "@" + [] {
                                    std::string domain;
                                    for (int i = 0; i < 50; ++i) domain.append("abc.");
                                    return domain + "de";
                                  }()})
    EXPECT_EQ(email(text), "refused") << text;
}

TEST(NormalEmail, SaysWhatToDoWithAnInternationalDomain) {
  const auto normal = normal_email(Destination("a@m\xc3\xbcnchen.de"));
  ASSERT_FALSE(normal);
  EXPECT_NE(normal.error().text.find("A-labels"), std::string::npos);
}

TEST(NormalUrl, StaysAsGiven) {
  for (const char* text :
       {"https://fcm.googleapis.com/fcm/send/abc:DEF-_", "https://example.com",
        "HTTPS://Example.com/", "https://example.com:8443/a?b=c&d=%20", "https://192.0.2.1/x",
        "https://[2001:db8::1]:8443/x", "https://example.com?x"})
    EXPECT_EQ(url(text), text);
}

TEST(NormalUrl, RefusesWhatCouldGoElsewhere) {
  for (const std::string& text : {std::string(""),
                                  std::string("https://"),
                                  std::string("http://example.com"),
                                  std::string("ftp://example.com"),
                                  std::string("//example.com"),
                                  std::string("https:/example.com"),
                                  std::string("https://user:pw@example.com"),
                                  std::string("https://example.com#x"),
                                  std::string("https://example.com/a b"),
                                  std::string("https://example.com:0/"),
                                  std::string("https://example.com:65536/"),
                                  std::string("https://example.com:/"),
                                  std::string("https://example.com:+80/"),
                                  std::string("https://:443/"),
                                  std::string("https://exa_mple.com/"),
                                  std::string("https://example.com\\@evil.com/"),
                                  std::string("https://ex\xc3\xa4mple.com/"),
                                  std::string("https://[::1/"),
                                  std::string("https://[x::1]/"),
                                  std::string("https://[]/"),
                                  std::string("https://a]b/"),
                                  std::string("https://?x"),
                                  std::string("https://a\r\nb/"),
                                  "https://example.com/" + std::string(4096, 'x')})
    EXPECT_EQ(url(text), "refused") << text;
}

TEST(NormalForm, ATokenIsVisibleAscii) {
  EXPECT_TRUE(normal_token(Destination("AAWW:mad+e/up==")).has_value());
  EXPECT_TRUE(normal_token(Destination(std::string(4096, 'x'))).has_value());
  for (const std::string& text :
       {std::string(), std::string("a b"), std::string("a\n"), std::string("a\x7f"),
        std::string("\xc3\xa4"), std::string("a\0b", 3), std::string(4097, 'x')})
    EXPECT_FALSE(normal_token(Destination(text)).has_value()) << text;
  EXPECT_TRUE(normal_destination(Channel::push, Destination("AAWW")).has_value());
}

TEST(NormalForm, ErrorsDoNotQuote) {
  for (const auto& error : {normal_phone(Destination("0151-secret")).error(),
                            normal_email(Destination("secret@@x")).error(),
                            normal_url(Destination("http://secret")).error(),
                            normal_token(Destination("a secret")).error()}) {
    EXPECT_EQ(error.code, Errc::invalid);
    EXPECT_EQ(error.text.find("secret"), std::string::npos);
  }
}

}  // namespace
}  // namespace sendonce
