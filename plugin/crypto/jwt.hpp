// JSON Web Signature in its compact form (RFC 7515 3.1).
#pragma once

#include <string>
#include <string_view>

#include "plugin/crypto/sign.hpp"

namespace sendonce {

// `header` and `claims` are JSON texts, used byte for byte.
[[nodiscard]] Result<std::string> make_jws(const SigningKey& key, std::string_view header,
                                           std::string_view claims);

}  // namespace sendonce
