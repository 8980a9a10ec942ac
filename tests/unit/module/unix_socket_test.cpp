#include "plugin/module/admin/unix_socket.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/unit/module/scratch_dir.hpp"

namespace sendonce::test {
namespace {

using std::chrono::seconds;

// What a killed process leaves behind: a socket file that nobody listens on.
void leave_stale_socket(const std::string& path) {
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
}

mode_t mode_of(const std::string& path) {
  struct stat found{};
  EXPECT_EQ(::lstat(path.c_str(), &found), 0);
  return found.st_mode & 07777U;
}

TEST(UnixListener, HasItsModeWhateverTheUmask) {
  const ScratchDir dir;
  for (const mode_t mask : {mode_t{0}, mode_t{077}, mode_t{0777}}) {
    const mode_t before = ::umask(mask);
    const auto listener = UnixListener::bind(dir / "s");
    ::umask(before);
    ASSERT_TRUE(listener);
    EXPECT_EQ(mode_of(dir / "s"), mode_t{0660}) << "umask " << mask;
  }
}

TEST(UnixListener, RemovesItsSocketAtTheEnd) {
  const ScratchDir dir;
  {
    ASSERT_TRUE(UnixListener::bind(dir / "s"));
  }
  EXPECT_FALSE(std::filesystem::exists(dir / "s"));
}

TEST(UnixListener, LeavesASocketThatTookItsPlace) {
  const ScratchDir dir;
  {
    const auto listener = UnixListener::bind(dir / "s");
    ASSERT_TRUE(listener);
    std::filesystem::remove(dir / "s");
    leave_stale_socket(dir / "s");
  }
  EXPECT_TRUE(std::filesystem::exists(dir / "s"));
}

TEST(UnixListener, ReplacesWhatAKilledProcessLeft) {
  const ScratchDir dir;
  leave_stale_socket(dir / "s");
  const auto listener = UnixListener::bind(dir / "s");
  ASSERT_TRUE(listener) << listener.error().text;
  EXPECT_TRUE(connect_unix(dir / "s", seconds(1)));
}

TEST(UnixListener, DoesNotTakeTheSocketOfALivingProcess) {
  const ScratchDir dir;
  const auto first = UnixListener::bind(dir / "s");
  ASSERT_TRUE(first);
  const auto second = UnixListener::bind(dir / "s");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::denied);
  EXPECT_TRUE(connect_unix(dir / "s", seconds(1)));
}

TEST(UnixListener, DoesNotRemoveAFile) {
  const ScratchDir dir;
  std::ofstream(dir / "s") << "precious";
  const auto listener = UnixListener::bind(dir / "s");
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().code, Errc::invalid);
  EXPECT_EQ(std::filesystem::file_size(dir / "s"), 8U);
}

TEST(UnixListener, SaysWhatIsWrongWithThePath) {
  const ScratchDir dir;
  EXPECT_EQ(UnixListener::bind("").error().code, Errc::invalid);
  EXPECT_EQ(UnixListener::bind(dir / std::string(200, 'x')).error().code, Errc::invalid);
  const auto nowhere = UnixListener::bind(dir / "no/s");
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().text.find("No such file or directory"), std::string::npos);
}

TEST(UnixListener, AdoptsOnlyAListeningSocket) {
  const ScratchDir dir;
  auto own = UnixListener::bind(dir / "s");
  ASSERT_TRUE(own);
  {
    ASSERT_TRUE(UnixListener::adopt(UniqueFd(::dup(own->fd()))));
  }
  EXPECT_TRUE(std::filesystem::exists(dir / "s")) << "not ours to remove";

  EXPECT_FALSE(UnixListener::adopt(UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))));
  EXPECT_FALSE(UnixListener::adopt(UniqueFd(-1)));
}

TEST(ConnectUnix, SaysWhatToDo) {
  const ScratchDir dir;
  const auto absent = connect_unix(dir / "s", seconds(1));
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Errc::unavailable);
  EXPECT_EQ(absent.error().text,
            "no daemon is listening on " + (dir / "s") + ": start sendonced or use --offline");
  leave_stale_socket(dir / "s");
  EXPECT_EQ(connect_unix(dir / "s", seconds(1)).error().text, absent.error().text);
}

TEST(PeerOf, IsTheProcessOnTheOtherSide) {
  int pair[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const UniqueFd one(pair[0]);
  const UniqueFd other(pair[1]);
  const AdminPeer peer = peer_of(one.get());
  EXPECT_EQ(peer.uid, ::geteuid());
  EXPECT_EQ(peer.gid, ::getegid());
  EXPECT_EQ(peer.pid, ::getpid());
}

}  // namespace
}  // namespace sendonce::test
