#include "plugin/transport/event_loop.hpp"

#include <cerrno>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "plugin/core/assert.hpp"

namespace sendonce {

Result<std::unique_ptr<EventLoop>> EventLoop::create() {
  const int epoll_fd = ::epoll_create1(EPOLL_CLOEXEC);
  const int wake_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (epoll_fd < 0 || wake_fd < 0) {
    if (epoll_fd >= 0) ::close(epoll_fd);
    if (wake_fd >= 0) ::close(wake_fd);
    return fail(Errc::exhausted, "no descriptors left for the transport: raise LimitNOFILE");
  }
  return std::unique_ptr<EventLoop>(new EventLoop(epoll_fd, wake_fd));
}

EventLoop::EventLoop(int epoll_fd, int wake_fd)
    : epoll_(epoll_fd), wake_(wake_fd), batch_(std::make_unique<epoll_event[]>(kBatch)) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = nullptr;  // stands for wake_
  SO_ASSERT(::epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event) == 0);
}

EventLoop::~EventLoop() {
  ::close(wake_);
  ::close(epoll_);
}

void EventLoop::watch(int fd, std::uint32_t events, EventSource& source) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &source;
  SO_ASSERT(::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0);
}

void EventLoop::change(int fd, std::uint32_t events, EventSource& source) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &source;
  if (::epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event) == 0) return;
  // A library closed the descriptor and got the same number for the next one.
  SO_ASSERT(errno == ENOENT && ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0);
}

void EventLoop::forget(int fd, EventSource& source) {
  // May fail when the descriptor was closed by its library first: then the kernel has forgotten it.
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  for (std::size_t i = batch_next_; i < batch_size_; ++i) {
    if (batch_[i].data.ptr == &source) {
      batch_[i].events = 0;
      batch_[i].data.ptr = nullptr;
    }
  }
}

int EventLoop::wait(int timeout_ms) {
  const int n = ::epoll_wait(epoll_, batch_.get(), static_cast<int>(kBatch), timeout_ms);
  SO_ASSERT(n >= 0 || errno == EINTR);
  return n < 0 ? 0 : n;
}

void EventLoop::run(int timeout_ms) {
  // The kernel hands events out in turns, so a few full batches reach every descriptor; no more of
  // them, or a busy peer would keep the caller from its timers.
  for (int round = 0; round < 4; ++round) {
    batch_size_ = static_cast<std::size_t>(wait(round == 0 ? timeout_ms : 0));
    for (batch_next_ = 0; batch_next_ < batch_size_;) {
      const epoll_event event = batch_[batch_next_++];
      if (event.data.ptr != nullptr) {
        static_cast<EventSource*>(event.data.ptr)->on_event(event.events);
      } else if (event.events != 0) {
        drain_wake();
      }
    }
    const bool full = batch_size_ == kBatch;
    batch_size_ = 0;
    batch_next_ = 0;
    if (!full) return;
  }
}

void EventLoop::drain_wake() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t n = ::read(wake_, &count, sizeof count);
}

void EventLoop::wake() {
  const std::uint64_t one = 1;
  // EAGAIN means that the counter is full: a wake-up is pending anyway.
  [[maybe_unused]] const ssize_t n = ::write(wake_, &one, sizeof one);
}

}  // namespace sendonce
