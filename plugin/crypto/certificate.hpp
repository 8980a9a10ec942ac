// When certificates end, for who warns before they do.
#pragma once

#include <string_view>

#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"

namespace sendonce {

struct CertificateEnds {
  WallTime first{};  // of the certificate that ends first
  WallTime last{};
};

// Of all certificates in a PEM text; invalid: it holds none.
[[nodiscard]] Result<CertificateEnds> certificate_ends(std::string_view pem);

}  // namespace sendonce
