// Provider modules from their files. The only code that sees dlopen.
#pragma once

#include <string>

#include "classifiers/foreign/module_table.hpp"
#include "plugin/core/error.hpp"

namespace sendonce {

// What runs with our rights must not be written by others: the file is regular and, like every
// directory above it, owned by root or by this user; neither the file nor its directory may be
// written by everybody, and directories above only where nobody may replace what is another's.
// invalid or denied, with what to do. `path` is absolute; returned is the file behind all links.
[[nodiscard]] Result<std::string> check_provider_file(const std::string& path);

// Checks the file, loads it for the life of the process (RTLD_NOW, RTLD_LOCAL, RTLD_NODELETE) and
// looks at its table. The same path again gives the same table: a file that was replaced meanwhile
// is seen after a restart. invalid, denied: the text names the file and what to do. Blocks for
// reading; runs the constructors of the module. [one thread at a time]
[[nodiscard]] Result<ModuleTable> load_provider_file(const std::string& path);

}  // namespace sendonce
