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

#include "tests/support/temp_dir.hpp"

namespace sendonce::test {
namespace {

using std::chrono::seconds;

// What a killed process leaves behind: a socket file that nobody listens on.
void leave_stale_socket(const std::string& path) {
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_TRUE(fd);
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
  const TempDir dir;
  const std::string at = dir / "s";
  for (const mode_t mask : {mode_t{0}, mode_t{077}, mode_t{0777}}) {
    const mode_t before = ::umask(mask);
    const auto listener = UnixListener::bind(at);
    ::umask(before);
    ASSERT_TRUE(listener);
    EXPECT_EQ(mode_of(at), mode_t{0660}) << "umask " << mask;
  }
}

TEST(UnixListener, RemovesItsSocketAtTheEnd) {
  const TempDir dir;
  const std::string at = dir / "s";
  {
    ASSERT_TRUE(UnixListener::bind(at));
  }
  EXPECT_FALSE(std::filesystem::exists(at));
}

TEST(UnixListener, LeavesASocketThatTookItsPlace) {
  const TempDir dir;
  const std::string at = dir / "s";
  {
    const auto listener = UnixListener::bind(at);
    ASSERT_TRUE(listener);
    std::filesystem::remove(at);
    leave_stale_socket(at);
  }
  EXPECT_TRUE(std::filesystem::exists(at));
}

TEST(UnixListener, ReplacesWhatAKilledProcessLeft) {
  const TempDir dir;
  const std::string at = dir / "s";
  leave_stale_socket(at);
  const auto listener = UnixListener::bind(at);
  ASSERT_TRUE(listener) << listener.error().text;
  EXPECT_TRUE(connect_unix(at, seconds(1)));
}

TEST(UnixListener, DoesNotTakeTheSocketOfALivingProcess) {
  const TempDir dir;
  const std::string at = dir / "s";
  const auto first = UnixListener::bind(at);
  ASSERT_TRUE(first);
  const auto second = UnixListener::bind(at);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::busy);
  EXPECT_TRUE(connect_unix(at, seconds(1)));
}

TEST(UnixListener, DoesNotRemoveAFile) {
  const TempDir dir;
  const std::string at = dir / "s";
  std::ofstream(at) << "precious";
  const auto listener = UnixListener::bind(at);
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().code, Errc::invalid);
  EXPECT_EQ(std::filesystem::file_size(at), 8U);
}

TEST(UnixListener, SaysWhatIsWrongWithThePath) {
  const TempDir dir;
  EXPECT_EQ(UnixListener::bind("").error().code, Errc::invalid);
  EXPECT_EQ(UnixListener::bind((dir / std::string(200, 'x')).string()).error().code, Errc::invalid);
  const auto nowhere = UnixListener::bind((dir / "no/s").string());
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().text.find("No such file or directory"), std::string::npos);
}

TEST(UnixListener, AdoptsOnlyAListeningSocket) {
  const TempDir dir;
  const std::string at = dir / "s";
  auto own = UnixListener::bind(at);
  ASSERT_TRUE(own);
  {
    ASSERT_TRUE(UnixListener::adopt(UniqueFd(::dup(own->fd()))));
  }
  EXPECT_TRUE(std::filesystem::exists(at)) << "not ours to remove";

  EXPECT_FALSE(UnixListener::adopt(UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))));
  EXPECT_FALSE(UnixListener::adopt(UniqueFd(-1)));
}

TEST(ConnectUnix, SaysWhatToDo) {
  const TempDir dir;
  const std::string at = dir / "s";
  const auto absent = connect_unix(at, seconds(1));
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Errc::unavailable);
  EXPECT_EQ(absent.error().text, "no daemon is listening on " + at + ": is sendonced running?");
  leave_stale_socket(at);
  EXPECT_EQ(connect_unix(at, seconds(1)).error().text, absent.error().text);
}

}  // namespace
}  // namespace sendonce::test
