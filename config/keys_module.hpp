// The keys of [provider.NAME] that only a provider of kind = "module" has.
#pragma once

#include <array>

#include "config/key_spec.hpp"
#include "config/module_settings.hpp"

namespace sendonce {

inline constexpr std::array kModuleKeys{
    KeySpec<ProviderConfig>{
        {.path = "module",
         .doc = "Absolute path of the module, a shared library (docs/providers.md, \"A provider in "
                "C\"). It runs with the rights of the daemon.",
         .choose = "name the .so file, for example /usr/lib/sendonce/gate.so",
         .applies = AppliesTo::module},
        KeyType::text,
        {},
        {},
        [](ProviderConfig& out, const TomlNode& node, const Bounds&) {
          out.module_at = node.at;
          return read_text(out.module, node);
        },
        [](const ProviderConfig& from) {
          return from.module.empty() ? std::string() : toml_text(from.module);
        }},
    KeySpec<ProviderConfig>{
        {.path = "settings",
         .doc = "What the module wants to know: texts by name. `cred:NAME` and `file:/path` stand "
                "for what such a file holds, as elsewhere.",
         .reload = OnReload::now,
         .applies = AppliesTo::module},
        KeyType::table,
        {},
        {},
        [](ProviderConfig& out, const TomlNode& node, const Bounds&) {
          return read_settings(out.settings, node);
        },
        [](const ProviderConfig& from) { return toml_settings(from.settings); }},
};

}  // namespace sendonce
