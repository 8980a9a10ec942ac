#include "ledger/lmdb/data_file.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include "ledger/lmdb/lmdb_tables.hpp"
#include "ledger/lmdb/open.hpp"
#include "tests/contract/ledger_rig.hpp"

namespace sendonce::test {
namespace {

using testing::HasSubstr;

LedgerOptions options_for(const LedgerDir& dir) {
  LedgerOptions options;
  options.directory = dir.path();
  options.scopes = {"orders"};
  options.map_bytes = std::uint64_t{16} << 20U;
  options.reserve_bytes = std::uint64_t{64} << 10U;
  options.check_file_system = false;
  return options;
}

std::string data_path(const LedgerDir& dir) {
  return dir.path() + "/" + kDataFile;
}

// A ledger with some pages in it, closed.
void make_ledger(const LedgerDir& dir) {
  ASSERT_TRUE(create_ledger(options_for(dir)).has_value());
  auto ledger = open_ledger(options_for(dir));
  ASSERT_TRUE(ledger.has_value()) << ledger.error().text;
  for (std::uint64_t i = 0; i < 300; ++i)
    static_cast<void>(run(**ledger, Ticket(i), claim_of(i), kNoon));
}

Error open_error(const LedgerDir& dir) {
  auto ledger = open_ledger(options_for(dir));
  EXPECT_FALSE(ledger.has_value());
  return ledger ? Error{} : ledger.error();
}

TEST(DataFile, AGoodOneIsMeasured) {
  const LedgerDir dir;
  make_ledger(dir);
  const auto state = check_data_file(dir.path());
  ASSERT_TRUE(state.has_value()) << state.error().text;
  EXPECT_GT(state->pages, 10U);
  EXPECT_GE(state->file_bytes, state->pages * state->page_bytes);
}

TEST(DataFile, ATruncatedOneIsRefusedAtEveryPage) {
  const LedgerDir dir;
  make_ledger(dir);
  const auto state = check_data_file(dir.path());
  ASSERT_TRUE(state.has_value());
  for (std::uint64_t pages = state->pages - 1; pages > 1; --pages) {
    std::filesystem::resize_file(data_path(dir), pages * state->page_bytes);
    const auto checked = check_data_file(dir.path());
    ASSERT_FALSE(checked.has_value());
    ASSERT_EQ(checked.error().code, Errc::corrupt);
    ASSERT_THAT(checked.error().text, HasSubstr("truncated"));
  }
  EXPECT_EQ(open_error(dir).code, Errc::corrupt);  // and no SIGBUS
  for (const std::uint64_t bytes : {state->page_bytes, std::uint64_t{100}, std::uint64_t{0}}) {
    std::filesystem::resize_file(data_path(dir), bytes);
    EXPECT_FALSE(check_data_file(dir.path()).has_value());
  }
}

TEST(DataFile, AMissingOneSaysWhatToDo) {
  const LedgerDir dir;
  const Error error = open_error(dir);
  EXPECT_EQ(error.code, Errc::invalid);
  EXPECT_THAT(error.text, HasSubstr("sendonce setup"));
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(DataFile, ARandomOneIsForeign) {
  const LedgerDir dir;
  make_ledger(dir);
  std::ofstream(data_path(dir), std::ios::binary | std::ios::trunc) << std::string(100'000, 'x');
  EXPECT_EQ(open_error(dir).code, Errc::invalid);
}

TEST(DataFile, SomebodyElsesLmdbIsForeign) {
  const LedgerDir dir;
  make_ledger(dir);
  std::filesystem::remove(data_path(dir));
  {
    const auto env =
        LmdbEnv::open({.directory = dir.path(), .map_bytes = 1 << 20, .tables_max = 4, .flags = 0});
    ASSERT_TRUE(env.has_value());
    auto txn = LmdbTxn::begin(*env, 0);
    ASSERT_TRUE(txn.has_value());
    ASSERT_TRUE(open_table(*txn, "theirs", MDB_CREATE).has_value());
    ASSERT_EQ(txn->commit(), 0);
  }
  const Error error = open_error(dir);
  EXPECT_EQ(error.code, Errc::invalid);
  EXPECT_THAT(error.text, HasSubstr("not one of sendonce"));
  EXPECT_FALSE(LedgerReader::open(dir.path()).has_value());
}

TEST(DataFile, AFutureFormatIsRefusedByName) {
  const LedgerDir dir;
  make_ledger(dir);
  {
    const auto env = LmdbEnv::open(
        {.directory = dir.path(), .map_bytes = 16 << 20, .tables_max = kTablesMax, .flags = 0});
    ASSERT_TRUE(env.has_value());
    auto txn = LmdbTxn::begin(*env, 0);
    ASSERT_TRUE(txn.has_value());
    const auto meta = MetaTable::open(*txn, false);
    ASSERT_TRUE(meta.has_value());
    ASSERT_TRUE(meta->put_number(*txn, kMetaFormat, kLedgerFormat + 1).has_value());
    ASSERT_EQ(txn->commit(), 0);
  }
  const Error error = open_error(dir);
  EXPECT_EQ(error.code, Errc::invalid);
  EXPECT_THAT(error.text, HasSubstr("format 2"));
}

// Asked again, a disk that was too small is still too small: the file's length proves nothing.
TEST(DataFile, AHoleIsNoReserve) {
  const LedgerDir dir;
  if (::mount("tmpfs", dir.path().c_str(), "tmpfs", 0, "size=4m") != 0)
    GTEST_SKIP() << "needs the right to mount a tmpfs: " << std::strerror(errno);
  make_ledger(dir);
  EXPECT_FALSE(reserve_data_file(dir.path(), 16U << 20U).value_or(true));
  EXPECT_FALSE(reserve_data_file(dir.path(), 16U << 20U).value_or(true));
  EXPECT_TRUE(check_data_file(dir.path()).has_value());
  EXPECT_EQ(::umount(dir.path().c_str()), 0);
}

TEST(DataFile, ReservesOnceAndNeverShrinks) {
  const LedgerDir dir;
  make_ledger(dir);
  const auto before = check_data_file(dir.path());
  ASSERT_TRUE(before.has_value());
  EXPECT_TRUE(reserve_data_file(dir.path(), before->file_bytes + 8192).value_or(false));
  EXPECT_EQ(check_data_file(dir.path())->file_bytes, before->file_bytes + 8192);
  EXPECT_TRUE(reserve_data_file(dir.path(), 1).value_or(false));
  EXPECT_EQ(check_data_file(dir.path())->file_bytes, before->file_bytes + 8192);
  EXPECT_GT(free_disk_bytes(dir.path()), 0U);
  EXPECT_EQ(free_disk_bytes("/nonexistent"), 0U);
}

}  // namespace
}  // namespace sendonce::test
