#include "ledger/key_index.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "plugin/core/assert.hpp"

namespace sendonce {
namespace {

constexpr std::uint64_t kRowsPerSegment = 4096;
constexpr std::uint64_t kSegmentsMin = 64;
constexpr std::uint64_t kSegmentsMax = std::uint64_t{1} << 20U;
constexpr std::uint32_t kCapacityMin = 16;

std::uint64_t segments_for(std::uint64_t rows_max) {
  return std::bit_ceil(std::clamp(rows_max / kRowsPerSegment, kSegmentsMin, kSegmentsMax));
}

// At most 4 in 5 slots are used, so that runs stay short; growing by a quarter keeps at least 16
// in 25 used.
bool is_full(std::uint32_t used, std::uint32_t capacity) {
  return (std::uint64_t{used} + 1) * 5 > std::uint64_t{capacity} * 4;
}

}  // namespace

KeyIndex::KeyIndex(std::uint64_t rows_max, std::uint64_t seed)
    : segments_(segments_for(rows_max)),
      segment_shift_(64U - static_cast<unsigned>(std::countr_zero(segments_.size()))),
      seed_(seed) {}

KeyIndex::Place KeyIndex::place_of(const Key& key) const {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::memcpy(&low, key.bytes.data(), sizeof low);
  std::memcpy(&high, key.bytes.data() + sizeof low, sizeof high);
  // Two multiplications mix the seed into all bits; the key is a digest already.
  std::uint64_t hash = (low ^ seed_) * 0x9E3779B97F4A7C15U;
  hash = (hash ^ (hash >> 32U) ^ high) * 0xD6E8FEB86659FD93U;
  return {.segment = static_cast<std::size_t>(hash >> segment_shift_),
          .tag = (hash >> 16U) & 0xFFFFU};
}

void KeyIndex::reserve(std::uint64_t rows) {
  // Keys fall into segments by chance: with two standard deviations more than the mean nearly all
  // have room, and the memory stays that of a table that has grown by itself.
  const double mean = static_cast<double>(rows) / static_cast<double>(segments_.size());
  const auto capacity = static_cast<std::uint32_t>((mean + 2 * std::sqrt(mean)) * 5 / 4);
  if (capacity <= kCapacityMin) return;
  for (Segment& segment : segments_) {
    if (segment.capacity < capacity) resize(segment, capacity);
  }
}

void KeyIndex::insert(const Key& key, std::uint64_t sequence) {
  SO_ASSERT(sequence > 0 && sequence <= kSequenceMask);
  const Place place = place_of(key);
  Segment& segment = segments_[place.segment];
  if (is_full(segment.used, segment.capacity))
    resize(segment, std::max(kCapacityMin, segment.capacity + segment.capacity / 4));
  put(segment, place.tag << kTagShift | sequence);
  ++segment.used;
  ++size_;
}

void KeyIndex::erase(const Key& key, std::uint64_t sequence) {
  const Place place = place_of(key);
  Segment& segment = segments_[place.segment];
  if (segment.used == 0) return;
  const std::uint32_t capacity = segment.capacity;
  const Slot wanted = place.tag << kTagShift | sequence;
  std::size_t hole = home(place.tag, capacity);
  while (segment.slots[hole] != wanted) {
    if (segment.slots[hole] == 0) return;
    hole = next(hole, capacity);
  }
  // Whatever follows and would be reached through the hole moves into it.
  for (std::size_t at = next(hole, capacity); segment.slots[at] != 0; at = next(at, capacity)) {
    const std::size_t wish = home(segment.slots[at] >> kTagShift, capacity);
    const bool reached = hole <= at ? (wish <= hole || wish > at) : (wish <= hole && wish > at);
    if (!reached) continue;
    segment.slots[hole] = segment.slots[at];
    hole = at;
  }
  segment.slots[hole] = 0;
  --segment.used;
  --size_;
  if (capacity > kCapacityMin && segment.used < capacity / 4)
    resize(segment, std::max(kCapacityMin, capacity / 2));
}

std::size_t KeyIndex::memory_bytes() const {
  std::size_t bytes = segments_.size() * sizeof(Segment);
  for (const Segment& segment : segments_) bytes += segment.capacity * sizeof(Slot);
  return bytes;
}

void KeyIndex::clear() {
  for (Segment& segment : segments_) segment = Segment{};
  size_ = 0;
}

void KeyIndex::put(Segment& segment, Slot slot) {
  std::size_t at = home(slot >> kTagShift, segment.capacity);
  while (segment.slots[at] != 0) at = next(at, segment.capacity);
  segment.slots[at] = slot;
}

void KeyIndex::resize(Segment& segment, std::uint32_t capacity) {
  Segment bigger{
      .slots = std::make_unique<Slot[]>(capacity), .capacity = capacity, .used = segment.used};
  for (std::uint32_t i = 0; i < segment.capacity; ++i) {
    if (segment.slots[i] != 0) put(bigger, segment.slots[i]);
  }
  segment = std::move(bigger);
}

}  // namespace sendonce
