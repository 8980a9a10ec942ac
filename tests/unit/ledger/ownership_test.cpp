#include "ledger/ownership.hpp"

#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/contract/ledger_rig.hpp"

namespace sendonce::test {
namespace {

using testing::HasSubstr;
using Mode = OwnerLock::Mode;

// What taking the lock in another process comes to.
Errc take_elsewhere(const std::string& directory) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = OwnerLock::take(directory, Mode::own);
    ::_exit(lock ? 100 : static_cast<int>(lock.error().code));
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return static_cast<Errc>(WEXITSTATUS(status));
}
constexpr auto kTaken = static_cast<Errc>(100);

TEST(OwnerLock, ASecondProcessIsRefusedUntilTheFirstLetsGo) {
  const LedgerDir dir;
  {
    const auto lock = OwnerLock::take(dir.path(), Mode::create);
    ASSERT_TRUE(lock.has_value()) << lock.error().text;
    EXPECT_EQ(take_elsewhere(dir.path()), Errc::busy);
  }
  EXPECT_EQ(take_elsewhere(dir.path()), kTaken);
}

TEST(OwnerLock, ASecondOpenInTheProcessIsRefusedAndHarmless) {
  const LedgerDir dir;
  const auto lock = OwnerLock::take(dir.path(), Mode::create);
  ASSERT_TRUE(lock.has_value());
  for (const Mode mode : {Mode::own, Mode::look}) {
    const auto second = OwnerLock::take(dir.path(), mode);
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().code, Errc::busy);
  }
  EXPECT_EQ(take_elsewhere(dir.path()), Errc::busy);  // still held
}

// What a child with `mode` comes to, started while this process holds a lock that it lets go of
// once the child is on its way.
Errc take_beside(const std::string& directory, std::optional<OwnerLock> held, Mode mode,
                 bool let_go) {
  int ready[2];
  EXPECT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    static_cast<void>(!::write(ready[1], "r", 1));
    const auto lock = OwnerLock::take(directory, mode);
    ::_exit(lock ? 100 : static_cast<int>(lock.error().code));
  }
  char byte = 0;
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  if (let_go) held.reset();
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  for (const int fd : ready) ::close(fd);
  return static_cast<Errc>(WEXITSTATUS(status));
}

// A doctor that looks at the ledger must not keep a daemon from its start.
TEST(OwnerLock, AnOwnerWaitsForThoseThatLook) {
  const LedgerDir dir;
  ASSERT_TRUE(OwnerLock::take(dir.path(), Mode::create).has_value());
  auto looking = OwnerLock::take(dir.path(), Mode::look);
  ASSERT_TRUE(looking.has_value());
  EXPECT_EQ(take_beside(dir.path(), std::move(*looking), Mode::own, true), kTaken);
}

TEST(OwnerLock, ManyMayLookAtATime) {
  const LedgerDir dir;
  ASSERT_TRUE(OwnerLock::take(dir.path(), Mode::create).has_value());
  auto looking = OwnerLock::take(dir.path(), Mode::look);
  ASSERT_TRUE(looking.has_value());
  EXPECT_EQ(take_beside(dir.path(), std::move(*looking), Mode::look, false), kTaken);
}

TEST(OwnerLock, WhoLooksDoesNotWaitForAnOwner) {
  const LedgerDir dir;
  auto owning = OwnerLock::take(dir.path(), Mode::create);
  ASSERT_TRUE(owning.has_value());
  EXPECT_EQ(take_beside(dir.path(), std::move(*owning), Mode::look, false), Errc::busy);
}

TEST(OwnerLock, TheHolderIsNamed) {
  const LedgerDir dir;
  const auto lock = OwnerLock::take(dir.path(), Mode::create);
  ASSERT_TRUE(lock.has_value());
  const pid_t holder = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    const auto second = OwnerLock::take(dir.path(), Mode::look);
    const std::string want = "process " + std::to_string(holder);
    ::_exit(!second && second.error().text.find(want) != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(OwnerLock, AForkedChildDoesNotKeepIt) {
  const LedgerDir dir;
  int hold[2];
  int ready[2];
  ASSERT_EQ(::pipe(hold), 0);
  ASSERT_EQ(::pipe(ready), 0);
  pid_t child = 0;
  char byte = 0;
  {
    const auto lock = OwnerLock::take(dir.path(), Mode::create);
    ASSERT_TRUE(lock.has_value());
    child = ::fork();
    if (child == 0) {
      static_cast<void>(!::write(ready[1], "r", 1));
      ::close(hold[1]);
      static_cast<void>(!::read(hold[0], &byte, 1));  // until the parent says so
      ::_exit(0);
    }
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);           // it has let go of its copy
    EXPECT_EQ(take_elsewhere(dir.path()), Errc::busy);  // the parent lives
  }
  EXPECT_EQ(take_elsewhere(dir.path()), kTaken);  // although the child lives
  for (const int fd : {hold[0], hold[1], ready[0], ready[1]}) ::close(fd);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST(OwnerLock, KillingTheHolderReleasesIt) {
  const LedgerDir dir;
  ASSERT_TRUE(OwnerLock::take(dir.path(), Mode::create).has_value());
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = OwnerLock::take(dir.path(), Mode::own);
    static_cast<void>(!::write(ready[1], lock ? "y" : "n", 1));
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  EXPECT_FALSE(OwnerLock::take(dir.path(), Mode::own).has_value());
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(OwnerLock::take(dir.path(), Mode::own).has_value());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(OwnerLock, LookingCreatesNothing) {
  const LedgerDir dir;
  const auto lock = OwnerLock::take(dir.path(), Mode::look);
  ASSERT_FALSE(lock.has_value());
  EXPECT_EQ(lock.error().code, Errc::invalid);
  EXPECT_THAT(lock.error().text, HasSubstr("sendonce setup"));
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(FileSystem, NetworkFuseAndOverlayAreRefused) {
  for (const std::uint64_t type : {0x6969U, 0x65735546U, 0x794C7630U, 0xFF534D42U}) {
    for (const auto durability : {LedgerDurability::commit, LedgerDurability::process}) {
      const auto checked = check_file_system_type(type, durability);
      ASSERT_FALSE(checked.has_value());
      EXPECT_EQ(checked.error().code, Errc::invalid);
    }
  }
}

TEST(FileSystem, MemoryOnlyWithDurabilityProcess) {
  EXPECT_FALSE(check_file_system_type(0x01021994, LedgerDurability::commit).has_value());
  EXPECT_TRUE(check_file_system_type(0x01021994, LedgerDurability::process).has_value());
}

TEST(FileSystem, DisksAreFine) {
  for (const std::uint64_t type : {0xEF53U, 0x58465342U, 0x9123683EU})  // ext4, XFS, btrfs
    EXPECT_TRUE(check_file_system_type(type, LedgerDurability::commit).has_value());
  EXPECT_FALSE(check_file_system("/nonexistent", LedgerDurability::commit).has_value());
}

TEST(BootId, IsThere) {
  const auto id = read_boot_id();
  ASSERT_TRUE(id.has_value());
  EXPECT_EQ(id->size(), 36U);
}

}  // namespace
}  // namespace sendonce::test
