#include "plugin/pipeline/device_pace.hpp"

#include <gtest/gtest.h>

#include "tests/unit/pipeline/engine_fixture.hpp"

namespace sendonce::test {
namespace {

constexpr MonoTime kStart{hours(1)};

DeviceHash device(std::uint32_t n) {
  DeviceHash hash;
  for (std::size_t i = 0; i < 4; ++i) hash.bytes[i] = static_cast<std::uint8_t>(n >> (8 * i));
  return hash;
}

TEST(DevicePace, EachDeviceHasItsRate) {
  DevicePace pace(0.1);
  EXPECT_EQ(pace.next(device(1), kStart), kStart);
  pace.take(device(1), kStart);
  EXPECT_GT(pace.next(device(1), kStart + seconds(9)), kStart + seconds(9));
  EXPECT_EQ(pace.next(device(1), kStart + seconds(11)), kStart + seconds(11));
  EXPECT_EQ(pace.next(device(2), kStart), kStart);
  pace.set_rate(0);
  EXPECT_EQ(pace.next(device(1), kStart), kStart);
}

TEST(DevicePace, ARestIsItsOwn) {
  DevicePace pace;
  pace.rest(device(1), kStart + minutes(1), kStart);
  pace.rest(device(1), kStart + seconds(1), kStart);
  EXPECT_EQ(pace.next(device(1), kStart), kStart + minutes(1)) << "never shorter";
  EXPECT_EQ(pace.next(device(2), kStart), kStart);
}

TEST(DevicePace, WithoutARateNothingIsKept) {
  DevicePace pace;
  pace.take(device(1), kStart);
  EXPECT_EQ(pace.size(), 0U);
}

TEST(DevicePace, IsBounded) {
  DevicePace pace(1);
  for (std::uint32_t i = 0; i < DevicePace::kDevicesMax + 100; ++i) pace.take(device(i), kStart);
  EXPECT_EQ(pace.size(), DevicePace::kDevicesMax);
  pace.take(device(1'000'000), kStart + seconds(5));
  EXPECT_EQ(pace.size(), 1U) << "those that have rested are forgotten first";
}

TEST_F(EngineTest, ADeviceThatIsThrottledRestsAndNobodyElse) {
  arrive(message(1, token("aa")));
  arrive(message(2, token("bb"), "e2"));
  ASSERT_EQ(transport.submitted, 2U);
  transport.answer_status(429);  // of aa alone
  step();
  transport.answer_status(200);
  step();
  arrive(message(3, token("aa"), "e3"));
  EXPECT_EQ(transport.submitted, 2U) << "nothing goes to it, whatever it is";
  arrive(message(4, token("bb"), "e4"));
  EXPECT_EQ(transport.submitted, 3U);
  transport.answer_status(200);
  wait(seconds(12));
  EXPECT_EQ(transport.submitted, 5U) << "both go when it has rested";
}

}  // namespace
}  // namespace sendonce::test
