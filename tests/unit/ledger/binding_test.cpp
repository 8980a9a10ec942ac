#include "ledger/binding.hpp"

#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "ledger/bytes.hpp"
#include "ledger/crc32c.hpp"

namespace sendonce::test {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr WallTime kThen{seconds(1'800'000'000)};
constexpr LookupHash kAnn(1);
constexpr LookupHash kBob(2);

DeviceBinding typical() {
  return {.recipient = LookupHash(0x1122334455667788),
          .since = kThen,
          .used = kThen + seconds(5),
          .told = LookupHash(0x99AABBCCDDEEFF00)};
}

// What one version has written every later one must read.
TEST(BindingCodec, GoldenFile) {
  std::ifstream file(std::string(SENDONCE_SOURCE_DIR) + "/tests/unit/ledger/golden/binding.v1.bin",
                     std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto decoded = decode_binding(bytes);
  ASSERT_TRUE(decoded.has_value()) << decoded.error().text;
  EXPECT_EQ(*decoded, typical());
  EXPECT_EQ(encode_binding(typical()), bytes);
}

TEST(BindingCodec, RefusesDamageAndWhatIsNewer) {
  const std::string good = encode_binding(typical());
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(decode_binding(bytes).has_value()) << bit;
  }
  EXPECT_FALSE(decode_binding(good.substr(1)).has_value());
  EXPECT_FALSE(decode_binding("").has_value());
  std::string newer = good;
  newer[4] = 2;
  store(newer.data(), crc32c(std::string_view(newer).substr(4)));
  EXPECT_EQ(decode_binding(newer).error().code, Errc::invalid);
}

TEST(IsReuse, IsAnotherRecipientWithoutANewerRegistration) {
  const DeviceBinding ann{.recipient = kAnn, .since = kThen, .used = kThen, .told = {}};
  EXPECT_FALSE(is_reuse(ann, kAnn, std::nullopt));
  EXPECT_FALSE(is_reuse(ann, kAnn, kThen - hours(1)));
  EXPECT_TRUE(is_reuse(ann, kBob, std::nullopt));
  EXPECT_TRUE(is_reuse(ann, kBob, kThen));
  EXPECT_FALSE(is_reuse(ann, kBob, kThen + seconds(1)));
}

TEST(DecideBind, IsRarelyWritten) {
  const auto bind = [](LookupHash who, std::optional<WallTime> registered) {
    return Bind{.hash = {}, .recipient = who, .registered_at = registered};
  };
  const auto first = decide_bind(std::nullopt, bind(kAnn, kThen - hours(1)), kThen);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->since, kThen - hours(1));
  EXPECT_EQ(first->used, kThen);
  EXPECT_FALSE(decide_bind(first, bind(kAnn, kThen - hours(1)), kThen + hours(24)).has_value());
  EXPECT_FALSE(decide_bind(first, bind(kAnn, kThen - hours(2)), kThen + hours(24)).has_value());
  EXPECT_FALSE(decide_bind(first, bind(kBob, std::nullopt), kThen + hours(24)).has_value());
  const auto used = decide_bind(first, bind(kAnn, std::nullopt), kThen + kBindingKept / 4);
  ASSERT_TRUE(used.has_value());
  EXPECT_EQ(used->since, first->since);
  EXPECT_EQ(used->used, kThen + kBindingKept / 4);
  const auto moved = decide_bind(first, bind(kAnn, kThen), kThen);
  ASSERT_TRUE(moved.has_value());
  EXPECT_EQ(moved->since, kThen);
  const auto changed = decide_bind(first, bind(kBob, kThen), kThen + hours(1));
  ASSERT_TRUE(changed.has_value());
  EXPECT_EQ(changed->recipient, kBob);
  EXPECT_EQ(changed->told, LookupHash{});
}

}  // namespace
}  // namespace sendonce::test
