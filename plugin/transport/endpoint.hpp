// https://host[:port], taken apart and checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plugin/core/error.hpp"

namespace sendonce {

struct Endpoint {
  std::string host{};  // as in the URL: a name, an IPv4 address, or [IPv6]
  std::uint16_t port = 443;
  bool tls = true;
  std::string authority{};  // host, and the port when it is not the scheme's own
};

// Accepts no user, path, query or fragment. Plain http only to loopback and only when `insecure`.
[[nodiscard]] Result<Endpoint> parse_endpoint(std::string_view url, bool insecure);
// The same for a whole URL, whose path and query are not looked at.
[[nodiscard]] Result<Endpoint> parse_url(std::string_view url, bool insecure);

}  // namespace sendonce
