// An input of a fuzzer read as a program: numbers and runs of bytes, zero when it is used up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sendonce::test {

class Program {
 public:
  Program(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

  [[nodiscard]] bool over() const noexcept { return rest_.empty(); }
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const std::uint8_t value = rest_.front();
    rest_ = rest_.subspan(1);
    return value;
  }
  // A length byte and as much of what it promises as there is.
  std::span<const std::uint8_t> run() { return take(byte()); }
  std::span<const std::uint8_t> take(std::size_t n) {
    const auto taken = rest_.first(std::min(n, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  std::string_view rest() {
    const auto all = take(rest_.size());
    return {reinterpret_cast<const char*>(all.data()), all.size()};
  }

 private:
  std::span<const std::uint8_t> rest_;
};

}  // namespace sendonce::test
