// docs/configuration.md, made from the descriptions of the keys.
#pragma once

#include <string>

namespace sendonce {

[[nodiscard]] std::string config_reference();  // Markdown

}  // namespace sendonce
