// Reads the script's TOML. The only file of tests/support that sees toml11.
#pragma once

#include <string>
#include <vector>

#include "tests/support/script.hpp"

namespace sendonce::test {

[[nodiscard]] Result<std::vector<Rule>> parse_rules(const std::string& text,
                                                    const std::string& file);

}  // namespace sendonce::test
