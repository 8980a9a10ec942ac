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

// Calls `visit` for each of the list, before it `near`, and before that `far`: `far` asks for what
// the element names, `near` for what that names in turn.
template <class List, class Far, class Near, class Visit>
void for_each_prefetched(List&& list, Far far, Near near, Visit visit) {
  constexpr std::size_t kAhead = 4;
  const std::size_t size = list.size();
  for (std::size_t i = 0; i < size + 2 * kAhead; ++i) {
    if (i < size) far(list[i]);
    if (i >= kAhead && i - kAhead < size) near(list[i - kAhead]);
    if (i >= 2 * kAhead) visit(list[i - 2 * kAhead]);
  }
}

}  // namespace sendonce
