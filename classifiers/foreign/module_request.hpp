// The request that a module has made, as far as it may be sent.
#pragma once

#include <string_view>

#include "plugin/core/error.hpp"
#include "plugin/transport/transport.hpp"
#include "sendonce/abi/provider.h"

namespace sendonce {

// Copies it; `path` is what follows `base`, an address without a slash at its end. invalid: it goes
// somewhere else, breaks the protocol, or sets what belongs to the connection or is `ours`, a
// header in lower case or empty. The text names the part and never what it holds.
[[nodiscard]] Result<HttpRequest> read_request(const sendonce_request& from, std::string_view base,
                                               std::string_view ours);

}  // namespace sendonce
