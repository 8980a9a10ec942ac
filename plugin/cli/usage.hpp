// A wrong command line, said in one way by every program.
#pragma once

#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <sysexits.h>

#include "plugin/core/nearest.hpp"

namespace sendonce::cli {

// The command that was named first and is none; empty when there is no such thing.
inline std::string unknown_command(const CLI::App& of) {
  if (of.get_subcommands([](const CLI::App*) { return true; }).empty()) return {};
  for (const std::string& word : of.remaining())
    if (!word.starts_with('-')) return word;
  return {};
}

inline std::string usage_text(const CLI::App& at, const CLI::ParseError& error) {
  const std::string unknown = unknown_command(at);
  if (unknown.empty()) return error.what();
  std::vector<std::string_view> known;
  for (const CLI::App* sub : at.get_subcommands([](const CLI::App*) { return true; }))
    known.push_back(sub->get_name());
  const std::string_view close = nearest(unknown, known);
  std::string text = "there is no command " + unknown;
  if (!close.empty()) text += ", did you mean " + std::string(close) + "?";
  return text;
}

// Help and version go to stdout; anything else to stderr, with where to read on. The exit code.
inline int usage_failed(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {
    app.exit(error);
    return EX_OK;
  }
  const CLI::App* at = &app;
  std::string command = app.get_name();
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    command += " " + at->get_name();
  }
  std::cout.flush();
  std::fprintf(stderr, "%s: %s\nsee %s --help\n", app.get_name().c_str(),
               usage_text(*at, error).c_str(), command.c_str());
  return EX_USAGE;
}

}  // namespace sendonce::cli
