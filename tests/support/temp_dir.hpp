// A directory of a test's own, removed with everything in it when the object goes.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp

#include "plugin/core/assert.hpp"

namespace sendonce::test {

// By default below TMPDIR, else /tmp.
class TempDir {
 public:
  TempDir() : TempDir(std::filesystem::temp_directory_path()) {}
  explicit TempDir(const std::filesystem::path& below) {
    std::string name = (below / "sendonce-XXXXXX").string();
    SO_ASSERT(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TempDir() { remove(); }
  TempDir(TempDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TempDir& operator=(TempDir&& other) noexcept {
    if (this != &other) {
      remove();
      path_ = std::exchange(other.path_, {});
    }
    return *this;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const {
    return path_ / name;
  }
  // Leaves the directory where it is.
  void release() noexcept { path_.clear(); }
  // Writes a file below the directory and returns its path.
  // NOLINTNEXTLINE(modernize-use-nodiscard): the file matters, the path often does not
  std::filesystem::path write(std::string_view name, std::string_view content) const {
    std::filesystem::path file = path_ / name;
    std::ofstream(file, std::ios::binary) << content;
    return file;
  }

 private:
  void remove() noexcept {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  std::filesystem::path path_{};
};

// Empty when the file cannot be read.
[[nodiscard]] inline std::string read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace sendonce::test
