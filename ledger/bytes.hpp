// Little-endian reading and writing of stored records.
#pragma once

#include <bit>
#include <concepts>
#include <cstring>
#include <string_view>

namespace sendonce {

template <std::unsigned_integral T>
[[nodiscard]] constexpr T little_endian(T value) {
  if constexpr (std::endian::native == std::endian::little || sizeof(T) == 1) return value;
  T swapped = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    swapped = static_cast<T>(swapped << 8U) | static_cast<T>((value >> (8U * i)) & 255U);
  return swapped;
}

// The caller has checked that the bytes are there.
template <std::unsigned_integral T>
[[nodiscard]] T load(std::string_view bytes, std::size_t at) {
  T value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return little_endian(value);
}

template <std::unsigned_integral T>
void store(char* to, T value) {
  value = little_endian(value);
  std::memcpy(to, &value, sizeof value);
}

}  // namespace sendonce
