#include "plugin/core/ids.hpp"

#include <type_traits>
#include <unordered_set>

#include <gtest/gtest.h>

namespace sendonce {
namespace {

static_assert(!std::is_convertible_v<std::uint64_t, Fence>);
static_assert(!std::is_convertible_v<Fence, std::uint64_t>);
static_assert(!std::is_convertible_v<Fence, Ticket>);
static_assert(!std::is_convertible_v<Key, NidDigest>);

TEST(Strong, DefaultsToZeroAndOrders) {
  EXPECT_EQ(Fence().get(), 0U);
  EXPECT_LT(Fence(1), Fence(2));
  EXPECT_EQ(Fence(7), Fence(7));
}

TEST(Strong, IsAHashKey) {
  const std::unordered_set<Ticket> tickets{Ticket(1), Ticket(2), Ticket(1)};
  EXPECT_EQ(tickets.size(), 2U);
}

TEST(Bytes, ComparesAllBytes) {
  Key a;
  Key b;
  EXPECT_EQ(a, b);
  b.bytes[31] = 1;
  EXPECT_NE(a, b);
  EXPECT_LT(a, b);
}

TEST(Bytes, HashTakesTheLeadingBytes) {
  Key a;
  a.bytes[0] = 1;
  EXPECT_NE(std::hash<Key>{}(a), std::hash<Key>{}(Key()));
}

TEST(Bytes, ViewIsTheBytesThemselves) {
  Nid nid;
  nid.bytes[0] = 'x';
  EXPECT_EQ(nid.view().size(), 16U);
  EXPECT_EQ(nid.view()[0], 'x');
}

}  // namespace
}  // namespace sendonce
