// What every command says in the same way: errors, exit codes, configuration, files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/loader.hpp"
#include "plugin/core/error.hpp"

namespace sendonce::cli {

// "sendonce: TEXT" on stderr; the exit code that fits.
int failed(const Error& error);
[[nodiscard]] int exit_code(Errc code);

// The configuration, with its findings on stderr; empty when it has errors.
[[nodiscard]] std::optional<Config> load(const std::string& path, Surroundings surroundings);

// A whole file, or stdin for "-"; at most `max` bytes.
[[nodiscard]] Result<std::string> read_all(const std::string& path, std::size_t max);

// Columns padded to their widest cell, two spaces apart; numbers to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> head) { rows_.push_back(std::move(head)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_{};
};

}  // namespace sendonce::cli
