// Lines for people who follow what happens, from a bounded ring: a reader that is too slow loses
// lines and is told how many, and nobody ever waits for one. While nobody reads, nothing is kept.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "plugin/core/clock.hpp"

namespace sendonce {

struct LineFeedLimits {
  std::size_t lines = 4096;
  std::size_t bytes = std::size_t{1} << 20U;
  Duration interest = std::chrono::seconds(10);  // without a read, nobody reads any more
};

class LineFeed {
 public:
  explicit LineFeed(const Clock& clock, LineFeedLimits limits = {})
      : clock_(clock), limits_(limits) {}  // the clock outlives it

  // Whether lines are worth making. Any thread, at the cost of a relaxed load.
  [[nodiscard]] bool wanted() const noexcept { return wanted_.load(std::memory_order_relaxed); }
  // Any thread. Ignored while nobody reads.
  void add(std::string line);

  struct Page {
    std::vector<std::string> lines{};
    std::uint64_t next = 0;  // for the next read()
    std::uint64_t lost = 0;  // lines between `after` and the first one here
  };
  // What came behind `after`, the `next` of an earlier page; nothing: from now on. At most `bytes`,
  // but one line in any case. Any thread.
  [[nodiscard]] Page read(std::optional<std::uint64_t> after, std::size_t bytes);

 private:
  const Clock& clock_;
  const LineFeedLimits limits_;
  std::atomic<bool> wanted_{false};
  std::mutex mutex_{};  // guards what follows
  std::deque<std::string> ring_{};
  std::size_t ring_bytes_ = 0;
  std::uint64_t last_ = 0;  // number of the newest line
  MonoTime read_at_{};
};

}  // namespace sendonce
