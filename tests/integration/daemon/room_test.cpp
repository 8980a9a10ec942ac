// No room: the ledger's map or its disk is full. Law 11: what cannot be claimed is not sent, and
// what cannot be recorded is not acked.
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sysexits.h>
#include <unistd.h>

#include "tests/integration/daemon/rig.hpp"

namespace sendonce::test {
namespace {

namespace fs = std::filesystem;

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
  const std::uint64_t left = stored();
  EXPECT_GE(left, 3U);
  EXPECT_LT(sent, static_cast<std::uint64_t>(published));
  publish_more();
  ASSERT_TRUE(within(seconds(60), [&] { return stored() == left + 1; }));
  EXPECT_EQ(stop(), EX_OK);
  EXPECT_EQ(received(), sent) << "nothing is sent without a claim";
  EXPECT_EQ(stored(), left + 1) << "and nothing acked";
  const auto before = rows();
  EXPECT_EQ(before.size(), sent) << "every request has its row";
  for (const auto& [delivery, state] : before) EXPECT_EQ(name(state), name(State::accepted));

  replace_in_config("16MiB", "256MiB");
  start();
  ASSERT_TRUE(settled());
  EXPECT_EQ(stop(), EX_OK);
  expect_each_once(0, published);
}

// ---- the disk ---------------------------------------------------------------------------------

// A small ext4 file system of its own, in a file.
class SmallDisk {
 public:
  // Says why there is none.
  [[nodiscard]] std::string mount(const fs::path& below, std::uint64_t bytes) {
    const fs::path image = below / "disk.img";
    mount_ = below / "disk";
    fs::create_directory(mount_);
    std::ofstream(image).close();
    fs::resize_file(image, bytes);
    std::string why = run(below, "mkfs.ext4", {"-q", "-F", "-m", "0", image.string()});
    if (!why.empty()) return why;
    why = run(below, "mount", {"-o", "loop", image.string(), mount_.string()});
    mounted_ = why.empty();
    return why;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(mount_.c_str(), MNT_DETACH);
  }
  SmallDisk() = default;
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  [[nodiscard]] const fs::path& path() const { return mount_; }
  [[nodiscard]] std::uint64_t free_bytes() const {
    struct statvfs s{};
    return ::statvfs(mount_.c_str(), &s) == 0 ? s.f_bavail * s.f_frsize : 0;
  }
  // Takes all but so many bytes away; 0: every last block.
  void fill(std::uint64_t leave) const {
    const int fd =
        ::open((mount_ / "ballast").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const std::string block(4096, 'b');
    while (free_bytes() > leave && ::write(fd, block.data(), block.size()) > 0) {
    }
    ::fsync(fd);
    ::close(fd);
  }
  void make_room() const { fs::remove(mount_ / "ballast"); }

 private:
  static std::string run(const fs::path& below, const std::string& program,
                         std::vector<std::string> args) {
    auto process = Process::start(
        {.program = find_program(program), .args = std::move(args), .output = below / "out"});
    if (!process) return program + " is not there";
    const auto exit = process->wait(seconds(60));
    if (exit && exit->code == 0) return {};
    return program + ": " + read_file(below / "out");
  }

  fs::path mount_{};
  bool mounted_ = false;
};

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
