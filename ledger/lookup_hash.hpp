// Keyed hashes by which an operator finds rows again without the ledger holding the text.
#pragma once

#include <string>
#include <string_view>

#include "plugin/core/ids.hpp"
#include "plugin/core/secret.hpp"
#include "plugin/crypto/digest.hpp"

namespace sendonce {

// Random, made with the ledger, never printed.
using LedgerSecret = Secret<struct LedgerSecretTag>;

// The first 8 bytes, little endian, of HMAC-SHA-256 under the ledger's secret; 0 for no text, and
// never 0 for any other. Keeps its context, so that a hash costs two digests and no set-up. Not
// thread-safe.
class LookupHasher {
 public:
  explicit LookupHasher(const LedgerSecret& secret);
  [[nodiscard]] LookupHash of(std::string_view text);

 private:
  Sha256 sha_{};
  std::string inner_pad_;
  std::string outer_pad_;
};

// The same, once.
[[nodiscard]] LookupHash lookup_hash(const LedgerSecret& secret, std::string_view text);

}  // namespace sendonce
