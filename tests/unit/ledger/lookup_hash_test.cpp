#include "ledger/lookup_hash.hpp"

#include <string>

#include <gtest/gtest.h>

#include "plugin/core/text.hpp"

namespace sendonce::test {
namespace {

TEST(LookupHash, IsTheHeadOfAnHmac) {
  // RFC 4231, test case 2: HMAC-SHA-256("Jefe", "what do ya want for nothing?") = 5bdcc146bf60754e…
  const LedgerSecret secret(std::string("Jefe"));
  EXPECT_EQ(lookup_hash(secret, "what do ya want for nothing?"), LookupHash(0x4E7560BF46C1DC5BU));
}

TEST(LookupHash, NothingIsZeroAndTheHasherCanBeReused) {
  const LedgerSecret secret(std::string(32, 's'));
  LookupHasher hasher(secret);
  EXPECT_EQ(hasher.of(""), LookupHash{});
  const LookupHash once = hasher.of("user_42");
  EXPECT_NE(once, LookupHash{});
  EXPECT_NE(hasher.of("user_43"), once);
  EXPECT_EQ(hasher.of("user_42"), once);
  EXPECT_NE(lookup_hash(LedgerSecret(std::string(32, 't')), "user_42"), once);
}

}  // namespace
}  // namespace sendonce::test
