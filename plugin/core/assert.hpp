// Broken invariants stop the process, in release builds too: stopping beats sending twice.
#pragma once

namespace sendonce {

[[noreturn]] void assertion_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace sendonce

#define SO_ASSERT(condition)                           \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::sendonce::assertion_failed(#condition, __FILE__, __LINE__))
