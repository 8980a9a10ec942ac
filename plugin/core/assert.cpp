#include "plugin/core/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace sendonce {

void assertion_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "sendonce: invariant broken at %s:%d: %s\n", file, line, condition);
  std::abort();
}

}  // namespace sendonce
