// The keyed 8-byte hash by which an operator finds rows of an event, recipient or campaign again.
#pragma once

#include <string_view>

#include "plugin/core/ids.hpp"

namespace sendonce {

// SipHash-2-4 (Aumasson and Bernstein, 2012) under the first 16 bytes of `secret`, which must be
// that long. Empty text gives 0, "absent". 15 times cheaper than an HMAC, and enough: the hash
// hides identifiers from a reader of the file, and a collision costs one row more in a listing.
[[nodiscard]] LookupHash lookup_hash(std::string_view secret, std::string_view text);

}  // namespace sendonce
