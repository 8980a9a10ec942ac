// No room: the ledger's map or its disk is full. Law 11: what cannot be claimed is not sent, and
// what cannot be recorded is not acked.
#include <sysexits.h>

#include "tests/integration/daemon/rig.hpp"
#include "tests/support/small_disk.hpp"

namespace sendonce::test {
namespace {

class RoomTest : public DaemonTest {
 protected:
  // One message with many targets: rows by the hundred.
  void publish_wide(int from, int to) {
    std::string targets;
    for (int i = from; i < to; ++i) targets += (i == from ? "" : ",") + target(i);
    const std::string n = std::to_string(from);
    publish_body("marketing", R"({"event_id":"w)" + n + R"(","recipient":"u)" + n +
                                  R"(","channel":"push","template":"t","targets":[)" + targets +
                                  R"(],"notification":{"title":"T","body":"B"}})");
  }
  [[nodiscard]] bool claims_stopped() const {
    return status().value("/ledger/claims_stopped"_json_pointer, false);
  }
};

TEST_F(RoomTest, AFullMapStopsClaimsAndALargerOneGoesOn) {
  constexpr int kWide = 500;
  make({.map_size = "16MiB"});
  start();
  int published = 0;
  const auto publish_more = [&] {
    publish_wide(published, published + kWide);
    published += kWide;
  };
  const bool full = within(seconds(300), [&] {
    if (stored() < 10) publish_more();
    return claims_stopped();
  });
  ASSERT_TRUE(full) << published << " deliveries fit";
  ASSERT_TRUE(logs("nearly full"));
  EXPECT_THAT(log(), HasSubstr("class.not_ready"));
  for (int i = 0; i < 3; ++i) publish_more();
  // What was claimed may end; then nothing moves any more.
  ASSERT_TRUE(within(seconds(60), [this] {
    const Json s = status();
    return s["/providers/0/in_flight"_json_pointer] == 0 &&
           s["/ledger/open_rows"_json_pointer] == 0;
  }));
  const std::uint64_t sent = received();
  EXPECT_LT(sent, static_cast<std::uint64_t>(published));
  publish_more();
  EXPECT_EQ(stop(), EX_OK);
  EXPECT_EQ(received(), sent) << "nothing is sent without a claim";
  const auto before = rows();
  EXPECT_EQ(before.size(), sent) << "every request has its row";
  for (const auto& [delivery, state] : before) EXPECT_EQ(name(state), name(State::accepted));
  std::uint64_t left = 0;  // messages with a delivery that was never claimed
  for (int from = 0; from < published; from += kWide) {
    const auto rows_of = std::distance(before.lower_bound(from), before.lower_bound(from + kWide));
    left += rows_of < kWide ? 1U : 0U;
  }
  EXPECT_GE(left, 4U);
  EXPECT_TRUE(within(seconds(30), [&] { return stored() == left; }))
      << "acked is what has ended, and nothing else: " << stored() << " of " << left;

  replace_in_config("16MiB", "256MiB");
  start();
  ASSERT_TRUE(settled());
  EXPECT_EQ(stop(), EX_OK);
  expect_each_once(0, published);
}

// ---- the disk ---------------------------------------------------------------------------------

class SmallDiskTest : public RoomTest {
 protected:
  void SetUp() override {
    const std::string why = disk.mount(below.path(), std::uint64_t{256} << 20U);
    if (!why.empty()) GTEST_SKIP() << "no disk of our own can be mounted here: " << why;
    make({.state_dir = (disk.path() / "state").string(), .map_size = "128MiB"});
    start();
  }

  TempDir below{};
  SmallDisk disk{};  // unmounted before its directory goes
};

TEST_F(SmallDiskTest, AFullDiskStopsClaimsAndStillRecordsWhatWasSent) {
  publish(0, 50);
  ASSERT_TRUE(settled());

  // Calls in flight while the last block goes: their answers are still recorded, and acked.
  script("[[rule]]\nprovider = \"apns\"\ndelay = \"2s\"\n");
  publish(50, 70);
  ASSERT_TRUE(within(seconds(60), [this] { return received() == 70; }));
  disk.fill(0);
  EXPECT_EQ(disk.free_bytes(), 0U);
  ASSERT_TRUE(settled());
  EXPECT_EQ(counter("accepted"), 70U);
  script("");

  ASSERT_TRUE(within(seconds(60), [this] { return claims_stopped(); }));
  ASSERT_TRUE(logs("nearly full"));
  publish(70, 100);
  ASSERT_TRUE(within(seconds(60), [this] { return stored() == 30; }));
  EXPECT_EQ(received(), 70U) << "nothing is sent";
  expect_no_early_ack(100);
  EXPECT_TRUE(world_->daemon_runs());

  disk.make_room();
  ASSERT_TRUE(settled());
  EXPECT_EQ(stop(), EX_OK);
  expect_each_once(0, 100);
  EXPECT_EQ(rows().size(), 100U);
}

TEST_F(SmallDiskTest, AStartOnAFullDiskSendsNothingAndRecovers) {
  publish(0, 10);
  ASSERT_TRUE(settled());
  EXPECT_EQ(stop(), EX_OK);
  disk.fill(0);
  publish(10, 20);
  start_without_wait();
  ASSERT_TRUE(logs("nearly full"));
  EXPECT_EQ(received(), 10U);
  EXPECT_EQ(stored(), 10U);
  disk.make_room();
  ASSERT_TRUE(settled());
  EXPECT_EQ(stop(), EX_OK);
  expect_each_once(0, 20);
}

}  // namespace
}  // namespace sendonce::test
