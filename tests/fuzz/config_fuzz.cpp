// Any bytes as a configuration: findings that name a place, or a Config whose effective text loads
// to the same values. Quantities, subjects, URLs and collapse templates see the bytes too.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "config/collapse.hpp"
#include "config/effective.hpp"
#include "config/loader.hpp"
#include "config/quantity.hpp"
#include "config/reload.hpp"
#include "config/url.hpp"
#include "plugin/core/assert.hpp"
#include "plugin/core/subject.hpp"
#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

void load(std::string_view text) {
  const LoadResult loaded = load_config_text(text, "fuzz");
  SO_ASSERT(loaded.config.has_value() != has_errors(loaded.findings));
  for (const Finding& finding : loaded.findings) {
    SO_ASSERT(finding.at.file == "fuzz");
    SO_ASSERT(!finding.text.empty());
    SO_ASSERT(!finding.remedy.empty());
  }
  if (!loaded.config) return;
  const LoadResult again = load_config_text(effective_toml(*loaded.config), "effective");
  SO_ASSERT(again.config.has_value());
  SO_ASSERT(again.config->hash == loaded.config->hash);
  SO_ASSERT(compare(*loaded.config, *again.config).empty());
}

void parse(std::string_view text) {
  if (const auto duration = parse_duration(text))
    SO_ASSERT(parse_duration(duration_text(*duration)).value() == *duration);
  if (const auto size = parse_size(text)) SO_ASSERT(parse_size(size_text(*size)).value() == *size);
  if (const auto rate = parse_rate(text)) SO_ASSERT(parse_rate(rate_text(*rate)).value() == *rate);
  if (valid_subject_filter(text)) SO_ASSERT(subjects_overlap(text, text));
  if (const auto url = split_url(text)) SO_ASSERT(!url->host.empty());
  if (const auto parts = parse_collapse(text)) SO_ASSERT(shortest_expansion(*parts) <= text.size());
}

}  // namespace
}  // namespace sendonce

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  sendonce::load(text);
  sendonce::parse(text);
  return 0;
}
