// What a provider says when it is asked what became of a delivery (docs/guarantees.md, "When in
// doubt").
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "plugin/core/clock.hpp"

namespace sendonce {

enum class Look : std::uint8_t {
  undecided,  // the answer says nothing about the delivery, or there was none
  absent,     // the provider does not know of it: proves something only twice, a lag apart
  found,
};
[[nodiscard]] constexpr std::string_view name(Look look) {
  switch (look) {
    case Look::undecided:
      return "undecided";
    case Look::absent:
      return "absent";
    case Look::found:
      return "found";
  }
  return "";
}

struct LookAnswer {
  Look look = Look::undecided;
  std::string message_id{};  // with `found`: the provider's receipt
  std::string reason{};      // short, safe to print
  Duration retry_after{0};   // 0: the provider named none
};

// For how long after its deadline a delivery in doubt is still asked about: two looks and their
// lags with as much again for answers that say nothing, and a restart. `lag`: how far the
// provider's search is behind its sends.
[[nodiscard]] constexpr Duration look_for(Duration lag) {
  return std::max<Duration>(4 * lag, std::chrono::minutes(5));
}

}  // namespace sendonce
