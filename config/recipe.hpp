// What is wrong with a class's key recipe, or questionable. Pure.
#pragma once

#include <string>
#include <vector>

#include "config/finding.hpp"
#include "plugin/message/key_recipe.hpp"

namespace sendonce {

struct RecipeFault {
  Severity severity = Severity::error;
  std::string text{};
  std::string remedy{};
};
// Empty: a good recipe.
[[nodiscard]] std::vector<RecipeFault> judge_recipe(const std::vector<std::string>& fields);

}  // namespace sendonce
