// Where a key's row is: keys in memory, 8 bytes a slot. A slot holds a 16-bit tag and a 48-bit
// sequence, never the key: a hit is a candidate, to be verified against the stored row.
//
// The table is split by the key's hash into a fixed number of segments, each an open-addressed
// array that grows by a quarter on its own. The tag fixes a slot's home at any capacity, so that
// growing needs no keys and touches one segment, some ten thousand slots at most: no claim waits
// for a rehash of millions. Deleting shifts back and leaves no tombstones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "plugin/core/ids.hpp"

namespace sendonce {

class KeyIndex {
 public:
  // `rows_max`: how many rows are to be expected at most; decides the number of segments, and with
  // it the rate of false candidates (a few per cent at rows_max). `seed`: any number, kept secret,
  // so that nobody outside can make keys collide.
  KeyIndex(std::uint64_t rows_max, std::uint64_t seed);

  // Calls `is_it(sequence)` for each candidate until it says yes; 0 when none is.
  template <class IsIt>
  [[nodiscard]] std::uint64_t find(const Key& key, IsIt is_it) const;

  // Ask for the memory that find() and insert() will touch: a batch does so for all its keys before
  // the first look, the segments first, and the cache misses overlap.
  void prefetch_segment(const Key& key) const {
    __builtin_prefetch(&segments_[place_of(key).segment]);
  }
  void prefetch_slot(const Key& key) const {
    const Place place = place_of(key);
    const Segment& segment = segments_[place.segment];
    if (segment.capacity != 0)
      __builtin_prefetch(&segment.slots[home(place.tag, segment.capacity)]);
  }

  // Makes room for `rows` keys at once. Growing step by step would fill each segment again and
  // again, half of the time of a start.
  void reserve(std::uint64_t rows);

  // The key must not be there. 0 < sequence < 2^48.
  void insert(const Key& key, std::uint64_t sequence);
  // Nothing happens when the pair is not there.
  void erase(const Key& key, std::uint64_t sequence);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t memory_bytes() const;
  void clear();

 private:
  using Slot = std::uint64_t;  // tag << 48 | sequence; 0 is empty
  struct Segment {
    std::unique_ptr<Slot[]> slots{};
    std::uint32_t capacity = 0;
    std::uint32_t used = 0;
  };
  struct Place {
    std::size_t segment = 0;
    std::uint64_t tag = 0;
  };
  static constexpr unsigned kTagShift = 48;
  static constexpr std::uint64_t kSequenceMask = (std::uint64_t{1} << kTagShift) - 1;

  [[nodiscard]] Place place_of(const Key& key) const;
  [[nodiscard]] static std::size_t home(std::uint64_t tag, std::uint32_t capacity) {
    return static_cast<std::size_t>((tag * capacity) >> 16U);
  }
  [[nodiscard]] static std::size_t next(std::size_t at, std::uint32_t capacity) {
    return at + 1 == capacity ? 0 : at + 1;
  }
  static void put(Segment& segment, Slot slot);
  static void resize(Segment& segment, std::uint32_t capacity);

  std::vector<Segment> segments_;
  unsigned segment_shift_;
  std::uint64_t seed_;
  std::size_t size_ = 0;
};

template <class IsIt>
std::uint64_t KeyIndex::find(const Key& key, IsIt is_it) const {
  const Place place = place_of(key);
  const Segment& segment = segments_[place.segment];
  if (segment.used == 0) return 0;
  for (std::size_t at = home(place.tag, segment.capacity); segment.slots[at] != 0;
       at = next(at, segment.capacity)) {
    const Slot slot = segment.slots[at];
    if (slot >> kTagShift == place.tag && is_it(slot & kSequenceMask)) return slot & kSequenceMask;
  }
  return 0;
}

}  // namespace sendonce
