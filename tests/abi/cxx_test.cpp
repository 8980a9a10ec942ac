// The C headers as C++ sees them: the same layout, usable macros, no warning.
#include <cstdio>
#include <type_traits>

#include "sendonce/abi/base.h"
#include "sendonce/abi/host.h"
#include "sendonce/abi/provider_auth.h"

static_assert(std::is_standard_layout_v<sendonce_host> && std::is_trivial_v<sendonce_host>);
static_assert(std::is_standard_layout_v<sendonce_module_api>);
static_assert(std::is_same_v<decltype(&sendonce_module_v1), sendonce_module_entry_fn>);
static_assert(std::is_trivial_v<sendonce_verdict> && std::is_trivial_v<sendonce_delivery>);
static_assert(std::is_standard_layout_v<sendonce_provider_api>);
static_assert(std::is_same_v<decltype(&sendonce_provider_v1), sendonce_provider_entry_fn>);

int main() {
  sendonce_host host{};
  host.struct_size = sizeof host;
  const bool whole = SENDONCE_HAS(&host, sendonce_host, state);
  std::puts(whole ? "the headers are C++, too" : "SENDONCE_HAS is wrong");
  return whole ? 0 : 1;
}
