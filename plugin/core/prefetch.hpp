// Asking for memory before it is needed. Thousands of messages are held while each waits for disk
// and provider, so that whatever comes back finds its own out of the caches: handled one by one,
// each would wait for every line in turn. Asked for a few ahead, they come meanwhile.
#pragma once

#include <cstddef>
#include <string_view>

namespace sendonce {

inline constexpr std::size_t kCacheLine = 64;

template <class T>
void prefetch(const T& object) {
  const auto* at = reinterpret_cast<const char*>(&object);
  for (std::size_t i = 0; i < sizeof(T); i += kCacheLine) __builtin_prefetch(at + i);
}

// The beginning of a text: what follows, the processor foresees.
inline void prefetch_text(std::string_view text) {
  constexpr std::size_t kMost = 8 * kCacheLine;
  for (std::size_t i = 0; i < text.size() && i < kMost; i += kCacheLine)
    __builtin_prefetch(text.data() + i);
}

// Calls `visit` for each of the list, and before that each of `steps` in turn, a few elements
// apart: the first asks for what the element names, the next for what that names, and so on.
template <class List, class Visit, class... Steps>
void for_each_prefetched(List&& list, Visit visit, Steps... steps) {
  constexpr std::size_t kAhead = 4;
  const std::size_t size = list.size();
  for (std::size_t i = 0; i < size + sizeof...(Steps) * kAhead; ++i) {
    std::size_t at = i;  // below zero it is greater than any size
    const auto step = [&](auto& ask) {
      if (at < size) ask(list[at]);
      at -= kAhead;
    };
    (step(steps), ...);
    if (at < size) visit(list[at]);
  }
}

}  // namespace sendonce
