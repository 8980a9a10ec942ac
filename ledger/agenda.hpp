// The rows to which something happens by itself, in order of when (law 9): waiting rows, claims
// left behind by an older incarnation, dead letters whose copy is owed. A binary heap with a table
// of what is current; left-over heap entries are skipped, and swept out once they are the majority.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ledger/store.hpp"
#include "plugin/core/clock.hpp"

namespace sendonce {

class Agenda {
 public:
  struct Entry {
    WallTime due{};
    RowId row{};
  };

  void add(RowId row, WallTime due);  // replaces what is noted for the row
  void remove(RowId row);
  void move(RowId from, RowId to);  // the row has a new place; nothing when it is not noted
  // Removes and returns rows due at `now`, earliest first.
  [[nodiscard]] std::vector<Entry> take_due(WallTime now, std::size_t max);
  [[nodiscard]] std::optional<WallTime> next();
  [[nodiscard]] std::size_t size() const { return current_.size(); }
  void clear();

 private:
  void drop_left_overs();
  bool is_current(const Entry& entry) const;
  void pop_heap_top();

  std::vector<Entry> heap_{};
  std::unordered_map<RowId, WallTime> current_{};
};

}  // namespace sendonce
