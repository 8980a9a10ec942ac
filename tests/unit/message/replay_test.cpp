#include "plugin/message/replay.hpp"

#include <string>

#include <gtest/gtest.h>

namespace sendonce {
namespace {

const std::string kKey(64, 'a');

TEST(Replay, WithoutAHeaderAMessageIsForEveryTarget) {
  const auto keys = replayed_keys({{"Sendonce-Key", kKey}, {"X-Sendonce-Replay", kKey}});
  ASSERT_TRUE(keys.has_value());
  EXPECT_TRUE(keys->empty());
}

TEST(Replay, EachHeaderNamesOne) {
  const auto keys = replayed_keys(
      {{"Sendonce-Replay", kKey}, {"a", "b"}, {"SENDONCE-replay", std::string(64, 'B')}});
  ASSERT_TRUE(keys.has_value()) << keys.error().text;
  ASSERT_EQ(keys->size(), 2U);
  EXPECT_EQ((*keys)[0].bytes[31], 0xaa);
  EXPECT_EQ((*keys)[1].bytes[0], 0xbb);
}

// Taken for "every target" it would be the opposite of what was asked for.
TEST(Replay, WhatIsNoKeyIsRefused) {
  for (const std::string& value :
       {std::string(), std::string("all"), std::string(63, 'a'), std::string(66, 'a'),
        std::string(64, 'g'), kKey + "," + kKey, " " + kKey}) {
    const auto keys = replayed_keys({{"Sendonce-Replay", kKey}, {"Sendonce-Replay", value}});
    ASSERT_FALSE(keys.has_value()) << value;
    EXPECT_EQ(keys.error().code, Errc::invalid);
    EXPECT_EQ(keys.error().text, "Sendonce-Replay: 64 hex digits are wanted");
  }
}

}  // namespace
}  // namespace sendonce
