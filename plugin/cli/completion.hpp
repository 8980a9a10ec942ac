// Completion for shells, made from the tree of commands and options that parses the command line,
// so that it cannot differ from it. The same as data is what the manual pages are made from.
#pragma once

#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace sendonce::cli {

// `shell`: bash, zsh, fish, or json. An option whose type is FILE completes to files, one with
// {choices} to these.
[[nodiscard]] std::string completion(const CLI::App& app, std::string_view shell);

}  // namespace sendonce::cli
