// One epoll and one eventfd: everything the transports wait for. Single-threaded except wake().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "plugin/core/error.hpp"

struct epoll_event;

namespace sendonce {

// Something with a descriptor. `events` are EPOLLIN, EPOLLOUT, ... of epoll_ctl(2).
class EventSource {
 public:
  virtual void on_event(std::uint32_t events) = 0;

 protected:
  ~EventSource() = default;
};

class EventLoop {
 public:
  // Fails only when the process is out of descriptors.
  [[nodiscard]] static Result<std::unique_ptr<EventLoop>> create();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Level-triggered; the source must be removed before it or its descriptor goes.
  void watch(int fd, std::uint32_t events, EventSource& source);
  void change(int fd, std::uint32_t events, EventSource& source);
  void forget(int fd, EventSource& source);  // its pending events are dropped as well

  // Waits at most `timeout_ms` for the first event, then serves all that are there.
  void run(int timeout_ms);
  void wake();  // any thread: ends a wait, now or the next one

 private:
  static constexpr std::size_t kBatch = 64;
  EventLoop(int epoll_fd, int wake_fd);
  int wait(int timeout_ms);
  void drain_wake();

  int epoll_;
  int wake_;
  std::unique_ptr<epoll_event[]> batch_;
  std::size_t batch_size_ = 0;
  std::size_t batch_next_ = 0;
};

}  // namespace sendonce
