#include "ledger/key_index.hpp"

#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

#include "ledger/lmdb/overlay.hpp"
#include "plugin/core/random.hpp"

namespace sendonce::test {
namespace {

Key random_key(Random& random) {
  Key key;
  for (std::size_t i = 0; i < key.bytes.size(); i += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(key.bytes.data() + i, &word, sizeof word);
  }
  return key;
}

// Finds as the ledger does: a candidate counts when it is the right one.
std::uint64_t find(const KeyIndex& index, const Key& key, std::uint64_t right,
                   std::size_t* candidates = nullptr) {
  return index.find(key, [&](std::uint64_t sequence) {
    if (candidates != nullptr) ++*candidates;
    return sequence == right;
  });
}

TEST(KeyIndex, FindsAcrossManyGrowths) {
  KeyIndex index(1'000'000, 99);
  Random random(1);
  std::vector<Key> keys;
  for (std::uint64_t i = 1; i <= 300'000; ++i) {
    keys.push_back(random_key(random));
    index.insert(keys.back(), i);
  }
  EXPECT_EQ(index.size(), 300'000U);
  for (std::uint64_t i = 1; i <= keys.size(); ++i) ASSERT_EQ(find(index, keys[i - 1], i), i);
  EXPECT_LE(index.memory_bytes(), 300'000U * 14);
}

TEST(KeyIndex, RoomMadeAtOnceIsUsedAndNotWasted) {
  constexpr std::uint64_t kRows = 300'000;
  KeyIndex index(1'000'000, 99);
  index.reserve(kRows);
  const std::size_t made = index.memory_bytes();
  EXPECT_LE(made, kRows * 12);
  Random random(1);
  for (std::uint64_t i = 1; i <= kRows; ++i) index.insert(random_key(random), i);
  EXPECT_LE(index.memory_bytes(), made + made / 8);
  random = Random(1);
  for (std::uint64_t i = 1; i <= kRows; ++i) ASSERT_EQ(find(index, random_key(random), i), i);
}

TEST(KeyIndex, FalseCandidatesAreRare) {
  KeyIndex index(300'000, 5);
  Random random(2);
  for (std::uint64_t i = 1; i <= 300'000; ++i) index.insert(random_key(random), i);
  std::size_t candidates = 0;
  for (int i = 0; i < 100'000; ++i) EXPECT_EQ(find(index, random_key(random), 0, &candidates), 0U);
  EXPECT_LT(candidates, 15'000U);
}

TEST(KeyIndex, BehavesAsAMapUnderRandomUse) {
  // One small segment count, so that runs get long and wrap around.
  KeyIndex index(1, 7);
  std::unordered_map<std::uint64_t, Key> model;
  Random random(3);
  std::uint64_t next = 1;
  for (int step = 0; step < 200'000; ++step) {
    const bool grow = (step / 20'000) % 2 == 0;
    if (random.chance(grow ? 0.7 : 0.3) || model.empty()) {
      const Key key = random_key(random);
      index.insert(key, next);
      model.emplace(next++, key);
    } else {
      const auto victim = model.begin();
      index.erase(victim->second, victim->first);
      index.erase(victim->second, victim->first);  // a second time does nothing
      EXPECT_EQ(find(index, victim->second, victim->first), 0U);
      model.erase(victim);
    }
    ASSERT_EQ(index.size(), model.size());
  }
  for (const auto& [sequence, key] : model) ASSERT_EQ(find(index, key, sequence), sequence);
}

TEST(KeyIndex, SameTagsAreToldApart) {
  KeyIndex index(1, 7);
  Random random(4);
  const Key key = random_key(random);
  for (std::uint64_t i = 1; i <= 100; ++i) index.insert(key, i);
  for (std::uint64_t i = 1; i <= 100; ++i) EXPECT_EQ(find(index, key, i), i);
  for (std::uint64_t i = 1; i <= 100; i += 2) index.erase(key, i);
  for (std::uint64_t i = 1; i <= 100; ++i) EXPECT_EQ(find(index, key, i), i % 2 == 0 ? i : 0);
}

TEST(KeyIndex, ShrinksAndClears) {
  KeyIndex index(1000, 7);
  Random random(5);
  std::vector<Key> keys;
  for (std::uint64_t i = 1; i <= 50'000; ++i) {
    keys.push_back(random_key(random));
    index.insert(keys.back(), i);
  }
  const std::size_t full = index.memory_bytes();
  for (std::uint64_t i = 1; i <= keys.size(); ++i) index.erase(keys[i - 1], i);
  EXPECT_EQ(index.size(), 0U);
  EXPECT_LT(index.memory_bytes(), full / 10);
  index.insert(keys[0], 1);
  index.clear();
  EXPECT_EQ(find(index, keys[0], 1), 0U);
}

TEST(KeyIndex, LargestSequence) {
  KeyIndex index(1, 7);
  const std::uint64_t largest = (std::uint64_t{1} << 48U) - 1;
  index.insert(Key{}, largest);
  EXPECT_EQ(find(index, Key{}, largest), largest);
}

TEST(Overlay, FindsTheLatestPlace) {
  Overlay overlay;
  Random random(6);
  std::vector<Key> keys;
  EXPECT_EQ(overlay.find(Key{}), 0U);
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    keys.push_back(random_key(random));
    overlay.put(keys.back(), i);
  }
  overlay.put(keys[3], 5000);
  EXPECT_EQ(overlay.find(keys[3]), 5000U);
  EXPECT_EQ(overlay.find(keys[999]), 1000U);
  EXPECT_EQ(overlay.find(random_key(random)), 0U);
  overlay.clear();
  EXPECT_EQ(overlay.find(keys[3]), 0U);
}

}  // namespace
}  // namespace sendonce::test
