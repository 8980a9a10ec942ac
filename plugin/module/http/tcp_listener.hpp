// A listening TCP socket on one address.
#pragma once

#include <cstdint>
#include <string>

#include "plugin/core/error.hpp"
#include "plugin/core/unique_fd.hpp"

namespace sendonce {

// `host` is an IPv4 or IPv6 address, not a name. busy: somebody listens there. denied: a port that
// is not for us. invalid: no address, or none of this machine.
[[nodiscard]] Result<UniqueFd> listen_tcp(const std::string& host, std::uint16_t port);

}  // namespace sendonce
