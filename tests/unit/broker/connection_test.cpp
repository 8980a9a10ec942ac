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
