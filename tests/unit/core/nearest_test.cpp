#include "plugin/core/nearest.hpp"

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace sendonce {
namespace {

constexpr std::array<std::string_view, 4> kKnown{"event_id", "recipient", "url", "email"};

TEST(NearestName, FindsSlips) {
  EXPECT_EQ(nearest_name("eventid", kKnown), "event_id");
  EXPECT_EQ(nearest_name("recepient", kKnown), "recipient");
  EXPECT_EQ(nearest_name("recipeint", kKnown), "recipient");
  EXPECT_EQ(nearest_name("eventId", kKnown), "event_id");
  EXPECT_EQ(nearest_name("uri", kKnown), "url");
}

TEST(NearestName, PrefersTheNearer) {
  constexpr std::array<std::string_view, 2> kTwo{"claims", "claim"};
  EXPECT_EQ(nearest_name("clam", kTwo), "claim");
}

TEST(NearestName, StaysSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest_name("subject", kKnown), "");
  EXPECT_EQ(nearest_name("ab", kKnown), "");
  EXPECT_EQ(nearest_name("", kKnown), "");
  EXPECT_EQ(nearest_name(std::string(100'000, 'x'), kKnown), "");
}

}  // namespace
}  // namespace sendonce
