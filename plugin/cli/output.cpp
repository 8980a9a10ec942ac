#include "plugin/cli/output.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include <sysexits.h>

namespace sendonce::cli {
namespace {

bool is_number(std::string_view cell) {
  return !cell.empty() && cell.find_first_not_of("0123456789.,%-") == std::string_view::npos;
}

}  // namespace

int exit_code(Errc code) {
  switch (code) {
    case Errc::invalid:
      return EX_DATAERR;
    case Errc::unavailable:
      return EX_UNAVAILABLE;
    case Errc::exhausted:
      return EX_IOERR;
    case Errc::corrupt:
      return EX_IOERR;
    case Errc::denied:
    case Errc::busy:
      return EX_NOPERM;
    case Errc::internal:
      return EX_SOFTWARE;
  }
  return EX_SOFTWARE;
}

void note(const std::string& text) {
  std::fflush(stdout);
  std::fprintf(stderr, "sendonce: %s\n", text.c_str());
}

int failed(const Error& error) {
  note(error.text);
  return exit_code(error.code);
}

int exit_code_of_config(Errc code) {
  return code == Errc::invalid ? EX_CONFIG : exit_code(code);
}

int failed_config(const Error& error) {
  static_cast<void>(failed(error));
  return exit_code_of_config(error.code);
}

int usage_failed(const std::string& command, const std::string& text) {
  note(text);
  std::fprintf(stderr, "see sendonce %s --help\n", command.c_str());
  return EX_USAGE;
}

void print_findings(const Findings& findings, Severity least) {
  std::fflush(stdout);
  for (const Finding& f : findings)
    if (f.severity <= least) std::fprintf(stderr, "%s\n", to_text(f).c_str());
}

std::optional<Config> load(const std::string& path, Surroundings surroundings) {
  LoadResult loaded = load_config(path, surroundings);
  print_findings(loaded.findings, Severity::error);
  return std::move(loaded.config);
}

Result<std::string> read_all(const std::string& path, std::size_t max) {
  std::ifstream file;
  if (path != "-") {
    file.open(path, std::ios::binary);
    if (!file) return fail(Errc::invalid, path + ": cannot be opened");
  }
  std::istream& in = path == "-" ? std::cin : file;
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (text.size() > max)
    return fail(Errc::invalid, path + ": more than " + std::to_string(max) + " bytes");
  return text;
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      line += is_number(row[i]) ? padding + row[i] : row[i] + padding;
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

}  // namespace sendonce::cli
