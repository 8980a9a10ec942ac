#include "tests/support/small_disk.hpp"

#include <chrono>
#include <fstream>
#include <vector>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tests/support/process.hpp"
#include "tests/support/temp_dir.hpp"

namespace sendonce::test {
namespace {

namespace fs = std::filesystem;

std::string run(const fs::path& below, const std::string& program, std::vector<std::string> args) {
  auto process = Process::start(
      {.program = find_program(program), .args = std::move(args), .output = below / "out"});
  if (!process) return program + " is not there";
  const auto exit = process->wait(std::chrono::seconds(60));
  if (exit && exit->code == 0) return {};
  return program + ": " + read_file(below / "out");
}

}  // namespace

std::string SmallDisk::mount(const fs::path& below, std::uint64_t bytes) {
  const fs::path image = below / "disk.img";
  mount_ = below / "disk";
  fs::create_directory(mount_);
  std::ofstream(image).close();
  fs::resize_file(image, bytes);
  std::string why = run(below, "mkfs.ext4", {"-q", "-F", "-m", "0", image.string()});
  if (!why.empty()) return why;
  why = run(below, "mount", {"-o", "loop", image.string(), mount_.string()});
  mounted_ = why.empty();
  return why;
}

SmallDisk::~SmallDisk() {
  if (mounted_) ::umount2(mount_.c_str(), MNT_DETACH);
}

std::uint64_t SmallDisk::free_bytes() const {
  struct statvfs s{};
  return ::statvfs(mount_.c_str(), &s) == 0 ? s.f_bavail * s.f_frsize : 0;
}

void SmallDisk::fill(std::uint64_t leave) const {
  const int fd =
      ::open((mount_ / "ballast").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const std::string block(4096, 'b');
  while (free_bytes() > leave && ::write(fd, block.data(), block.size()) > 0) {
  }
  ::fsync(fd);
  ::close(fd);
}

void SmallDisk::make_room() const {
  fs::remove(mount_ / "ballast");
}

}  // namespace sendonce::test
