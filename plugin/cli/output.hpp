// What every command says in the same way: errors, exit codes, configuration, files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/loader.hpp"
#include "plugin/core/error.hpp"

namespace sendonce::cli {

// "sendonce: TEXT" on stderr, after what stdout still holds; the exit code that fits.
int failed(const Error& error);
[[nodiscard]] int exit_code(Errc code);
// The same for what the configuration names: a credential, a certificate.
int failed_config(const Error& error);
[[nodiscard]] int exit_code_of_config(Errc code);

// "sendonce: TEXT" on stderr: worth knowing, no failure.
void note(const std::string& text);
// A wrong command line that only the command can see; the exit code.
int usage_failed(const std::string& command, const std::string& text);

// On stderr, a line each, errors alone or warnings too.
void print_findings(const Findings& findings, Severity least);
// The configuration; empty when it has errors, which are on stderr then. Warnings are for
// check-config and the daemon to say.
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
