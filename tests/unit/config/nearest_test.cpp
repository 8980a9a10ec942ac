#include "config/nearest.hpp"

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace sendonce::test {
namespace {

constexpr std::array<std::string_view, 5> kNames{"claim", "retention", "expires", "key",
                                                 "key_scope"};

TEST(Nearest, FindsASlip) {
  EXPECT_EQ(nearest("clam", kNames), "claim");
  EXPECT_EQ(nearest("cliam", kNames), "claim");
  EXPECT_EQ(nearest("expire", kNames), "expires");
  EXPECT_EQ(nearest("retenton", kNames), "retention");
  EXPECT_EQ(nearest("keyscope", kNames), "key_scope");
  EXPECT_EQ(nearest("kye", kNames), "key");
}

TEST(Nearest, DoesNotGuessWildly) {
  EXPECT_EQ(nearest("window", kNames), "");
  EXPECT_EQ(nearest("", kNames), "");
  EXPECT_EQ(nearest("xy", std::array<std::string_view, 1>{"ab"}), "");
  EXPECT_EQ(nearest(std::string(100'000, 'k'), kNames), "");
  EXPECT_EQ(nearest("claim", {}), "");
}

}  // namespace
}  // namespace sendonce::test
