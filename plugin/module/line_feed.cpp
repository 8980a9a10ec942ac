#include "plugin/module/line_feed.hpp"

#include <algorithm>
#include <utility>

namespace sendonce {

void LineFeed::add(std::string line) {
  const std::lock_guard lock(mutex_);
  if (!wanted()) return;
  if (clock_.mono() - read_at_ > limits_.interest) {
    wanted_.store(false, std::memory_order_relaxed);
    last_ += 1;  // whoever comes back has lost something
    ring_.clear();
    ring_bytes_ = 0;
    return;
  }
  ++last_;
  ring_bytes_ += line.size();
  ring_.push_back(std::move(line));
  while (ring_.size() > limits_.lines || (ring_bytes_ > limits_.bytes && ring_.size() > 1)) {
    ring_bytes_ -= ring_.front().size();
    ring_.pop_front();
  }
}

LineFeed::Page LineFeed::read(std::optional<std::uint64_t> after, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  read_at_ = clock_.mono();
  wanted_.store(true, std::memory_order_relaxed);
  // Of another life of the process.
  if (after && *after > last_) after.reset();
  Page page{.next = after.value_or(last_)};
  if (!after) return page;
  const std::uint64_t gone = last_ - ring_.size();  // number of the newest that is not here
  page.lost = gone > *after ? gone - *after : 0;
  page.next = std::max(gone, *after);
  std::size_t taken = 0;
  for (std::size_t i = page.next - gone; i < ring_.size(); ++i) {
    taken += ring_[i].size() + 1;
    if (taken > bytes && !page.lines.empty()) break;
    page.lines.push_back(ring_[i]);
    ++page.next;
  }
  return page;
}

}  // namespace sendonce
