#include "config/reload.hpp"

#include <gmock/gmock.h>

#include "tests/unit/config/fixture.hpp"

namespace sendonce::test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

std::vector<Change> changes(const std::string& after) {
  return compare(config_of(good()), config_of(after));
}

Change only(const std::string& after) {
  const std::vector<Change> all = changes(after);
  EXPECT_THAT(all, SizeIs(1));
  return all.empty() ? Change{} : all.front();
}

TEST(Reload, NothingChanged) {
  EXPECT_THAT(changes(good()), IsEmpty());
  EXPECT_THAT(changes("\n# moved\n" + with_line(good(), 10, "expires = \"180s\"")), IsEmpty());
}

TEST(Reload, AppliesNow) {
  const std::string extra = with_line(good(), 6, "topic = \"com.example.shop\"\n@");
  const auto provider = [&](std::string_view line) {
    std::string text = extra;
    text.replace(text.find('@'), 1, line);
    return only(text);
  };
  EXPECT_EQ(provider("rate = \"5/s\"").field, "provider.apns.rate");
  EXPECT_EQ(provider("rate = \"5/s\"").before, "");
  EXPECT_EQ(provider("rate = \"5/s\"").after, "\"5/s\"");
  for (const char* line : {"rate = \"5/s\"", "call.total = \"9s\"", "concurrency.streams = 5",
                           "breaker.probe = \"1s\"", "reuse = \"report\""})
    EXPECT_EQ(provider(line).applies, OnReload::now) << line;
  for (const char* line :
       {"retry.attempts = 3", "priority = \"high\"", "claim = \"40s\"", "collapse = \"{event_id}\"",
        "events = \"exceptions\"", "rate = \"1/s\"", "in_flight = 5", "replay = \"1h\""})
    EXPECT_EQ(only(with_more(good(), line)).applies, OnReload::now) << line;
  EXPECT_EQ(only(with_line(good(), 11, "retention = \"3d\"")).applies, OnReload::now);
  const Change policy = only(with_line(good(), 12, "ambiguous = { default = \"give-up\" }"));
  EXPECT_EQ(policy.applies, OnReload::now);
  EXPECT_EQ(policy.before, "\"resend\"");
  EXPECT_EQ(policy.after, "\"give-up\"");
  const Change key = only(with_line(
      good(), 7, "auth = { team = \"ABCDE12345\", key_id = \"FGHIJ67890\", key = \"cred:new\" }"));
  EXPECT_EQ(key.field, "provider.apns.auth.key");
  EXPECT_EQ(key.applies, OnReload::now);
}

TEST(Reload, WhatIsRefusedIsNamedByItsPlace) {
  const std::string text = with_line(good(), 9, "subject = \"notify.x\"");
  const LoadResult loaded = load_config_text(text, "t.toml");
  EXPECT_THAT(texts(refused_by_reload(changes(text), loaded.positions)),
              testing::ElementsAre("t.toml:9:11: error: class.otp.subject: cannot change while "
                                   "running; restart sendonced"));
}

TEST(Reload, NeedsARestart) {
  for (const char* line :
       {"key_scope = \"old\"", "stream = \"OTHER\"", "ack_wait = \"50s\"",
        "key = [\"event_id\", \"recipient\", \"channel\"]",
        "key_previous = [\"event_id\", \"recipient\", \"channel\"]", "max_ack_pending = 9999",
        "[metrics]\nlisten = \"127.0.0.1:8227\"", "[ledger]\nmap_size = \"9GiB\"",
        "[ledger]\ndurability = \"process\"", "[devices]\nreports = \"reports.>\"",
        "[nats]\ndomain = \"hub\"", "[nats]\ncredentials = \"cred:n\""}) {
    EXPECT_EQ(only(with_more(good(), line)).applies, OnReload::restart) << line;
    EXPECT_EQ(refused_by_reload(changes(with_more(good(), line)), {}).size(), 1U);
  }
  EXPECT_EQ(only(with_line(good(), 9, "subject = \"notify.x\"")).applies, OnReload::restart);
  EXPECT_EQ(only(with_line(good(), 6, "topic = \"other\"")).applies, OnReload::restart);
  EXPECT_EQ(only(with_line(good(), 3, "name = \"other\"")).applies, OnReload::restart);
}

TEST(Reload, TablesThatCameOrWent) {
  std::string more = good();
  more += "[provider.fcm]\nkind = \"fcm\"\nauth.service_account = \"cred:f\"\n";
  more = with_line(more, 13, "route = { push = [\"apns\", \"fcm\"] }");
  const std::vector<Change> came = compare(config_of(good()), config_of(more));
  ASSERT_THAT(came, SizeIs(2));
  EXPECT_EQ(came[0].field, "provider.fcm");
  EXPECT_EQ(came[0].after, "added");
  EXPECT_EQ(came[0].applies, OnReload::restart);
  EXPECT_EQ(came[1].field, "class.otp.route.push");
  EXPECT_EQ(came[1].applies, OnReload::now);
  const std::vector<Change> went = compare(config_of(more), config_of(good()));
  ASSERT_THAT(went, SizeIs(2));
  EXPECT_EQ(went[0].field, "provider.fcm");
  EXPECT_EQ(went[0].before, "removed");
}

}  // namespace
}  // namespace sendonce::test
