#include "plugin/core/crash_point.hpp"

#ifdef SENDONCE_CRASH_POINTS

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>

#include <unistd.h>

#include "plugin/core/assert.hpp"

namespace sendonce::crash_points {
namespace {

struct Plan {
  std::uint8_t point = kNone;
  std::uint32_t pass = 1;
};

// A plan that cannot be followed must not look like one that held.
Plan plan_of(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto* const it = std::ranges::find(kCrashPoints, text.substr(0, colon));
  Plan plan{.point = static_cast<std::uint8_t>(it - kCrashPoints.begin())};
  bool understood = it != kCrashPoints.end();
  if (colon != std::string_view::npos) {
    const std::string_view number = text.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), plan.pass);
    understood =
        understood && error == std::errc{} && end == number.data() + number.size() && plan.pass > 0;
  }
  if (!understood) assertion_failed("SENDONCE_CRASH_AT=NAME[:N] is understood", __FILE__, __LINE__);
  return plan;
}

const Plan& plan() {
  static const Plan made = [] {
    const char* text = std::getenv("SENDONCE_CRASH_AT");
    return text == nullptr || *text == '\0' ? Plan{} : plan_of(text);
  }();
  return made;
}

std::atomic<std::uint32_t> passes{0};

}  // namespace

std::atomic<std::uint8_t> armed{kUnread};

void pass(CrashPoint point) noexcept {
  const Plan& made = plan();
  armed.store(made.point, std::memory_order_relaxed);
  if (made.point != static_cast<std::uint8_t>(point)) return;
  if (passes.fetch_add(1, std::memory_order_relaxed) + 1 < made.pass) return;
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();  // not one instruction of ours more
}

}  // namespace sendonce::crash_points

#endif
