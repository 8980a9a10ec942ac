// What the programs here have in common: how they read their arguments, and how they end when
// something throws.
#pragma once

#include <cstdio>
#include <exception>
#include <optional>

#include <CLI/CLI.hpp>
#include <sysexits.h>

namespace sendonce::truth {

// The exit code, when there is nothing to run: --help, or a wrong argument.
[[nodiscard]] inline std::optional<int> parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? EX_OK : EX_USAGE;
  }
  return std::nullopt;
}

inline int guarded(int (*run)(int, char**), int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {  // out of memory, or JSON of a shape that cannot be
    std::fputs(e.what(), stderr);
    return EX_SOFTWARE;
  }
}

}  // namespace sendonce::truth
