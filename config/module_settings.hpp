// The settings of a module: texts by free names, from TOML and back.
#pragma once

#include <string>
#include <vector>

#include "config/value.hpp"

namespace sendonce {

[[nodiscard]] Refused read_settings(std::vector<SettingConfig>& out, const TomlNode& node);
[[nodiscard]] std::string toml_settings(const std::vector<SettingConfig>& from);

}  // namespace sendonce
