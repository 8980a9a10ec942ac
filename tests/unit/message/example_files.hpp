// A folder of examples: valid/ and invalid/, and in invalid.txt the path that the error of each
// invalid one begins with. schema_test.py reads the same files.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace sendonce::test {

class ExampleFiles {
 public:
  explicit ExampleFiles(std::string_view folder)
      : root_(std::filesystem::path(SENDONCE_SOURCE_DIR) / "tests/unit/message" / folder) {}

  // By the name of the file.
  [[nodiscard]] std::map<std::string, std::string> texts(const char* folder) const {
    std::map<std::string, std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(root_ / folder))
      out[entry.path().stem()] = content(entry.path());
    return out;
  }

  [[nodiscard]] std::map<std::string, std::string> expected_paths() const {
    std::map<std::string, std::string> out;
    std::istringstream index(content(root_ / "invalid.txt"));
    for (std::string line; std::getline(index, line);) {
      if (line.starts_with('#')) continue;
      std::istringstream words(line);
      std::string file;
      words >> file >> out[file];
    }
    return out;
  }

 private:
  static std::string content(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream out;
    out << file.rdbuf();
    EXPECT_TRUE(file) << path;
    return out.str();
  }

  std::filesystem::path root_;
};

}  // namespace sendonce::test
