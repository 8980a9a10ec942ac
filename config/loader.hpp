// From files to a Config: reads, fills in defaults and checks. All that is wrong with single keys
// is reported at once, each finding with its file:line:column and a remedy; once every key can be
// read, so is all that is wrong between them.
//
//   LoadResult loaded = load_config("/etc/sendonce/sendonce.toml", Surroundings::look);
//   for (const Finding& f : loaded.findings) say(to_text(f));
//   if (!loaded.config) return 78;
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/finding.hpp"
#include "config/schema.hpp"

namespace sendonce {

struct LoadResult {
  std::optional<Config> config{};  // only when no finding is an error
  Findings findings{};             // in the order of the files; warnings included
  KeyPositions positions{};        // of what the files give, when they could be read
};

// Whether to look at credential files, the state directory and limits of this machine too
// (environment.hpp). The files named by the configuration are read, nothing is changed.
enum class Surroundings : std::uint8_t { ignore, look };

// Any thread; reads `path` and conf.d/*.toml beside it.
[[nodiscard]] LoadResult load_config(const std::string& path, Surroundings surroundings);
// The same for a text without conf.d, and without a look at the surroundings.
[[nodiscard]] LoadResult load_config_text(std::string_view text, const std::string& file);
// The providers of one file that is made for conf.d, checked by themselves alone. `config` holds
// nothing else.
[[nodiscard]] LoadResult load_providers(const std::string& path);
[[nodiscard]] LoadResult load_providers_text(std::string_view text, const std::string& file);

}  // namespace sendonce
