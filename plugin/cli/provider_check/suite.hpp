// What any provider module must stand: `sendonce-provider-check`. It is asked through the same code
// as in the daemon, and whatever the daemon would have to correct is a finding.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "classifiers/foreign/module_provider.hpp"

namespace sendonce::cli {

struct CheckLine {
  std::string check{};
  std::uint64_t cases = 0;
  std::string finding{};  // the first; empty: it has passed
};

struct SuiteInput {
  ModuleTable table{};
  std::vector<ModuleSetting> settings{};
  std::function<void(std::string_view)> begins{};  // a check: for who looks after a crash
};

// Of every channel that the module serves with these settings.
[[nodiscard]] std::vector<CheckLine> check_module(const SuiteInput& input);

}  // namespace sendonce::cli
