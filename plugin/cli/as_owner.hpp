// What root does to the daemon's files, it does as the daemon's user.
#pragma once

#include <string>

#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sendonce::cli {

// While it lives, this thread of root touches files as the owner of the state directory: a ledger
// that root made could not be opened by the daemon. (Not seteuid: glibc then interrupts every other
// thread, and cnats takes that for a lost connection.)
class AsOwner {
 public:
  explicit AsOwner(const std::string& state_dir) {
    struct stat status{};
    changed_ = ::geteuid() == 0 && ::stat(state_dir.c_str(), &status) == 0 && status.st_uid != 0;
    if (!changed_) return;
    ::setfsgid(status.st_gid);
    ::setfsuid(status.st_uid);
  }
  AsOwner(const AsOwner&) = delete;
  AsOwner& operator=(const AsOwner&) = delete;
  ~AsOwner() {
    if (!changed_) return;
    ::setfsuid(0);
    ::setfsgid(0);
  }

 private:
  bool changed_ = false;
};

}  // namespace sendonce::cli
