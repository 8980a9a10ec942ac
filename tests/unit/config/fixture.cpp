#include "tests/unit/config/fixture.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace sendonce::test {

ScratchDirectory::ScratchDirectory()
    : path_((std::filesystem::temp_directory_path() / "sendonce-config-XXXXXX").string()) {
  SO_ASSERT(::mkdtemp(path_.data()) != nullptr);
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string ScratchDirectory::write(const std::string& name, std::string_view text) const {
  const std::filesystem::path path = std::filesystem::path(path_) / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
  SO_ASSERT(::chmod(path.c_str(), 0600) == 0);
  return path.string();
}

std::string good() {
  return R"(config_version = 1
[instance]
name = "edge-1"
[provider.apns]
kind = "apns"
topic = "com.example.shop"
auth = { team = "ABCDE12345", key_id = "FGHIJ67890", key = "cred:apns.p8" }
[class.otp]
subject = "notify.otp.>"
expires = "3m"
retention = "2d"
ambiguous = { default = "resend" }
route = { push = ["apns"] }
)";
}

std::string with_line(std::string text, std::size_t number, std::string_view line) {
  std::size_t at = 0;
  for (std::size_t i = 1; i < number; ++i) at = text.find('\n', at) + 1;
  text.replace(at, text.find('\n', at) - at, line);
  return text;
}

std::string with_more(std::string text, std::string_view line) {
  return std::move(text) + std::string(line) + "\n";
}

std::vector<std::string> texts(const Findings& findings) {
  std::vector<std::string> out;
  for (const Finding& finding : findings) out.push_back(to_text(finding));
  return out;
}

std::vector<std::string> findings_of(std::string_view text) {
  return texts(load_config_text(text, "t.toml").findings);
}

Config config_of(std::string_view text) {
  LoadResult loaded = load_config_text(text, "t.toml");
  for (const std::string& finding : texts(loaded.findings)) ADD_FAILURE() << finding;
  return loaded.config.value_or(Config{});
}

}  // namespace sendonce::test
