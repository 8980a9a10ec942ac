#include "ledger/lmdb/data_file.hpp"

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "ledger/bytes.hpp"
#include "plugin/core/unique_fd.hpp"

namespace sendonce {
namespace {

constexpr std::uint32_t kMagic = 0xBEEFC0DEU;
constexpr std::uint32_t kDataVersion = 1;
// Offsets within a meta page: header 16, then magic, version, address, map size, two MDB_db of 48
// bytes (the free list's first field is the page size), last page, transaction.
constexpr std::size_t kMagicAt = 16;
constexpr std::size_t kVersionAt = 20;
constexpr std::size_t kMapSizeAt = 32;
constexpr std::size_t kPageSizeAt = 40;
constexpr std::size_t kLastPageAt = 136;
constexpr std::size_t kTxnAt = 144;
constexpr std::size_t kMetaSize = 152;

struct Meta {
  std::uint64_t page_bytes = 0;
  std::uint64_t last_page = 0;
  std::uint64_t map_bytes = 0;
  std::uint64_t txn = 0;
};

std::unexpected<Error> file_error(Errc code, const std::string& path, std::string_view what) {
  return fail(code, "ledger file " + path + ": " + std::string(what));
}

Result<std::optional<Meta>> read_meta(int fd, std::uint64_t at, const std::string& path) {
  std::array<char, kMetaSize> raw{};
  const ssize_t got = ::pread(fd, raw.data(), raw.size(), static_cast<off_t>(at));
  if (got < 0) return file_error(Errc::unavailable, path, std::strerror(errno));
  if (static_cast<std::size_t>(got) < raw.size()) return std::optional<Meta>{};
  const std::string_view bytes(raw.data(), raw.size());
  if (load<std::uint32_t>(bytes, kMagicAt) != kMagic) return std::optional<Meta>{};
  if (load<std::uint32_t>(bytes, kVersionAt) != kDataVersion)
    return file_error(Errc::invalid, path, "written by another version of LMDB");
  return std::optional(Meta{.page_bytes = load<std::uint32_t>(bytes, kPageSizeAt),
                            .last_page = load<std::uint64_t>(bytes, kLastPageAt),
                            .map_bytes = load<std::uint64_t>(bytes, kMapSizeAt),
                            .txn = load<std::uint64_t>(bytes, kTxnAt)});
}

}  // namespace

Result<DataFileState> check_data_file(const std::string& directory) {
  const std::string path = directory + "/" + kDataFile;
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    if (errno == ENOENT)
      return file_error(Errc::invalid, path, "does not exist; `sendonce setup` makes a ledger");
    return file_error(Errc::denied, path, std::strerror(errno));
  }
  struct stat st{};
  if (::fstat(fd.get(), &st) != 0) return file_error(Errc::unavailable, path, std::strerror(errno));
  const auto size = static_cast<std::uint64_t>(st.st_size);
  SO_TRY(const auto first, read_meta(fd.get(), 0, path));
  if (!first) return file_error(Errc::invalid, path, "is not a ledger (no LMDB meta page)");
  if (!std::has_single_bit(first->page_bytes) || first->page_bytes < 512 ||
      first->page_bytes > 65536)
    return file_error(Errc::corrupt, path, "first meta page is damaged");
  SO_TRY(const auto second, read_meta(fd.get(), first->page_bytes, path));
  if (!second || second->page_bytes != first->page_bytes)
    return file_error(Errc::corrupt, path, "second meta page is missing or damaged");
  const Meta& newest = second->txn > first->txn ? *second : *first;
  const DataFileState state{.page_bytes = newest.page_bytes,
                            .pages = newest.last_page + 1,
                            .map_bytes = newest.map_bytes,
                            .file_bytes = size};
  if (state.pages > size / state.page_bytes)
    return file_error(Errc::corrupt, path,
                      "is truncated: " + std::to_string(size) + " bytes, its last page ends at " +
                          std::to_string(state.pages * state.page_bytes) +
                          "; put a copy back and run `sendonce setup --restored`, or make a new "
                          "ledger and adopt the classes");
  return state;
}

Result<bool> reserve_data_file(const std::string& directory, std::uint64_t bytes) {
  const std::string path = directory + "/" + kDataFile;
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd) return file_error(Errc::unavailable, path, std::strerror(errno));
  struct stat st{};
  if (::fstat(fd.get(), &st) != 0) return file_error(Errc::unavailable, path, std::strerror(errno));
  const auto want = static_cast<off_t>(bytes);
  int rc = 0;
  do {
    // From the beginning: an earlier attempt may have left a hole, and what has blocks keeps them.
    rc = ::fallocate(fd.get(), 0, 0, want);
  } while (rc != 0 && errno == EINTR);
  if (rc == 0) return true;
  if (errno != ENOSPC && errno != EDQUOT && errno != EOPNOTSUPP)
    return file_error(Errc::unavailable, path, std::strerror(errno));
  const bool unsupported = errno == EOPNOTSUPP;
  if (st.st_size < want && ::ftruncate(fd.get(), want) != 0)
    return file_error(Errc::unavailable, path, std::strerror(errno));
  return unsupported;
}

std::uint64_t free_disk_bytes(const std::string& directory) {
  struct statvfs fs{};
  if (::statvfs(directory.c_str(), &fs) != 0) return 0;
  return std::uint64_t{fs.f_bavail} * fs.f_frsize;
}

}  // namespace sendonce
