#include "plugin/core/nearest.hpp"

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace sendonce {
namespace {

constexpr std::array<std::string_view, 9> kNames{
    "claim", "retention", "expires", "key", "key_scope", "event_id", "recipient", "url", "email"};

TEST(Nearest, FindsASlip) {
  EXPECT_EQ(nearest("clam", kNames), "claim");
  EXPECT_EQ(nearest("cliam", kNames), "claim");
  EXPECT_EQ(nearest("expire", kNames), "expires");
  EXPECT_EQ(nearest("retenton", kNames), "retention");
  EXPECT_EQ(nearest("keyscope", kNames), "key_scope");
  EXPECT_EQ(nearest("kye", kNames), "key");
  EXPECT_EQ(nearest("eventid", kNames), "event_id");
  EXPECT_EQ(nearest("eventId", kNames), "event_id");
  EXPECT_EQ(nearest("recepient", kNames), "recipient");
  EXPECT_EQ(nearest("uri", kNames), "url");
}

TEST(Nearest, PrefersTheNearer) {
  constexpr std::array<std::string_view, 2> kTwo{"claims", "claim"};
  EXPECT_EQ(nearest("clam", kTwo), "claim");
}

TEST(Nearest, DoesNotGuessWildly) {
  EXPECT_EQ(nearest("window", kNames), "");
  EXPECT_EQ(nearest("subject", kNames), "");
  EXPECT_EQ(nearest("", kNames), "");
  EXPECT_EQ(nearest("xy", std::array<std::string_view, 1>{"ab"}), "");
  EXPECT_EQ(nearest(std::string(100'000, 'k'), kNames), "");
  EXPECT_EQ(nearest("claim", {}), "");
}

}  // namespace
}  // namespace sendonce
