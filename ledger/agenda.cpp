#include "ledger/agenda.hpp"

#include <algorithm>

namespace sendonce {
namespace {

constexpr std::size_t kLeftOversAllowed = 1024;

bool later(const Agenda::Entry& a, const Agenda::Entry& b) {
  return a.due > b.due;
}

}  // namespace

void Agenda::add(RowId row, WallTime due) {
  const auto [at, inserted] = current_.try_emplace(row, due);
  if (!inserted && at->second == due) return;
  at->second = due;
  heap_.push_back({.due = due, .row = row});
  std::ranges::push_heap(heap_, later);
  drop_left_overs();
}

void Agenda::remove(RowId row) {
  if (current_.erase(row) > 0) drop_left_overs();
}

void Agenda::move(RowId from, RowId to) {
  const auto found = current_.find(from);
  if (found == current_.end()) return;
  const WallTime due = found->second;
  current_.erase(found);
  add(to, due);
}

std::vector<Agenda::Entry> Agenda::take_due(WallTime now, std::size_t max) {
  std::vector<Entry> taken;
  while (taken.size() < max && !heap_.empty() && heap_.front().due <= now) {
    const Entry entry = heap_.front();
    pop_heap_top();
    if (!is_current(entry)) continue;
    current_.erase(entry.row);
    taken.push_back(entry);
  }
  return taken;
}

std::optional<WallTime> Agenda::next() {
  while (!heap_.empty() && !is_current(heap_.front())) pop_heap_top();
  if (heap_.empty()) return std::nullopt;
  return heap_.front().due;
}

void Agenda::clear() {
  heap_.clear();
  current_.clear();
}

void Agenda::drop_left_overs() {
  if (heap_.size() <= 2 * current_.size() + kLeftOversAllowed) return;
  heap_.clear();
  heap_.reserve(current_.size());
  for (const auto& [row, due] : current_) heap_.push_back({.due = due, .row = row});
  std::ranges::make_heap(heap_, later);
}

bool Agenda::is_current(const Entry& entry) const {
  const auto found = current_.find(entry.row);
  return found != current_.end() && found->second == entry.due;
}

void Agenda::pop_heap_top() {
  std::ranges::pop_heap(heap_, later);
  heap_.pop_back();
}

}  // namespace sendonce
