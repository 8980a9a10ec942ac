#include "plugin/core/thread.hpp"

#include <csignal>
#include <cstring>
#include <utility>

#include <pthread.h>

#include "plugin/core/assert.hpp"

namespace sendonce {

std::thread start_thread(const char* thread_name, std::move_only_function<void()> body) {
  SO_ASSERT(std::strlen(thread_name) < 16);
  // A thread inherits the mask, so that there is no moment in which it could take a signal.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(body));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_setname_np(thread.native_handle(), thread_name);
  return thread;
}

}  // namespace sendonce
