// How a ledger on disk is made and opened.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ledger/key_marks.hpp"
#include "ledger/store.hpp"
#include "plugin/core/secret.hpp"

namespace sendonce {

enum class LedgerDurability : std::uint8_t {
  commit,   // every commit is on the disk before it is answered
  process,  // survives the process, not the host: refuses to open after an unclean reboot
};

// Random, made with the ledger, never printed: the key of the hashes by which an operator finds
// rows again (plugin/crypto/lookup_hash.hpp).
using LedgerSecret = Secret<struct LedgerSecretTag>;

// Rows read so far while the index is rebuilt, and how many there are.
using RebuildProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

struct LedgerOptions {
  std::string directory{};
  std::vector<std::string> scopes{};  // position = ScopeIndex
  std::uint64_t map_bytes = std::uint64_t{8} << 30U;
  LedgerDurability durability = LedgerDurability::commit;
  // Kept allocated ahead of the pages in use, see lmdb/data_file.hpp.
  std::uint64_t reserve_bytes = std::uint64_t{16} << 20U;
  // Claims stop when less than this is free on the disk.
  std::uint64_t disk_low_bytes = std::uint64_t{64} << 20U;
  RebuildProgress progress{};
  // Compared with what the ledger has stored when it is opened; none: neither compared nor stored.
  std::optional<KeyMarks> keys{};
  // For tests: where commits fail; another boot id than the machine's; any file system.
  CommitFault fault{};
  std::string boot_id{};
  bool check_file_system = true;
};

}  // namespace sendonce
