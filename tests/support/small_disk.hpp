// A small ext4 file system of a test's own, in a file, that can be filled. Needs root.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace sendonce::test {

class SmallDisk {
 public:
  SmallDisk() = default;
  ~SmallDisk();  // unmounts; the directory that it was mounted below must still be there
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  // Says why there is none; empty: mounted at path().
  [[nodiscard]] std::string mount(const std::filesystem::path& below, std::uint64_t bytes);
  [[nodiscard]] const std::filesystem::path& path() const { return mount_; }
  [[nodiscard]] std::uint64_t free_bytes() const;
  // Takes all but so many bytes away; 0: every last block.
  void fill(std::uint64_t leave) const;
  void make_room() const;

 private:
  std::filesystem::path mount_{};
  bool mounted_ = false;
};

}  // namespace sendonce::test
