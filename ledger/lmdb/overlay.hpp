// Keys that the open transaction has put at a new place: key -> sequence, asked before the index.
// Emptied with every batch, so it stays as large as a batch. Linear probing over positions.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

#include "plugin/core/ids.hpp"

namespace sendonce {

class Overlay {
 public:
  // 0 when the key has not been placed in this transaction.
  [[nodiscard]] std::uint64_t find(const Key& key) const {
    if (entries_.empty()) return 0;
    for (std::size_t at = home(key);; at = (at + 1) & (positions_.size() - 1)) {
      if (positions_[at] == 0) return 0;
      const Entry& entry = entries_[positions_[at] - 1];
      if (entry.key == key) return entry.sequence;
    }
  }

  void put(const Key& key, std::uint64_t sequence) {
    if ((entries_.size() + 1) * 2 > positions_.size()) grow();
    std::size_t at = home(key);
    while (positions_[at] != 0) {
      Entry& entry = entries_[positions_[at] - 1];
      if (entry.key == key) {
        entry.sequence = sequence;
        return;
      }
      at = (at + 1) & (positions_.size() - 1);
    }
    entries_.push_back({.key = key, .sequence = sequence});
    positions_[at] = static_cast<std::uint32_t>(entries_.size());
  }

  void clear() {
    if (entries_.empty()) return;
    entries_.clear();
    std::ranges::fill(positions_, 0U);
  }

 private:
  struct Entry {
    Key key{};
    std::uint64_t sequence = 0;
  };

  [[nodiscard]] std::size_t home(const Key& key) const {
    return std::hash<Key>{}(key) & (positions_.size() - 1);
  }
  void grow() {
    positions_.assign(std::bit_ceil(std::max<std::size_t>(64, positions_.size() * 2)), 0U);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      std::size_t at = home(entries_[i].key);
      while (positions_[at] != 0) at = (at + 1) & (positions_.size() - 1);
      positions_[at] = static_cast<std::uint32_t>(i + 1);
    }
  }

  std::vector<Entry> entries_{};
  std::vector<std::uint32_t> positions_{};  // index into entries_ plus one; 0 is empty
};

}  // namespace sendonce
