// A TCP server that says one thing to whatever comes, and closes.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "plugin/core/unique_fd.hpp"

namespace sendonce::truth {

class StubServer {
 public:
  explicit StubServer(std::string answer);
  ~StubServer();
  StubServer(const StubServer&) = delete;
  StubServer& operator=(const StubServer&) = delete;
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  void serve() const;

  std::string answer_;
  UniqueFd listener_{};
  std::uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};
  std::thread thread_{};
};

}  // namespace sendonce::truth
