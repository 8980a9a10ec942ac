#include "plugin/message/notification.hpp"

#include <gtest/gtest.h>

namespace sendonce {
namespace {

TEST(Channel, NamesGoBothWays) {
  for (const Channel c :
       {Channel::push, Channel::sms, Channel::email, Channel::webhook, Channel::in_app})
    EXPECT_EQ(channel_from(name(c)), c);
  EXPECT_EQ(name(Channel::webhook), "webhook");
  EXPECT_FALSE(channel_from("Push"));
  EXPECT_FALSE(channel_from(""));
}

TEST(ProviderKind, NamesGoBothWays) {
  for (const ProviderKind k :
       {ProviderKind::apns, ProviderKind::fcm, ProviderKind::webpush, ProviderKind::sms,
        ProviderKind::email, ProviderKind::http, ProviderKind::push})
    EXPECT_EQ(provider_kind_from(name(k)), k);
  EXPECT_EQ(name(ProviderKind::webpush), "webpush");
  EXPECT_FALSE(provider_kind_from("gcm"));
}

}  // namespace
}  // namespace sendonce
