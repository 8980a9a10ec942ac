#include "ledger/ownership.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string_view>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace sendonce {
namespace {

// What this process holds. The forked child reads it without a lock, hence atomics.
struct Held {
  std::atomic<int> fd{-1};
  dev_t device{};
  ino_t inode{};
};
constexpr std::size_t kHeldMax = 64;
std::array<Held, kHeldMax> held_locks;
std::mutex held_mutex;

void close_in_child() {
  for (Held& held : held_locks) {
    if (const int fd = held.fd.load(std::memory_order_relaxed); fd >= 0) ::close(fd);
    held.fd.store(-1, std::memory_order_relaxed);
  }
}

Result<void> enter_registry(int fd, const std::string& path) {
  static const int registered = ::pthread_atfork(nullptr, nullptr, close_in_child);
  if (registered != 0) return fail(Errc::internal, "pthread_atfork failed");
  struct stat st{};
  if (::fstat(fd, &st) != 0) return fail(Errc::unavailable, path + ": " + std::strerror(errno));
  const std::scoped_lock guard(held_mutex);
  Held* vacant = nullptr;
  for (Held& held : held_locks) {
    if (held.fd.load() < 0) {
      vacant = &held;
    } else if (held.device == st.st_dev && held.inode == st.st_ino) {
      return fail(Errc::busy, path + ": this process has the ledger open already");
    }
  }
  if (vacant == nullptr) return fail(Errc::exhausted, "too many ledgers open in this process");
  vacant->device = st.st_dev;
  vacant->inode = st.st_ino;
  vacant->fd.store(fd);
  return {};
}

void leave_registry(int fd) {
  const std::scoped_lock guard(held_mutex);
  for (Held& held : held_locks) {
    if (held.fd.load() == fd) held.fd.store(-1);
  }
}

std::string holder(int fd) {
  std::array<char, 24> text{};
  const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
  const std::string_view pid(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  const std::size_t end = pid.find('\n');
  if (end == std::string_view::npos || end == 0) return "another process";
  return "process " + std::string(pid.substr(0, end));
}

void leave_pid(int fd) {
  const std::string pid = std::to_string(::getpid()) + "\n";
  // Only for people: `doctor` names the holder. Nothing depends on it.
  if (::ftruncate(fd, 0) == 0 && ::pwrite(fd, pid.data(), pid.size(), 0) < 0) return;
}

struct Unfit {
  std::uint64_t type;
  std::string_view name;
};
// linux/magic.h and the file systems' own headers.
constexpr std::array kUnfit{
    Unfit{0x6969, "NFS"},        Unfit{0x517B, "SMB"},       Unfit{0xFF534D42, "CIFS"},
    Unfit{0xFE534D42, "SMB2"},   Unfit{0x65735546, "FUSE"},  Unfit{0x794C7630, "overlay"},
    Unfit{0x01021997, "9p"},     Unfit{0x00C36400, "Ceph"},  Unfit{0x5346414F, "AFS"},
    Unfit{0x73757245, "Coda"},   Unfit{0x01161970, "GFS2"},  Unfit{0x7461636F, "OCFS2"},
    Unfit{0x0BD00BD0, "Lustre"}, Unfit{0x47504653, "GPFS"},  Unfit{0x6B414653, "AFS"},
    Unfit{0x786F4256, "vboxsf"}, Unfit{0x7C7C6673, "prl_fs"}};
constexpr std::uint64_t kTmpfs = 0x01021994;
constexpr std::uint64_t kRamfs = 0x858458F6;

// 0, or why not. Who only looks is done in a moment (a doctor) or keeps its lock for as long as it
// reads (an export): a daemon that starts is worth waiting for, for a while.
int lock_file(int fd, OwnerLock::Mode mode) {
  constexpr int kTries = 500;
  constexpr int kPauseMs = 20;
  const bool looks = mode == OwnerLock::Mode::look;
  for (int tries = 1; ::flock(fd, (looks ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK || looks || tries == kTries) return errno;
    // An owner is there for as long as it lives, and says so at once.
    if (::flock(fd, LOCK_SH | LOCK_NB) != 0) return errno;
    ::flock(fd, LOCK_UN);
    ::poll(nullptr, 0, kPauseMs);
  }
  return 0;
}

}  // namespace

Result<OwnerLock> OwnerLock::take(const std::string& directory, Mode mode) {
  const std::string path = directory + "/" + kOwnerLockFile;
  int flags = O_CLOEXEC;
  flags |= mode == Mode::look ? O_RDONLY : O_RDWR;
  if (mode == Mode::create) flags |= O_CREAT;
  UniqueFd file(::open(path.c_str(), flags, 0600));
  if (!file) {
    const Errc code = errno == ENOENT ? Errc::invalid : Errc::denied;
    return fail(code, path + ": " + std::strerror(errno) +
                          (code == Errc::invalid ? "; `sendonce setup` makes a ledger" : ""));
  }
  SO_CHECK(enter_registry(file.get(), path));
  OwnerLock lock(std::move(file));
  if (const int why = lock_file(lock.file_.get(), mode); why != 0) {
    if (why != EWOULDBLOCK) return fail(Errc::unavailable, path + ": " + std::strerror(why));
    return fail(Errc::busy,
                path + ": the ledger belongs to " + holder(lock.file_.get()) +
                    ", which is running: " +
                    (mode == Mode::look ? "ask it through its socket, or stop it first"
                                        : "stop it first, or use a state_dir of its own"));
  }
  if (mode != Mode::look) leave_pid(lock.file_.get());
  return lock;
}

OwnerLock::OwnerLock(UniqueFd file) : file_(std::move(file)) {}

OwnerLock::OwnerLock(OwnerLock&& other) noexcept = default;

OwnerLock::~OwnerLock() {
  if (file_) leave_registry(file_.get());
}

Result<void> check_file_system_type(std::uint64_t type, LedgerDurability durability) {
  const auto unfit = std::ranges::find(kUnfit, type, &Unfit::type);
  if (unfit != kUnfit.end())
    return fail(Errc::invalid, "a ledger cannot live on " + std::string(unfit->name) +
                                   ": it needs a local file system such as ext4 or XFS");
  if ((type == kTmpfs || type == kRamfs) && durability != LedgerDurability::process)
    return fail(Errc::invalid,
                "a ledger in memory (tmpfs) forgets at reboot what was sent: use a disk, or set "
                "durability = \"process\"");
  return {};
}

Result<void> check_file_system(const std::string& directory, LedgerDurability durability) {
  struct statfs fs{};
  if (::statfs(directory.c_str(), &fs) != 0)
    return fail(Errc::denied, directory + ": " + std::strerror(errno));
  // f_type is signed on some machines and must not be extended.
  auto checked = check_file_system_type(static_cast<std::uint32_t>(fs.f_type), durability);
  if (!checked) return fail(checked.error().code, directory + ": " + checked.error().text);
  return {};
}

Result<std::string> read_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  if (!std::getline(file, id) || id.empty())
    return fail(Errc::unavailable, "cannot read /proc/sys/kernel/random/boot_id");
  return id;
}

}  // namespace sendonce
