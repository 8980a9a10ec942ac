#include "plugin/crypto/lookup_hash.hpp"

#include <string>

#include <gtest/gtest.h>

namespace sendonce {
namespace {

std::string counting(std::size_t size) {
  std::string out;
  for (std::size_t i = 0; i < size; ++i) out.push_back(static_cast<char>(i));
  return out;
}

// The reference vectors of SipHash-2-4: the example of the paper's appendix A, and sizes around a
// word from its authors' vectors.h. Rows hold these hashes: a change loses them for every question.
TEST(LookupHash, IsSipHash24) {
  const std::string key = counting(16);
  EXPECT_EQ(lookup_hash(key, counting(15)), LookupHash(0xa129ca6149be45e5U));
  EXPECT_EQ(lookup_hash(key, counting(1)), LookupHash(0x74f839c593dc67fdU));
  EXPECT_EQ(lookup_hash(key, counting(8)), LookupHash(0x93f5f5799a932462U));
}

TEST(LookupHash, TakesTheFirst16BytesOfTheSecret) {
  EXPECT_EQ(lookup_hash(counting(32), "x"), lookup_hash(counting(16), "x"));
  EXPECT_NE(lookup_hash(std::string(16, 'k'), "x"), lookup_hash(counting(16), "x"));
}

TEST(LookupHash, NoTextIsAbsent) {
  EXPECT_EQ(lookup_hash(counting(16), ""), LookupHash());
}

}  // namespace
}  // namespace sendonce
