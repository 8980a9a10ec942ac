// Configurations as text, and what the loader says about them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/loader.hpp"

namespace sendonce::test {

// A directory of its own, removed with all that is in it.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // Makes directories on the way; the file's mode is 0600. Gives its path.
  std::string write(const std::string& name, std::string_view text) const;

 private:
  std::string path_;
};

// A good configuration with one provider "apns" and one class "otp", whose lines are:
//  1 config_version   2 [instance]   3 name   4 [provider.apns]   5 kind   6 topic   7 auth
//  8 [class.otp]   9 subject   10 expires   11 retention   12 ambiguous   13 route
[[nodiscard]] std::string good();
// `text` with line `number` replaced.
[[nodiscard]] std::string with_line(std::string text, std::size_t number, std::string_view line);
// `text` with a line after its last one: in [class.otp] for good().
[[nodiscard]] std::string with_more(std::string text, std::string_view line);

// Findings as text, of a text called "t.toml".
[[nodiscard]] std::vector<std::string> findings_of(std::string_view text);
[[nodiscard]] std::vector<std::string> texts(const Findings& findings);
// The Config of a text without errors; fails the test otherwise.
[[nodiscard]] Config config_of(std::string_view text);

}  // namespace sendonce::test
