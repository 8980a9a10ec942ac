#include "plugin/core/random.hpp"

#include <cstring>

#include <sys/random.h>

#include "plugin/core/assert.hpp"

namespace sendonce {

std::uint64_t Random::next() {
  state_ += 0x9E3779B97F4A7C15U;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

std::uint64_t Random::below(std::uint64_t n) {
  SO_ASSERT(n > 0);
  return next() % n;
}

Duration Random::jitter(Duration max) {
  if (max <= Duration::zero()) return Duration::zero();
  return Duration(static_cast<Duration::rep>(below(static_cast<std::uint64_t>(max.count()) + 1)));
}

double Random::unit() {
  return static_cast<double>(next() >> 11U) * 0x1.0p-53;
}

std::string system_random_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  SO_ASSERT(::getrandom(bytes.data(), size, 0) == static_cast<ssize_t>(size));
  return bytes;
}

std::uint64_t system_seed() {
  const std::string bytes = system_random_bytes(sizeof(std::uint64_t));
  std::uint64_t seed = 0;
  std::memcpy(&seed, bytes.data(), sizeof seed);
  return seed;
}

}  // namespace sendonce
