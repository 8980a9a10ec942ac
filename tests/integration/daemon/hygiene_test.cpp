// A sender's own mistakes cost no notification and no device (laws 7 and 8).
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <sysexits.h>

#include "ledger/lmdb/open.hpp"
#include "tests/integration/daemon/rig.hpp"

namespace sendonce::test {
namespace {

class HygieneTest : public DaemonTest {
 protected:
  // Of all messages on the outcome stream; a message may carry several events.
  std::uint64_t device_events(const std::string& change = "*") {
    const Json info = api("STREAM.INFO.SENDONCE_OUTCOMES",
                          R"({"subjects_filter":"sendonce.device.*.)" + change + R"("})");
    const Json subjects = info.value("/state/subjects"_json_pointer, Json());
    std::uint64_t n = 0;
    if (subjects.is_object())
      for (const auto& count : subjects) n += count.get<std::uint64_t>();
    return n;
  }
  std::uint64_t withheld(const char* what = "device_faults_withheld") const {
    std::uint64_t n = 0;
    for (const Json& p : status().value("providers", Json::array()))
      n += p.value(what, std::uint64_t{0});
    return n;
  }
  // By the ledger, whatever was told of them.
  std::map<std::string, std::uint64_t> devices() const {
    std::map<std::string, std::uint64_t> out;
    std::istringstream lines(sendonce({"device", "list", "--json", "--limit", "1000"}).text);
    for (std::string line; std::getline(lines, line);)
      ++out[Json::parse(line, nullptr, false).value("state", "unreadable")];
    return out;
  }

  // The most attempts of any row, by the ledger.
  std::uint32_t most_attempts() const {
    std::uint32_t most = 0;
    const auto reader = LedgerReader::open(ledger_directory(world_->config().instance));
    EXPECT_TRUE(reader.has_value());
    if (!reader) return most;
    const auto scanned = (*reader)->scan({}, [&](std::string_view, const Row& row) {
      most = std::max<std::uint32_t>(most, row.attempts);
      return true;
    });
    EXPECT_TRUE(scanned.has_value());
    return most;
  }
};

// Somebody deployed the wrong key, and the right one comes after a while.
TEST_F(HygieneTest, TheWrongKeyLosesNothingAndCostsNoAttempt) {
  constexpr int kMessages = 10'000;
  make();
  StagedProvider another;
  ASSERT_TRUE(another.start().has_value());
  const std::string key = world_->path("deployed.p8");
  const std::string right = provider_.credentials() + "/apns.p8";
  const auto deploy = [&](const std::string& file) {
    std::filesystem::copy_file(file, key, std::filesystem::copy_options::overwrite_existing);
  };
  deploy(another.credentials() + "/apns.p8");
  replace_in_config(right, key);
  publish(0, kMessages);
  start();
  ASSERT_TRUE(logs("InvalidProviderToken"));
  // The hold is probed, and the refusals are counted for nobody.
  ASSERT_TRUE(within(seconds(60), [this] { return received() >= 3; }));
  EXPECT_EQ(stored(), std::uint64_t{kMessages});
  EXPECT_EQ(counter("accepted"), 0U);
  EXPECT_EQ(counter("failed"), 0U);
  EXPECT_EQ(device_events(), 0U);

  const std::uint64_t refused = received();
  deploy(right);
  reload("daemon.reloaded");
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("accepted"), std::uint64_t{kMessages});
  EXPECT_EQ(stop(), EX_OK);
  EXPECT_LT(refused, 600U) << "what was under way, and probes";
  for (int i = 0; i < kMessages; ++i) EXPECT_EQ(seen(i).accepted, 1U) << "event " << i;
  EXPECT_EQ(most_attempts(), 1U);
  EXPECT_EQ(device_events(), 0U);
}

constexpr const char* kBadTokens =
    "[[rule]]\nprovider = \"apns\"\nstatus = 400\nreason = \"BadDeviceToken\"\n";

// Production tokens at the sandbox: nothing has ever been accepted here.
TEST_F(HygieneTest, AnEnvironmentThatWasNeverProvenEndsNoDevice) {
  make();
  start();
  script(kBadTokens);
  publish(0, 300);
  ASSERT_TRUE(settled());
  ASSERT_TRUE(logs("BadDeviceToken"));
  EXPECT_TRUE(logs("provider.mismatches"));
  EXPECT_EQ(counter("failed"), 300U);
  EXPECT_EQ(withheld("mismatches_withheld"), 281U);
  EXPECT_TRUE(within(seconds(30), [this] { return device_events("mismatch") > 0; }));
  EXPECT_LE(device_events("mismatch"), 19U);
  EXPECT_EQ(device_events("invalid"), 0U);

  // The right environment: whoever was marked, too, gets what comes next.
  script("");
  publish(300, 600);
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("accepted"), 300U);
  EXPECT_EQ(counter("suppressed"), 0U);
  EXPECT_TRUE(logs("provider.mismatches_over"));
  EXPECT_EQ(devices(), (std::map<std::string, std::uint64_t>{{"mismatch", 19}}));
  EXPECT_EQ(stop(), EX_OK);
}

// The same after good days: the brake stops the events, and nothing else is lost.
TEST_F(HygieneTest, ADeployThatTurnsEveryTokenBadIsStoppedByTheBreaker) {
  make();
  start();
  publish(0, 200);
  ASSERT_TRUE(settled());
  ASSERT_EQ(counter("accepted"), 200U);
  script(kBadTokens);
  publish(200, 1'200);
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("failed"), 1'000U);
  EXPECT_LE(device_events(), 40U);
  EXPECT_EQ(withheld(), 960U);
  EXPECT_TRUE(logs("provider.invalidations_held"));
  EXPECT_EQ(devices(), (std::map<std::string, std::uint64_t>{{"invalid", 40}}));
  EXPECT_EQ(stop(), EX_OK);
}

}  // namespace
}  // namespace sendonce::test
