// Who owns a ledger's directory: one process, for as long as it lives.
//
// The lock is flock() on a descriptor of our own for DIRECTORY/owner.lock. It goes with the process
// however that dies, is not lost when the file is opened and closed once more (as a POSIX lock is),
// and is closed in a forked child, which would keep it otherwise. A stopped process keeps it.
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

#include "ledger/ledger_options.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/unique_fd.hpp"

namespace sendonce {

inline constexpr const char* kOwnerLockFile = "owner.lock";

class OwnerLock {
 public:
  enum class Mode : std::uint8_t {
    create,  // makes the lock file if need be
    own,     // the file has to be there
    look,    // likewise; leaves no pid behind. Several may look at a time
  };
  // An owner waits for those that only look, for 10 s at most. busy: held, by another process
  // (named) or by this one. Any thread.
  [[nodiscard]] static Result<OwnerLock> take(const std::string& directory, Mode mode);

  OwnerLock(OwnerLock&& other) noexcept;
  OwnerLock& operator=(OwnerLock&&) = delete;
  ~OwnerLock();

 private:
  explicit OwnerLock(UniqueFd file);
  UniqueFd file_;
};

// statfs(2)'s f_type: network, FUSE and overlay file systems cannot hold a ledger, and memory can
// only with durability "process".
[[nodiscard]] Result<void> check_file_system_type(std::uint64_t type, LedgerDurability durability);
[[nodiscard]] Result<void> check_file_system(const std::string& directory,
                                             LedgerDurability durability);

// Of the running kernel: changes with every boot.
[[nodiscard]] Result<std::string> read_boot_id();

}  // namespace sendonce
