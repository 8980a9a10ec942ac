// Threads as a guest in somebody else's process starts them.
#pragma once

#include <functional>
#include <thread>

namespace sendonce {

// All signals are blocked in the new thread: they belong to the host's own threads. `thread_name`
// is what ps and top show, at most 15 characters.
[[nodiscard]] std::thread start_thread(const char* thread_name,
                                       std::move_only_function<void()> body);

}  // namespace sendonce
