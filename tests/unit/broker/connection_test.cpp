#include "plugin/broker/nats/connection.hpp"

#include <gtest/gtest.h>

#include "plugin/broker/nats/nats_broker.hpp"

namespace sendonce {
namespace {

TEST(Redacted, TakesUsersPasswordsAndTokensOut) {
  EXPECT_EQ(redacted("nats://host:4222"), "nats://host:4222");
  EXPECT_EQ(redacted("nats://user:pass@host:4222"), "nats://...@host:4222");
  EXPECT_EQ(redacted("cannot connect to tls://t0ken@a:1 nats://u:p@b:2"),
            "cannot connect to tls://...@a:1 nats://...@b:2");
  EXPECT_EQ(redacted("(nats://u:p@ss@host)"), "(nats://...@host)");
  EXPECT_EQ(redacted("a@b"), "a@b");
  EXPECT_EQ(redacted("://"), "://");
}

TEST(ErrorText, SaysTheSameThingOnceAndNoFilesOfTheClient) {
  EXPECT_EQ(error_text("Timeout", ""), "Timeout");
  EXPECT_EQ(error_text("No server available for connection",
                       "(conn.c:2088): No server available for connection"),
            "No server available for connection");
  EXPECT_EQ(error_text("Invalid Argument", "(opts.c:12): (conn.c:7): Bad CA file '/a.c/x'"),
            "Invalid Argument: Bad CA file '/a.c/x'");
  EXPECT_EQ(error_text("IO Error", "(comsock.c:9): dial nats://u:p@host"),
            "IO Error: dial nats://...@host");
  EXPECT_EQ(error_text("Authorization failed", "(x.c"), "Authorization failed: (x.c");
}

TEST(InboxPrefix, IsASubjectOfItsOwnBelowTheNameOfTheInstance) {
  const std::string a = make_inbox_prefix("mail.eu 1*>");
  const std::string b = make_inbox_prefix("mail.eu 1*>");
  EXPECT_TRUE(a.starts_with("_INBOX.sendonce.mail_eu_1__."));
  EXPECT_NE(a, b);
  EXPECT_EQ(a.find_first_of(" *>"), std::string::npos);
  EXPECT_TRUE(make_inbox_prefix("").starts_with("_INBOX.sendonce._."));
  EXPECT_TRUE(make_inbox_prefix("sendonce/shop-1").starts_with("_INBOX.sendonce.shop-1."));
}

TEST(ApiPrefix, DomainAndPrefixReplaceTheDefault) {
  EXPECT_EQ(js_api_prefix("", ""), "$JS.API");
  EXPECT_EQ(js_api_prefix("hub", ""), "$JS.hub.API");
  EXPECT_EQ(js_api_prefix("", "imported.js."), "imported.js");
  EXPECT_EQ(js_api_prefix("hub", "imported.js"), "imported.js");
}

}  // namespace
}  // namespace sendonce
