// The data file looked at before LMDB maps it: reading past the end of a mapped file is SIGBUS, so
// a file shorter than its own last page says, a foreign one or one of another format is refused
// here. The meta pages as in LMDB 0.9 (mdb.c: MDB_page, MDB_meta, MDB_db; data version 1).
#pragma once

#include <cstdint>
#include <string>

#include "plugin/core/error.hpp"

namespace sendonce {

inline constexpr const char* kDataFile = "data.mdb";

struct DataFileState {
  std::uint64_t page_bytes = 0;
  std::uint64_t pages = 0;      // in use or free, as the newest meta page says
  std::uint64_t map_bytes = 0;  // as when it was last written
  std::uint64_t file_bytes = 0;
};

// `directory` holds data.mdb. invalid: not there, or not a ledger; corrupt: torn or truncated.
[[nodiscard]] Result<DataFileState> check_data_file(const std::string& directory);

// Keeps room on the disk ahead of the pages in use, so that a disk filled by others still lets us
// record what was sent: makes data.mdb at least `bytes` long, with its blocks allocated. False: the
// disk has not that much left (the length is then set without blocks, so that a file that ends
// within its last transaction's pages can be told from a truncated one).
[[nodiscard]] Result<bool> reserve_data_file(const std::string& directory, std::uint64_t bytes);

// Free for us on the file system of `directory`; 0 when it cannot be asked.
[[nodiscard]] std::uint64_t free_disk_bytes(const std::string& directory);

}  // namespace sendonce
