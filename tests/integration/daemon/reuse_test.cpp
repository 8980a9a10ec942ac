// A token that comes with another person: the registry is told, and the policy holds.
#include <sysexits.h>

#include "tests/integration/daemon/rig.hpp"

namespace sendonce::test {
namespace {

class ReuseTest : public DaemonTest {
 protected:
  void begin(const std::string& reuse) {
    make({.provider_options = "reuse = \"" + reuse + "\"\n"});
    start();
  }
  void send(int event, const std::string& recipient, const std::string& registered) {
    publish_body("marketing", R"({"event_id":"e)" + std::to_string(event) + R"(","recipient":")" +
                                  recipient +
                                  R"(","channel":"push","template":"t","targets":[{"provider":)" +
                                  R"("apns","token":")" + token(1) + R"(","registered_at":")" +
                                  registered + R"(","ref":"d"}],"notification":{"title":"T"}})");
    ASSERT_TRUE(settled());
  }
  [[nodiscard]] Json last_event() {
    Json found;
    EXPECT_TRUE(within(seconds(30), [&] {
      found = api("STREAM.MSG.GET.SENDONCE_OUTCOMES",
                  R"({"last_by_subj":"sendonce.device.apns.reused"})");
      return found.contains("message");
    }));
    return found;
  }
};

TEST_F(ReuseTest, ToldOnceAndSent) {
  begin("report");
  send(1, "ann", "2026-01-01T00:00:00Z");
  send(2, "bob", "2025-01-01T00:00:00Z");
  send(3, "bob", "2025-01-01T00:00:00Z");
  EXPECT_EQ(seen(1).accepted, 3U);
  EXPECT_TRUE(last_event().contains("message"));
  // A restart remembers whose it is.
  EXPECT_EQ(stop(), EX_OK);
  start();
  send(4, "cem", "2025-01-01T00:00:00Z");
  const Json providers = status().value("providers", Json::array());
  EXPECT_EQ(providers.at(0).value("devices_reused", 0), 1);
  EXPECT_EQ(stop(), EX_OK);
  const Ran verified = sendonce({"ledger", "verify"});
  EXPECT_EQ(verified.code, EX_OK) << verified.text;
  EXPECT_THAT(verified.text, HasSubstr("1 bindings"));
  const Ran backup = sendonce({"ledger", "backup", world_->path("copy")});
  EXPECT_EQ(backup.code, EX_OK) << backup.text;
  EXPECT_THAT(sendonce({"ledger", "verify", world_->path("copy")}).text, HasSubstr("1 bindings"));
}

TEST_F(ReuseTest, RefusedNoRequestIsMade) {
  begin("refuse");
  send(1, "ann", "2026-01-01T00:00:00Z");
  send(2, "bob", "2025-01-01T00:00:00Z");
  EXPECT_EQ(received(), 1U);
  EXPECT_EQ(counter("failed"), 1U);
  const Json letter = api("STREAM.MSG.GET.SENDONCE_DLQ",
                          R"({"last_by_subj":"sendonce.dlq.marketing.token_reused"})");
  EXPECT_TRUE(letter.contains("message")) << letter.dump();
  EXPECT_TRUE(last_event().contains("message"));
  send(3, "bob", "2026-02-01T00:00:00Z");  // he has logged in
  EXPECT_EQ(received(), 2U);
  send(4, "ann", "2026-01-01T00:00:00Z");  // and it is not hers any more
  EXPECT_EQ(received(), 2U);
  EXPECT_EQ(stop(), EX_OK);
}

}  // namespace
}  // namespace sendonce::test
