// The files of classifiers/profiles as they were when this program was built.
#pragma once

#include <span>
#include <string_view>

namespace sendonce::cli {

struct ShippedProfile {
  std::string_view file{};  // its name
  std::string_view text{};
};

// In the order of their names. shipped_profiles.cpp.in becomes the source.
[[nodiscard]] std::span<const ShippedProfile> shipped_profiles();

}  // namespace sendonce::cli
