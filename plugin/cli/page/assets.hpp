// The files of the page, as they lie in plugin/cli/page/assets, inside this program.
#pragma once

#include <span>
#include <string_view>

namespace sendonce::cli {

struct Asset {
  std::string_view path{};  // of the URL
  std::string_view type{};
  std::string_view bytes{};
};

[[nodiscard]] std::span<const Asset> page_assets();

}  // namespace sendonce::cli
