#include "plugin/module/check.hpp"

#include <algorithm>
#include <iterator>

#include "config/credentials.hpp"
#include "plugin/module/compose.hpp"

namespace sendonce {

LoadResult check_installation(const std::string& path) {
  LoadResult loaded = load_config(path, Surroundings::look);
  if (!loaded.config) return loaded;
  Findings faults = composition_faults(*loaded.config, credentials_directory());
  if (faults.empty()) return loaded;
  loaded.config.reset();
  std::ranges::move(faults, std::back_inserter(loaded.findings));
  sort_by_place(loaded.findings);
  return loaded;
}

}  // namespace sendonce
